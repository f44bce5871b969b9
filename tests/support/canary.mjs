// Words that exist nowhere else, and whether they are somewhere.

import { randomBytes } from 'node:crypto';

/**
 * A word for one channel. It has letters and digits only, so it stands as it is in JSON text,
 * percent-encoding and headers; `found` looks for it in base64 as well.
 */
export function canary(name) {
  return `canary${name}${randomBytes(6).toString('hex')}`;
}

/** Every form in which `word` may stand in bytes. */
function forms(word) {
  const forms = [word, word.toUpperCase(), word.toLowerCase(), Buffer.from(word).toString('hex')];
  // A word inside longer text has one of three alignments; at its edges it shares characters
  // with its neighbours.
  for (const shift of [0, 1, 2]) {
    const encoded = Buffer.from('\0'.repeat(shift) + word).toString('base64').replace(/=+$/, '');
    const inner = encoded.slice(shift ? 4 : 0, -2);
    forms.push(inner, inner.replaceAll('+', '-').replaceAll('/', '_'));
  }
  // Escaped letter by letter, as a suspicious encoder would.
  forms.push([...word].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''));
  forms.push([...word].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join(''));
  return forms;
}

/** Whether `word` stands in `bytes`, in any form. */
export function found(bytes, word) {
  const haystack = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
  return forms(word).some((form) => haystack.includes(form));
}
