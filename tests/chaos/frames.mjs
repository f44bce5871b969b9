// An event stream as text, read at its plain places: for tests that look at ids and bytes.
// What reads streams for a living is tested in tests/e2e/parsers.test.mjs.

/** The events of a whole stream: `{ id, event }`. */
export function frames(text) {
  return text.split('\n\n').filter((frame) => /^data:/m.test(frame)).map((frame) => {
    const field = (name) => frame.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    return { id: field('id'), event: JSON.parse(field('data')) };
  });
}
