// Bounded waiting. Nothing in the tests sleeps for a fixed time and hopes.

/** How long a condition may take before the test fails, in milliseconds. */
export const PATIENCE = 30_000;

/**
 * Waits until `check` gives something truthy and returns it. `what` names the
 * condition in the failure; `check` may be async.
 */
export async function until(check, what, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${patience} ms for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The value of `promise`, or a failure that names what was waited for. */
export function within(promise, what, patience = PATIENCE) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${patience} ms for: ${what}`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A promise with its `resolve` outside. */
export function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
