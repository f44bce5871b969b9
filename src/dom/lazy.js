// Parts of the panel that a visitor may never need, each an ES module of its own beside the
// script, loaded at the first need.

/** Given by the entry, which knows where the script lies: the module of a name. */
let importer;
const parts = new Map();

/** What a part works with, by the shadow root of the panel. */
export const kits = new WeakMap();

/** Says how a part is loaded. */
export function setImporter(load) {
  importer = load;
}

/** The part's default export; after a failure the next call tries again. */
export function lazy(name) {
  let part = parts.get(name);
  if (!part) {
    part = importer(name).then((module) => module.default);
    part.catch(() => parts.delete(name));
    parts.set(name, part);
  }
  return part;
}
