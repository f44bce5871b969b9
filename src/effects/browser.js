// Effects that take the browser several steps.

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

/** Without a value it is forgotten. */
export function writeStorage(key, value) {
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // Then the next page load is somebody new.
  }
}

/** Shows other pages that this one lives, for as long as it does. */
export function holdLock(name) {
  navigator.locks?.request(name, () => new Promise(() => {})).catch(() => {});
}

/** Tells whether no page holds the lock; without locks nobody knows, without a name nobody does. */
export async function findOwner(name, tell) {
  let gone = name === undefined;
  try {
    if (gone) await null;
    else await navigator.locks.request(name, { ifAvailable: true }, (lock) => void (gone = lock !== null));
  } catch {
    // A page that is not served securely has no locks.
  }
  tell('owner', gone);
}
