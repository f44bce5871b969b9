// Values that cross between the page and the module.

function freeze(value) {
  if (typeof value === 'object' && value) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}

/** Class of what calls throw; the loader gives it. */
let ErrorClass = Error;

export function setErrorClass(given) {
  ErrorClass = given;
}

/** The error of a JSON text. */
export function toError(text) {
  return new ErrorClass(JSON.parse(text));
}

/** What a JSON text says, frozen all the way down if it is for many eyes. */
export function toValue(text, frozen) {
  const value = JSON.parse(text);
  return frozen ? freeze(value) : value;
}

/** What kind of value this is, as a message names it; never the value itself. */
export function shape(value) {
  if (value === undefined || value === null) return `${value}`;
  if (typeof value === 'string') {
    const first = value.trim()[0];
    if (!first) return 'an empty string';
    if (first === '<') return 'a text that begins like HTML';
    return first === '{' || first === '[' ? 'a text that begins like JSON' : 'a text';
  }
  if (typeof value !== 'object' && typeof value !== 'function') return 'a number, boolean or symbol';
  const name = member(member(value, 'constructor'), 'name');
  if (typeof name === 'string' && name && name !== 'Object') return `a value of type ${name}`;
  try {
    const keys = Object.keys(value);
    return keys.length ? `an object with ${keys.slice(0, 8).join(', ')}` : 'an object without members';
  } catch {
    return 'an object that cannot be read';
  }
}

/** What a thrown value says, for people. */
export function thrown(value) {
  const text = member(value, 'message') ?? value;
  return typeof text === 'string' ? text : shape(value);
}

/** The member `key` of any value; undefined where there is none or reading it throws. */
export function member(value, key) {
  try {
    return value?.[key];
  } catch {
    return undefined;
  }
}
