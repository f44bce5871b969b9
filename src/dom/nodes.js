// How nodes are made: by `createElement` and text only, so that strict content policies and
// Trusted Types hold. What a person typed or a server sent is text and never markup.

const SVG = 'http://www.w3.org/2000/svg';
/** The mark in the header and in the empty transcript. */
export const SPARK =
  'M12 3l1.9 5.6a3 3 0 0 0 1.9 1.9L21 12l-5.2 1.5a3 3 0 0 0-1.9 1.9L12 21l-1.9-5.6a3 3 0 0 0-1.9-1.9L3 12l5.2-1.5a3 3 0 0 0 1.9-1.9z';

/** What was made once before is copied from then on: that takes a third of the time. Most of a panel is made once. */
const models = new Map();

function made(recipe, make) {
  const model = models.get(recipe) ?? (models.has(recipe) && make());
  models.set(recipe, model || undefined);
  return model ? model.cloneNode(true) : make();
}

/**
 * An element at the end of another: its tag and attributes, parted by `|`, then its text. The
 * recipe is of fixed text; what comes from elsewhere goes into `text` or into properties.
 */
export function add(parent, recipe, text) {
  const element = made(recipe, () => {
    const [tag, ...attributes] = recipe.split('|');
    const model = document.createElement(tag);
    for (const attribute of attributes) {
      const [name, value = ''] = attribute.split('=');
      model.setAttribute(name, value);
    }
    return model;
  });
  if (text) element.textContent = text;
  return parent.appendChild(element);
}

/** The name that screen readers say. */
export function label(element, text) {
  element.setAttribute('aria-label', text);
}

/** A picture of one path in a 24 by 24 box, which screen readers skip. */
export function icon(parent, path, kind = '') {
  parent.appendChild(
    made(path + kind, () => {
      const [svg, line] = ['svg', 'path'].map((tag) => document.createElementNS(SVG, tag));
      for (const [name, value] of [['viewBox', '0 0 24 24'], ['class', `icon ${kind}`], ['aria-hidden', true]]) svg.setAttribute(name, value);
      line.setAttribute('d', path);
      svg.append(line);
      return svg;
    }),
  );
}

/** The style sheets of chunks, once per document: a sheet cannot be used in another one. */
const sheets = new WeakMap();

/** Styles of a chunk, for all of a root. */
export function style(root, css) {
  const { ownerDocument: document, adoptedStyleSheets: adopted } = root;
  if (!document.defaultView) return;
  if (!sheets.has(document)) sheets.set(document, new Map());
  const known = sheets.get(document);
  if (!known.has(css)) {
    const sheet = new document.defaultView.CSSStyleSheet();
    sheet.replaceSync(css);
    known.set(css, sheet);
  }
  const sheet = known.get(css);
  if (!adopted.includes(sheet)) root.adoptedStyleSheets = [...adopted, sheet];
}
