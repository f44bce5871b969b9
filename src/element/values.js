// What a page hands over as a JavaScript value and what leaves it as JSON: read once, at
// the call, so that what the page changes afterwards changes nothing here.

import { shape, thrown } from '../convert.js';

/** The parser of the module takes as much. */
const DEEPEST = 128;
/** Half of a pair of UTF-16 units, which no UTF-8 can carry. */
const LONE = /\p{Surrogate}/u;

const unread = (error) => `cannot be read: ${thrown(error).replace(/\.?$/, '.')}`;

/** Says which value cannot be JSON, and why. */
class Unfit extends Error {}

/** Objects that would be `{}` as JSON, or never end. */
function isForeign(value, keys) {
  if (value.window === value || (typeof value.nodeType === 'number' && typeof value.nodeName === 'string')) return true;
  if (ArrayBuffer.isView(value)) return true;
  const parent = Object.getPrototypeOf(value);
  // A plain object of another frame has another `Object.prototype`.
  return !keys.length && parent !== null && Object.getPrototypeOf(parent) !== null;
}

/**
 * A value as JSON text, like `JSON.stringify` writes it, but what that would drop or turn
 * into `{}` in silence is refused, by its path below `name`. `exact` refuses what would
 * arrive as something else, too. Throws an `Error` with the sentence.
 */
export function toJson(root, name, exact) {
  const above = new Set();
  const copy = (given, key, path) => {
    const fail = (what) => {
      throw new Unfit(`${path ? `\`${path.slice(0, 200)}\`` : 'it'} ${what}`);
    };
    try {
      const hasForm = given !== null && given !== undefined && typeof given.toJSON === 'function';
      let value = hasForm ? given.toJSON(key) : given;
      if (JSON.isRawJSON?.(value)) return value;
      if (value instanceof String || value instanceof Number || value instanceof Boolean) value = value.valueOf();
      switch (typeof value) {
        case 'bigint':
          return fail('is a BigInt, which JSON cannot hold. Give a number or a text.');
        case 'function':
        case 'symbol':
          if (exact || value === root) fail(`is a ${typeof value}, which JSON cannot hold. Give plain data.`);
          return undefined;
        case 'number':
          if (exact && !Number.isFinite(value)) fail(`is ${value}, which JSON cannot hold.`);
          return value;
        case 'string':
          if (exact && LONE.test(value)) fail('has half of a surrogate pair: such a text cannot be sent unchanged.');
          return value;
        case 'object':
          break;
        default:
          return value;
      }
      if (value === null) return value;
      if (above.has(value)) fail('contains itself, which JSON cannot hold. Give plain data.');
      if (above.size === DEEPEST) fail(`is nested more than ${DEEPEST} deep.`);
      above.add(value);
      let made;
      if (Array.isArray(value)) {
        made = Array.from(value, (item, at) => copy(item, `${at}`, `${path}[${at}]`));
      } else {
        const keys = Object.keys(value);
        if (isForeign(value, keys)) fail(`is ${shape(value)}, which JSON cannot hold. Give a plain object, a list or a text.`);
        // Without a prototype, so that `__proto__` is a name like any other.
        made = Object.create(null);
        for (const name of keys) {
          const at = path ? `${path}.${name}` : name;
          if (exact && LONE.test(name)) fail('has a name with half of a surrogate pair.');
          let member;
          try {
            member = value[name];
          } catch (error) {
            throw new Unfit(`\`${at}\` ${unread(error)}`);
          }
          made[name] = copy(member, name, at);
        }
      }
      above.delete(value);
      return made;
    } catch (error) {
      if (error instanceof Unfit) throw error;
      return fail(unread(error));
    }
  };
  return JSON.stringify(copy(root, '', name));
}

/** The JSON text of an object and of nothing else. Throws the sentence of what is wrong. */
export function objectText(value, exact) {
  const text = typeof value === 'object' && value && toJson(value, '', exact);
  if (!text || text[0] !== '{') throw new Unfit(`it must be an object such as { page: 'orders' }; it is ${shape(value)}.`);
  return text;
}
