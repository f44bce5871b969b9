// Regular expressions of tools' schemas.

/** What `RegExp` makes of the pattern; undefined if it refuses it. */
export function expression(source) {
  try {
    return new RegExp(source, 'u');
  } catch {
    return undefined;
  }
}
