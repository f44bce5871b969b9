// Effects that take the browser several steps.

import { thrown, toValue } from '../convert.js';
import { randomId } from '../page.js';

/** The later part of this instance of the module; whole where nobody says otherwise. */
let later = { isThere: true, load: async () => {} };
/** Where panels come from. */
let panel;
/** A request that was made before the module was there, and the ids it has. */
let ahead;
let ids;

/** What the first part hears alone: messages of the person, and of requests, which wait themselves. */
const OWN = new Set(['attach', 'send', 'head', 'bytes', 'end']);

export function setParts(parts) {
  ({ later, panel, ahead, ids } = parts);
}

/** The panel of an element; `tell` hears what it asks for. */
export function panelOf(host, tell) {
  return panel(host, tell);
}

/** A random UUID, or one that was made for the session of this element before it began. */
export function idFor(host) {
  return ids?.(host) ?? randomId();
}

/** The page has come to rest: `tell` hears `name` when its listeners ran and the module is whole. */
export function prepare(tell, name) {
  setTimeout(() => later.load().then(() => tell(name)));
}

/** What is told goes on when the module is whole, unless its first part can hear it. */
export function gate(tell) {
  return (name, value) => {
    const overtakes = name === 'send' && later.holders.size > 0;
    const isFirst = (OWN.has(name) && !overtakes) || (name === 'tick' && !later.isWanted);
    if (later.isThere || isFirst) return tell(name, value);
    // The draft is gone from its box: behind a message of the page it waits.
    later.load().then(() => tell(overtakes ? 'line-up' : name, value));
    return true;
  };
}

/** All events of the element bubble, cross shadow boundaries and cannot be cancelled. */
export function dispatch(host, name, detail) {
  host.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
}

/** One object says what happened, under the name of all that happens and under its own, if it has one. */
export function tellOfRun(host, name, text) {
  tellAll(host, name, toValue(text, true));
}

function tellAll(host, name, detail) {
  dispatch(host, 'mindset:runtime-event', detail);
  if (name) dispatch(host, name, detail);
}

/** Pieces of a message that came at once, parted by U+0000. */
export function tellOfText(host, name, type, messageId, pieces) {
  for (const content of pieces.split('\0')) tellAll(host, name, Object.freeze({ type, messageId, content }));
}

/** Listeners of the page that throw are its own business. */
export function call(listener, detail) {
  try {
    listener(detail);
  } catch (error) {
    console.error(error);
  }
}

/** Where there is no page nothing is kept, also where a server has such a storage. */
function storage() {
  return document.defaultView.sessionStorage;
}

/** A value of an earlier page load of this tab; nothing where the storage is closed. */
export function readStorage(key) {
  try {
    return storage().getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Without a value it is forgotten. */
export function writeStorage(key, value) {
  try {
    if (value === undefined) storage().removeItem(key);
    else storage().setItem(key, value);
  } catch {
    // Then the next page load is somebody new.
  }
}

/** Locks that all pages and workers of a site share; those of a server process say nothing of others. */
const locks = () => globalThis.location && navigator.locks;

/** Shows other pages that this one lives, for as long as it does. */
export function holdLock(name) {
  locks()?.request(name, () => new Promise(() => {})).catch(() => {});
}

/** Tells whether no page holds the lock; without locks nobody knows, without a name nobody does. */
export async function findOwner(name, tell) {
  let gone = name === undefined;
  try {
    if (gone) await null;
    else await locks().request(name, { ifAvailable: true }, (lock) => void (gone = lock !== null));
  } catch {
    // A page that is not served securely has no locks, nor has a server.
  }
  tell('owner', gone);
}

/** One timer. A process that only waits for it may end, unless it is needed. */
export function startTimer(tell, millis, isNeeded) {
  const timer = setTimeout(tell, millis, 'tick');
  if (!isNeeded) timer.unref?.();
  return +timer;
}

/** Listens to what happens around a session. `tell` hears of it until the end. */
export class Watch {
  #tell;
  #ended = new AbortController();
  #name;
  #channel;

  constructor(tell) {
    this.#tell = tell;
    const on = (target, name, ...said) => target?.addEventListener?.(name, () => tell(...said), { signal: this.#ended.signal });
    on(globalThis, 'online', 'online', true);
    on(globalThis, 'offline', 'online', false);
    on(globalThis, 'pageshow', 'wake');
    const { document } = globalThis;
    document?.addEventListener?.('visibilitychange', () => document.hidden || tell('wake'), { signal: this.#ended.signal });
  }

  /** Hears on this channel and on no other. */
  follow(name) {
    if (name === this.#name) return;
    this.#channel?.close();
    this.#name = name;
    this.#channel = open(name);
    if (!this.#channel) return;
    this.#channel.onmessage = () => this.#tell('changed');
    this.#channel.unref?.();
  }

  /** Everybody on the channel but this one hears it. */
  post(name) {
    const isOwn = name === this.#name;
    const channel = isOwn ? this.#channel : open(name);
    channel?.postMessage(0);
    if (!isOwn) channel?.close();
  }

  end() {
    this.#ended.abort();
    this.#channel?.close();
    this.#channel = this.#name = undefined;
  }
}

/** Nothing where pages cannot talk to each other. */
function open(name) {
  try {
    return new BroadcastChannel(name);
  } catch {
    return undefined;
  }
}

/** So much of a body is told at a time, in bytes. */
const PIECE = 16_384;
/** After so long there is room for other things of the page, in milliseconds. */
const SLICE = 8;

/** The page may do something else; also a hidden one, whose timers are late, goes on at once. */
const breath = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });

/** Requests of one session under way, by number. */
export class Fetches {
  #open = new Map();

  /**
   * `tell` hears `head`, `bytes` of the body, and `end` once, with a message if it failed;
   * nothing of a request that was dropped. What comes for one that `waits` needs the whole module.
   */
  async start(tell, id, method, url, headers, body, waits) {
    const controller = new AbortController();
    const { signal } = controller;
    this.#open.set(id, controller);
    let message;
    try {
      // Tokens go in a header; cookies of the runtime's origin are none of our business.
      const asked = ahead?.(url, body, signal) ?? fetch(url, { method, headers: JSON.parse(headers), body, credentials: 'omit', signal });
      if (waits) later.load();
      const response = await asked;
      if (waits || !response.ok) await later.load();
      if (signal.aborted) return;
      tell('head', { id, status: response.status, type: response.headers.get('content-type') ?? '' });
      const reader = response.body?.getReader();
      // A stream that hears of no abort, as of a page's own `fetch`, would keep the element for ever.
      signal.onabort = () => reader?.cancel().catch(() => {});
      let spent = 0;
      while (reader && !signal.aborted) {
        const { done, value } = await reader.read();
        if (done) break;
        // Much may have come at once.
        for (let at = 0; at < value.length && !signal.aborted; at += PIECE) {
          const began = performance.now();
          tell('bytes', { id, bytes: value.subarray(at, at + PIECE) });
          spent += performance.now() - began;
          if (spent > SLICE) {
            await breath();
            spent = 0;
          }
        }
      }
    } catch (error) {
      // A fault of the module is no failure of the request.
      if (error instanceof WebAssembly.RuntimeError) throw error;
      message = thrown(error);
      if (waits) await later.load();
    }
    if (signal.aborted) return;
    this.#open.delete(id);
    tell('end', { id, message });
  }

  /** Drops a request, or without an id every one. */
  abort(id) {
    for (const [each, controller] of this.#open) {
      if (id !== undefined && each !== id) continue;
      this.#open.delete(each);
      controller.abort();
    }
  }
}
