// What is asked of one session, by an element or a UI-less client: kept in order until there
// is an instance to ask, and told again to a fresh one.

import { kits } from '../dom/lazy.js';
import { agentOf } from './agent.js';
import { MindsetError, plain } from './loader.js';
import { Tools, readTools, toolError } from './tools.js';
import { objectText, toJson } from './values.js';

/** Values that are JSON objects, and whether every part must arrive unchanged. */
export const JSON_VALUES = { situationalAwareness: false, passthroughParams: true };
const HALF = /\\ud[89a-f]|\p{Surrogate}/iu;
/** Values of one name that are kept before the module is there; a page may set them at every scroll. */
const KEPT = 16;
const TEXT_LIMIT = 100_000;

/** How promises end: with a value, with an error, or with neither when the session is over. */
const ENDS = {
  send: (resolve, _reject, value, error) => resolve(error ? refused('error', error) : (value ?? refused('aborted'))),
  stop: (resolve) => resolve(),
  ask(resolve, reject, value, error) {
    const gone = value === undefined && { code: 'not-ready', message: 'The chat was closed before this was done. Do it again in an open one.' };
    const failed = error ?? gone;
    if (failed) reject(failed instanceof Error ? failed : new MindsetError(failed));
    else resolve(value ?? undefined);
  },
};
ENDS.decide = ENDS.ask;
ENDS.retry = ENDS.editAndResend = ENDS.widgetAction = ENDS.send;

/** The methods that elements and clients have alike. */
export const METHODS = [
  'setSituationalAwareness', 'setPassthroughParams', 'setPageTools', 'sendWhenIdle', 'widgetAction', 'retry', 'editAndResend', 'stop', 'exportTranscript', 'appendMessage',
  'newConversation', 'switchConversation', 'conversations', 'renameConversation', 'deleteConversation', 'loadEarlier',
];

export class Calls {
  agent;
  tools = new Tools();
  /** Calls made before the conversation could take them, in order; undefined afterwards. */
  queue = [];
  #glue;
  /** Promises that a call into the instance must settle; a trap settles them. */
  #open = new Set();
  /** What was set last, by name: a fresh instance gets it too. */
  #values = new Map();
  #loader;
  #client;
  #api;
  /** The session has begun, and what is kept waits for the later part of the module. */
  #isHeld = false;

  /** `client` is who asks: `report(info)` tells of an error, `isConnected` whether it is still wanted. */
  constructor(loader, client) {
    this.#loader = loader;
    this.#client = client;
  }

  sendMessage(text, options) {
    if (!options?.whenBusy && this.queue?.some(({ method, args }) => method === 'send' && !args[2])) {
      throw new MindsetError({
        code: 'busy',
        message: 'a message is already waiting for the agent to be ready. Use sendWhenIdle, or whenBusy, to line up more.',
        retryable: true,
      });
    }
    return this.#send('send', text, options, false);
  }

  sendWhenIdle(text, options) {
    return this.#send('send', text, options, true);
  }

  retry() {
    return this.#send('retry');
  }

  editAndResend(id, text) {
    if (typeof id === 'string' && typeof text === 'string') return this.#send('editAndResend', id, text);
    throw new MindsetError({ code: 'invalid-request', message: 'the id of a message and its new text are texts.' });
  }

