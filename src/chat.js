// `createChat`: a conversation without an element, in a page, a worker or Node.

import { shape } from './convert.js';
import { Calls, METHODS } from './element/calls.js';
import { MindsetError } from './element/loader.js';

/** One conversation. */
class Chat {
  #calls;
  #client;
  #listeners;

  constructor(calls, client, listeners) {
    this.#calls = calls;
    this.#client = client;
    this.#listeners = listeners;
  }

  /** Has `listener` hear every event from now on; gives what ends that. */
  on(listener) {
    if (typeof listener !== 'function') {
      throw new MindsetError({ code: 'invalid-request', message: `on() takes a function; it got ${shape(listener)}.` });
    }
    // The same function twice hears twice.
    const entry = (event) => listener(event);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  send(text, options) {
    return this.#calls.sendMessage(text, options);
  }

  get agent() {
    return this.#calls.api;
  }

  get isBusy() {
    return this.#calls.isBusy();
  }

  get conversationId() {
    return this.#client.look((agent) => agent.conversationId);
  }

  get messages() {
    return this.#client.look((agent) => agent.messages) ?? Object.freeze([]);
  }

  close() {
    this.#client.close();
  }

  static {
    for (const name of METHODS) {
      Object.defineProperty(this.prototype, name, {
        configurable: true,
        writable: true,
        value(...args) {
          return this.#calls[name](...args);
        },
      });
    }
  }
}

/** What the loader knows of a chat. */
class Client {
  isConnected = true;
  isClosed = false;
  /** There is nothing to see that could be there earlier. */
  needsLater = true;
  calls;
  /** What it was made with. */
  given;
  #loader;
  #tell;
  /** The agent, also after the end: what it knows can still be read. */
  #agent;

  constructor(loader, given, tell) {
    this.#loader = loader;
    this.given = given;
    this.#tell = tell;
    this.calls = new Calls(loader, this);
    loader.clients.add(this);
    // In a later task: whoever made the chat listens by then.
    setTimeout(() => {
      if (!this.isConnected) return;
      if (loader.glue) this.attach();
      else loader.load().catch((error) => loader.dead && this.abandon(error));
    });
  }

  async attach() {
    const { calls } = this;
    const { later } = this.#loader;
    if (!later.isThere) await later.load();
    if (calls.agent || !this.isConnected || later !== this.#loader.later) return;
    const hear = (event) => {
      // A fresh instance goes on with it.
      if (event.type === 'conversation_id') this.given.conversationId = event.conversationId;
      this.#tell(event);
    };
    const agent = calls.make((glue) => glue.Agent.chat(this.given, hear, calls.tools));
    if (!agent) return;
    this.#agent = agent;
    calls.enter(() => agent.start(true));
    calls.begin();
  }

  refresh() {}

  report(info) {
    Object.freeze(info.context);
    this.#tell(Object.freeze({ type: 'error', ...info }));
  }

  abandon(info) {
    this.#agent = undefined;
    this.calls.abandon(info);
  }

  look(at) {
    return this.#agent && this.calls.enter(() => at(this.#agent));
  }

  close() {
    if (!this.isConnected) return;
    this.isConnected = false;
    this.isClosed = true;
    this.#loader.clients.delete(this);
    this.calls.end();
  }
}

/** What hears and speaks for one conversation, without more. */
export const connect = (loader, given, tell) => new Client(loader, given, tell);

/** Makes a chat; throws a `MindsetError` with `invalid-config`. */
export function createChat(loader, options) {
  const given = loader.read(options, 'createChat');
  const listeners = new Set();
  const tell = (event) => {
    for (const listener of [...listeners]) {
      if (!listeners.has(listener)) continue;
      try {
        listener(event);
      } catch (error) {
        console.error(error);
      }
    }
  };
  const client = new Client(loader, given, tell);
  const { calls } = client;
  try {
    const { situationalAwareness, passthroughParams, pageTools } = options;
    if (situationalAwareness) calls.setSituationalAwareness(situationalAwareness);
    if (passthroughParams) calls.setPassthroughParams(passthroughParams);
    if (pageTools) calls.setPageTools(pageTools);
  } catch (error) {
    client.close();
    throw error;
  }
  return new Chat(calls, client, listeners);
}
