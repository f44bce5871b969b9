// Effects that take the browser several steps.

import { thrown } from '../convert.js';

/** All events of the element bubble, cross shadow boundaries and cannot be cancelled. */
export function dispatch(host, name, detail) {
  host.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
}

/** Listeners of the page that throw are its own business. */
export function call(listener, detail) {
  try {
    listener(detail);
  } catch (error) {
    console.error(error);
  }
}

/** A value of an earlier page load of this tab; nothing where the storage is closed. */
export function readStorage(key) {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function writeStorage(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // Then the next page load is somebody new.
  }
}

/**
 * Runs a request. `tell` hears `head` once, `bytes` for each piece of the body, and `end` once
 * with what went wrong, if anything; false as its answer means that nobody waits any more.
 */
export async function run(request, id, tell) {
  let failure;
  try {
    const { status, headers, body } = await fetch(request);
    if (!tell('head', id, { status, type: headers.get('content-type') ?? '' })) return;
    const reader = body?.getReader();
    while (reader) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!tell('bytes', id, value)) return;
    }
  } catch (error) {
    // A lost instance is the loader's business.
    if (error instanceof WebAssembly.RuntimeError) throw error;
    failure = thrown(error);
  }
  tell('end', id, failure);
}