  /** The text of the whole conversation, as `markdown` or `json`. */
  async exportTranscript(format = 'markdown') {
    if (format !== 'markdown' && format !== 'json') {
      throw new MindsetError({ code: 'invalid-request', message: "a transcript is exported as 'markdown' or 'json'." });
    }
    const read = () => this.enter((agent) => agent?.transcript()) ?? { conversationId: '', isWhole: true, messages: [] };
    await this.#loader.later?.load();
    let transcript = read();
    // What cannot be read is left out, and the export says so.
    while (!transcript.isWhole && (await this.loadEarlier().catch(() => false))) transcript = read();
    const write = await this.#loader.chunk('transcript');
    return write(read(), format, this.#loader.words(this.#client));
  }

  /** The agent API, for this conversation. */
  get api() {
    return (this.#api ??= agentOf({ loader: this.#loader, client: this.#client, calls: this }));
  }

  /** A word about an approval, or answers to a questionnaire as JSON text, empty to dismiss it. */
  decide(word, id) {
    return this.#send('decide', word, id);
  }

  /** The `Authorization` of the session, from its first idle on. */
  bearer() {
    return this.#send('ask', 'bearer');
  }

  /** The conversation, once it is known. */
  get conversationId() {
    return this.#loader.later?.isThere ? this.enter((agent) => agent?.conversationId) : undefined;
  }

  /** Shows the person a text for their message; true if they took it into the composer. */
  async appendMessage(text) {
    const append = await this.#loader.chunk('append');
    return append(text, this.#client, () => kits.get(this.#client.shadowRoot));
  }

  widgetAction(id, action, payload) {
    const text = payload === undefined ? '' : readObject('payload', () => toJson(payload, ''), 'invalid-request');
    if (typeof id === 'string' && typeof action === 'string') return this.#send('widgetAction', id, action, text);
    throw new MindsetError({ code: 'invalid-request', message: 'the id of a widget and its action are texts.' });
  }

  setSituationalAwareness(object) {
    this.setObject('situationalAwareness', object);
  }

  setPassthroughParams(object) {
    this.setObject('passthroughParams', object);
  }

  setObject(name, object, isAttribute) {
    this.set({ name, text: readObject(name, () => objectText(object, JSON_VALUES[name])), isAttribute });
  }

  setPageTools(list) {
    const { text, handlers } = readTools(list);
    try {
      this.set({ name: 'pageTools', text, handlers });
    } catch (error) {
      throw toolError(error);
    }
  }

  newConversation() {
    return this.#send('ask', 'new');
  }

  switchConversation(id) {
    return this.#send('ask', 'switch', id);
  }

  conversations() {
    return this.#send('ask', 'conversations');
  }

  renameConversation(id, title) {
    return this.#send('ask', 'rename', id, title);
  }

  deleteConversation(id) {
    return this.#send('ask', 'delete', id);
  }

  loadEarlier() {
    return this.#send('ask', 'load');
  }

  isBusy() {
    const waits = this.queue?.some(({ method }) => method && method !== 'ask');
    return waits || (this.enter((agent) => agent?.isAgentBusy()) ?? false);
  }

  stop() {
    for (const { settle } of this.#leave(({ method }) => method !== 'ask')) settle();
    return !this.queue || this.#isHeld ? this.#send('stop') : Promise.resolve();
  }

  /** Whether more is kept than messages, which the first part of the module knows. */
  get needsLater() {
    return this.#values.size > 0 || (this.queue ?? []).some(({ method }) => method !== 'send');
  }

  /** Whether one message is kept, and nothing else. */
  get isOneMessage() {
    return this.queue?.length === 1 && this.queue[0].method === 'send' && !this.#values.size;
  }

  /** Has an agent made by the live instance. */
  make(made) {
    this.#glue = this.#loader.glue;
    return this.enter(() => (this.agent = made(this.#glue)));
  }

  /** The session has begun: it gets what was kept. */
  begin() {
    const calls = [...this.#values.values(), ...(this.queue ?? [])];
    this.queue = undefined;
    for (const call of calls) this.#replay(call);
  }

  /** Keeps calls from now on, until the later part of the module is there. */
  #hold() {
    this.queue = [];
    this.#isHeld = true;
    this.#loader.later.holders.add(this);
    this.#loader.later.load().then(() => {
      if (!this.#isHeld) return;
      const calls = this.queue;
      this.#release();
      for (const call of calls) this.#replay(call);
    });
  }

  #release() {
    this.#loosen();
    this.queue = undefined;
  }

  #loosen() {
    this.#isHeld = false;
    this.#loader.later?.holders.delete(this);
  }

  /** There is no instance, or no longer: answers what is open. */
  abandon(info) {
    const { agent } = this;
    this.agent = undefined;
    const open = [...this.#open, ...this.#leave().map(({ settle }) => settle)];
    this.queue ??= [];
    this.#loosen();
    this.tools.abort();
    for (const settle of open) settle(undefined, info);
    try {
      // What is left of a trapped instance must not go on speaking.
      agent?.remove();
    } catch {
      // It is lost either way.
    }
  }

  /** Nobody wants the session any more. The agent that was. */
  end() {
    const { agent } = this;
    this.agent = undefined;
    for (const { settle } of this.#leave()) settle();
    this.queue ??= [];
    this.#loosen();
    if (agent) this.enter(() => agent.remove());
    return agent;
  }

  /** Sets a value now, or in its turn. What an attribute holds is refused by an event only. */
  set(call) {
    if (!this.queue && !this.#loader.later.isThere) this.#hold();
    if (this.queue) {
      const same = this.queue.filter(({ name }) => name === call.name);
      if (same.length === KEPT) this.queue.splice(this.queue.indexOf(same[0]), 1);
      this.queue.push(call);
    } else if (call.isAttribute) {
      this.#tell(call);
    } else {
      this.#take(call);
    }
  }

  /** A call into the instance; nothing if that is lost with it. */
  enter(call) {
    try {
      return call(this.agent);
    } catch (error) {
      if (!this.#loader.trapped(error, this.#glue)) throw error;
    }
  }

  /** Takes messages out of the queue; what was set stays for the next instance. */
  #leave(isLeft = () => true) {
    const left = (this.queue ?? []).filter((call) => call.settle && isLeft(call));
    if (this.queue) this.queue = this.queue.filter((call) => !left.includes(call));
    return left;
  }

  #take(call) {
    const { name, text, handlers, isAttribute, error } = call;
    if (error) throw error;
    // The parser of the module mends half pairs.
    if (name in JSON_VALUES && HALF.test(text)) readObject(name, () => toJson(JSON.parse(text), '', true));
    // One that traps is for the next instance.
    this.enter((agent) => agent.set(name, text, Boolean(isAttribute)));
    this.#values.set(name, call);
    if (handlers) this.tools.accept(handlers);
  }

  #tell(call) {
    try {
      this.#take(call);
    } catch (error) {
      this.#client.report(plain(error));
    }
  }

  #send(method, ...args) {
    const [text] = args;
    // Later the instance says so, and what else is wrong.
    if (this.queue && method === 'send' && !(typeof text === 'string' && text.trim() && [...text].length <= TEXT_LIMIT)) {
      throw new MindsetError({
        code: 'invalid-request',
        message: 'a message is a text of at most 100,000 characters, and not a blank one.',
      });
    }
    let settle;
    const promise = new Promise((resolve, reject) => {
      settle = (value, error) => {
        this.#open.delete(settle);
        ENDS[method](resolve, reject, value, error);
      };
    });
    if (!this.queue && method !== 'send' && !this.#loader.later.isThere) this.#hold();
    if (!this.queue) {
      this.#call(method, settle, args);
    } else if (this.#loader.dead) {
      settle(undefined, this.#loader.dead);
    } else if (this.#client.isClosed) {
      settle();
    } else {
      this.queue.push({ method, settle, args });
      if (this.#client.isConnected && !this.#loader.glue) this.#loader.load().catch(() => {});
    }
    return promise;
  }

  #call(method, settle, args) {
    this.#open.add(settle);
    try {
      this.agent[method](settle, ...args);
    } catch (error) {
      if (this.#loader.trapped(error, this.#glue)) return;
      this.#open.delete(settle);
      throw error;
    }
  }

  // What could not be refused when it was called is an answer now.
  #replay(call) {
    const { method, settle, args } = call;
    if (!this.agent) return this.queue.push(call);
    if (!settle) return this.#tell(call);
    try {
      this.#call(method, settle, args);
    } catch (error) {
      settle(undefined, error);
    }
  }
}

/** What `read` gives; its complaint as an error that names the property. */
export function readObject(name, read, code = 'invalid-config') {
  try {
    return read();
  } catch ({ message }) {
    throw new MindsetError({ code, message: `${name} was refused: ${message}` });
  }
}

function refused(status, error) {
  return { status, conversationId: '', runId: '', ...(error && { error: plain(error) }) };
}
