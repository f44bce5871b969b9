// What a document may hold, read with distrust: it comes from any server, so whatever does not
// fit the published vocabulary (`schema/widgets.json`) makes the whole of it unfit. The limits
// are the schema's; it counts characters, and no text has more units than twice that.

/** Units of a whole document as JSON. */
const MOST = 128 * 1024;

/** Gives the document up. */
export function unfit() {
  throw new TypeError('no such widget');
}

export function object(value) {
  return value && typeof value === 'object' && !Array.isArray(value) ? value : unfit();
}

/** A document that is not too large to look at. */
export function document(value) {
  return JSON.stringify(object(value)).length <= MOST ? value : unfit();
}

/** A text of any kind. */
export function text(value, most = 4000) {
  return typeof value === 'string' && value.length <= 2 * most ? value : unfit();
}

/** A text that is not blank. */
export function line(value, most = 300) {
  return text(value, most).trim() ? value : unfit();
}

export function word(value) {
  return line(value, 100);
}

export function flag(value) {
  return value === undefined || typeof value === 'boolean' ? value : unfit();
}

export function number(value, least = -1e15, most = 1e15) {
  return typeof value === 'number' && value >= least && value <= most ? value : unfit();
}

/** One of some words. */
export function one(value, words) {
  return words.includes(value) ? value : unfit();
}

/** What may be left out. */
export function maybe(value, read, ...more) {
  return value === undefined ? undefined : read(value, ...more);
}

/** A list of `least` to `most` items, each read. */
export function list(value, least, most, read) {
  return Array.isArray(value) && value.length >= least && value.length <= most ? value.map((item) => read(item)) : unfit();
}

/** What a cell or a field holds. */
export function value(given) {
  if (typeof given === 'string') return text(given, 1000);
  if (typeof given === 'number') return Number.isFinite(given) ? given : unfit();
  return given === null || typeof given === 'boolean' ? given : unfit();
}

/** How a value is written. */
export function form({ type, currency }) {
  return {
    type: maybe(type, one, ['text', 'number', 'percent', 'currency', 'date', 'datetime']),
    currency: maybe(currency, (code) => (/^[A-Z]{3}$/.test(code) ? code : unfit())),
  };
}

export function action(value) {
  const { action: name, label, payload, style } = object(value);
  return { action: word(name), label: word(label), payload, style: maybe(style, one, ['plain', 'primary', 'danger']) };
}

export function image(value) {
  const { url, alt } = object(value);
  return { url: text(url, 2000), alt: text(alt, 300) };
}

export function href(value) {
  return text(value, 2000);
}

/** No two of `list` have the same `key`. */
export function distinct(list, key) {
  return new Set(list.map((item) => item[key])).size === list.length ? list : unfit();
}
