// Expectations that several files share.

import assert from 'node:assert/strict';

/**
 * Text a person can act on: a capital first (or the name of an option, or an
 * address), several words, a full stop.
 */
export function sentence(text) {
  assert.match(text, /^(["'`<\p{Lu}]|https?:|[a-z]+[A-Z]\w+ ).*\s.*[.!?]$/su, `not a sentence: ${text}`);
}

/** The next message is answered: the element is as good as new. */
export async function works(runtime, host) {
  runtime.onRun = (run) => run.start().say('All good.').finish();
  const result = await host.send('and now?');
  assert.equal(result.text, 'All good.', JSON.stringify(result));
  assert.equal(await host.busy(), false);
  assert.deepEqual(await host.errors(), []);
}
