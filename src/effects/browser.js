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

export function writeStorage(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // Then the next page load is somebody new.
  }
}
