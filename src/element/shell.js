// The class behind <mindset-agent>: named forwards to the wasm module. It holds
// the calls made before the module is there and nothing else of the conversation.

import theme from 'mindset-theme';
import { Loader, MindsetError, afterParsing, plain } from './loader.js';
import { Tools, readTools, toolError } from './tools.js';
import { objectText, toJson } from './values.js';

export { MindsetError };

const TAG = 'mindset-agent';
const PROPERTIES = {
  agentUid: 'agent-uid',
  appUid: 'app-uid',
  server: 'server',
  headless: 'headless',
  heading: 'heading',
  placeholder: 'placeholder',
  situationalAwareness: 'situational-awareness',
  passthroughParams: 'passthrough-params',
};
/** Properties that hold JSON objects, and whether every value must arrive unchanged. */
const JSON_PROPERTIES = { situationalAwareness: false, passthroughParams: true };
const HALF = /\\ud[89a-f]|\p{Surrogate}/iu;
/** Values of one name that are kept before the module is there; a page may set them at every scroll. */
const KEPT = 16;
/** A page that is complete may still call `init`, but seldom so late, in milliseconds. */
const LATE_MS = 3_000;
const WAITING = 'Waiting for mindset.init({ appUid }) or the attribute app-uid.';
const TEXT_LIMIT = 100_000;
const BOOLEANS = new Set(['headless']);

/** Defines the element once per page; gives `{ init, version, MindsetError }` of the definition that holds. */
export function setUp(locate, script, server) {
  const known = customElements.get(TAG);
  if (known) {
    const page = known.mindset;
    if (page?.version !== __VERSION__) {
      console.warn(
        `mindset-agent: version ${__VERSION__} was loaded, but <${TAG}> is already defined by version ${page?.version ?? 'unknown'}. Load one version only.`,
      );
    }
    if (page) return page;
  }
  const loader = new Loader(locate, script, server);
  const page = Object.freeze({ init: (config) => loader.init(config), version: __VERSION__, MindsetError });
  if (!known) customElements.define(TAG, elementClass(loader, page));
  return page;
}

/** One style sheet for every element of a document; it cannot be used in another one. */
const sheets = new WeakMap();

function sheetFor(document) {
  let sheet = sheets.get(document);
  if (!sheet) {
    sheet = new document.defaultView.CSSStyleSheet();
    sheet.replaceSync(theme);
    sheets.set(document, sheet);
  }
  return sheet;
}

function elementClass(loader, page) {
  let assign;
  class MindsetAgent extends HTMLElement {
    static mindset = page;
    static observedAttributes = Object.entries(PROPERTIES).flatMap(([name, attribute]) =>
      attribute === name ? [attribute] : [attribute, name.toLowerCase()],
    );

    #agent;
    #glue;
    /** Calls made before the conversation could take them, in order; undefined afterwards. */
    #queue = [];
    /** Promises that a call into the instance must settle; a trap settles them. */
    #open = new Set();
    #registered = false;
    #changed = false;
    #tools = new Tools();
    /** What was set last, by name: a fresh instance gets it too. */
    #values = new Map();
    /** The JSON attributes as they stood last. */
    #texts = {};

    static {
      assign = (element, name, value) => element.#assign(name, value);
    }

    constructor() {
      super();
      if (!this.shadowRoot) this.attachShadow({ mode: 'open' });
      this.adoptedCallback();
      this.#adoptProperties();
    }

    connectedCallback() {
      this.#adoptProperties();
      loader.elements.add(this);
      if (this.#agent) this.#enter(() => this.#agent.reattached());
      else if (loader.glue) this.attach();
      else loader.load().catch((error) => loader.dead && this.abandon(error));
    }

    // A move disconnects too, so the end is decided in a later task.
    disconnectedCallback() {
      setTimeout(() => this.isConnected || this.#remove());
    }

    connectedMoveCallback() {}

    /** Styles belong to a document: in another one they are adopted anew. */
    adoptedCallback() {
      if (this.ownerDocument.defaultView) this.shadowRoot.adoptedStyleSheets = [sheetFor(this.ownerDocument)];
    }

    attributeChangedCallback(changed) {
      const name = Object.keys(JSON_PROPERTIES).find((name) => changed === PROPERTIES[name] || changed === name.toLowerCase());
      if (name) return this.#readText(name);
      if (this.#changed || !this.#agent) return;
      this.#changed = true;
      queueMicrotask(() => {
        this.#changed = false;
        this.refresh();
      });
    }

    sendMessage(text, options) {
      if (this.#queue?.some((call) => call.method === 'send' && !call.args[2])) {
        throw new MindsetError({
          code: 'busy',
          message: 'a message is already waiting for the agent to be ready. Use sendWhenIdle to line up more.',
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

    setSituationalAwareness(object) {
      this.#setObject('situationalAwareness', object);
    }

    setPassthroughParams(object) {
      this.#setObject('passthroughParams', object);
    }

    setPageTools(list) {
      const { text, handlers } = readTools(list);
      try {
        this.#set({ name: 'pageTools', text, handlers });
      } catch (error) {
        throw toolError(error);
      }
    }

    isAgentBusy() {
      if (this.#queue) return this.#queue.some((call) => call.settle);
      return this.#enter(() => this.#agent.isAgentBusy()) ?? false;
    }

    stop() {
      if (this.#queue) {
        for (const call of this.#leave()) call.settle(refused('aborted'));
        return Promise.resolve();
      }
      return this.#send('stop').then(() => {});
    }

    /** The loader has an instance: draw, then start in a later task. */
    attach() {
      if (this.#agent || !this.isConnected) return;
      this.shadowRoot.replaceChildren();
      const glue = (this.#glue = loader.glue);
      const agent = this.#enter(() => new glue.Agent(this, this.#tools));
      if (!agent) return;
      this.#agent = agent;
      afterParsing(() => {
        if (this.#agent !== agent) return;
        const first = !this.#registered;
        this.#registered = true;
        this.#enter(() => agent.start(first));
        const calls = [...this.#values.values(), ...(this.#queue ?? [])];
        this.#queue = undefined;
        for (const call of calls) this.#replay(call);
        if (document.readyState === 'complete') this.#awaitInit();
        else addEventListener('load', () => this.#awaitInit(), { once: true });
      });
    }

    /** Nothing is wrong yet, but whoever wonders why nothing happens is told. */
    #awaitInit() {
      const waits = () => this.isConnected && !loader.config && !this.appUid;
      if (!waits()) return;
      setTimeout(() => {
        if (!waits()) return;
        console.warn(`mindset-agent: ${WAITING}`);
        const state = this.shadowRoot.querySelector('.state');
        if (state) state.textContent = WAITING;
      }, LATE_MS);
    }

    /** Attributes or the page's configuration changed. */
    refresh() {
      if (this.#agent) this.#enter(() => this.#agent.refresh());
    }

    /** There is no instance, or no longer: answer what is open and say so where the panel was. */
    abandon(info) {
      const agent = this.#agent;
      this.#agent = undefined;
      const open = [...this.#open, ...this.#leave().map((call) => call.settle)];
      this.#open.clear();
      this.#queue ??= [];
      this.#tools.abort();
      const { code, message } = info;
      for (const settle of open) settle(refused('error', info));
      try {
        // What is left of a trapped instance must not go on speaking.
        agent?.remove();
      } catch {
        // It is lost either way.
      }
      const text = document.createElement('p');
      text.className = 'fallback';
      text.part = 'fallback';
      text.textContent =
        code === 'wasm-load' ? 'The assistant could not be loaded. Please try again later.' : message;
      this.shadowRoot.replaceChildren(text);
    }

    #remove() {
      loader.elements.delete(this);
      const agent = this.#agent;
      if (!agent) return;
      this.#agent = undefined;
      this.#leave();
      this.#queue ??= [];
      this.#enter(() => {
        agent.remove();
        agent.free();
      });
    }

    /** Takes the messages out of the queue; what was set stays for the next instance. */
    #leave() {
      const calls = this.#queue ?? [];
      if (this.#queue) this.#queue = calls.filter((call) => !call.settle);
      return calls.filter((call) => call.settle);
    }

    #setObject(name, object) {
      this.#set({ name, text: readObject(name, () => objectText(object, JSON_PROPERTIES[name])) });
    }

    /** An attribute that stands as it stood says nothing new. */
    #readText(name) {
      const text = this[name];
      if (text === (this.#texts[name] ?? null)) return;
      this.#texts[name] = text;
      this.#set({ name, text: text ?? '', isAttribute: true });
    }

    /** A JSON property was set: to an object, to the text of its attribute, or to nothing. */
    #assign(name, value) {
      if (typeof value === 'object' && value) {
        try {
          this.#set({ name, text: readObject(name, () => objectText(value, JSON_PROPERTIES[name])), isAttribute: true });
          // Set before the definition, it is the later writer: an upgrade names the attributes afterwards.
          this.#texts[name] = this[name];
        } catch (error) {
          // Frameworks set properties where nothing may throw.
          this.#set({ name, error, isAttribute: true });
        }
        return;
      }
      const gone = value === null || value === undefined;
      if (!gone) this.setAttribute(PROPERTIES[name], value);
      this.removeAttribute(name);
      // A constructor hears of no attributes.
      if (!gone) return this.#readText(name);
      this.removeAttribute(PROPERTIES[name]);
      this.#set({ name, text: '', isAttribute: true });
    }

    /** Sets a value now, or in its turn. What an attribute holds is refused by an event only. */
    #set(call) {
      if (this.#queue) {
        const same = this.#queue.filter(({ name }) => name === call.name);
        if (same.length === KEPT) this.#queue.splice(this.#queue.indexOf(same[0]), 1);
        this.#queue.push(call);
      } else if (call.isAttribute) {
        this.#tell(call);
      } else {
        this.#take(call);
      }
    }

    #take(call) {
      const { name, text, handlers, isAttribute, error } = call;
      if (error) throw error;
      // The parser of the module mends half pairs.
      if (JSON_PROPERTIES[name] && HALF.test(text)) readObject(name, () => toJson(JSON.parse(text), '', true));
      try {
        this.#agent.set(name, text, Boolean(isAttribute));
      } catch (error) {
        // The next instance gets it.
        if (!loader.trapped(error, this.#glue)) throw error;
      }
      this.#values.set(name, call);
      if (handlers) this.#tools.accept(handlers);
    }

    #tell(call) {
      try {
        this.#take(call);
      } catch (error) {
        loader.report(this, plain(error));
      }
    }

    #send(method, ...args) {
      const [text] = args;
      // Later the instance says so, and what else is wrong.
      if (this.#queue && method === 'send' && !(typeof text === 'string' && text.trim() && [...text].length <= TEXT_LIMIT)) {
        throw new MindsetError({
          code: 'invalid-request',
          message: 'a message is a text of at most 100,000 characters, and not a blank one.',
        });
      }
      let settle;
      const promise = new Promise((resolve) => {
        settle = (result) => {
          this.#open.delete(settle);
          resolve(result);
        };
      });
      if (this.#queue) {
        if (loader.dead) settle(refused('error', loader.dead));
        else {
          this.#queue.push({ method, settle, args });
          if (this.isConnected && !loader.glue) loader.load().catch(() => {});
        }
      } else {
        this.#call(method, settle, args);
      }
      return promise;
    }

    #call(method, settle, args) {
      this.#open.add(settle);
      try {
        this.#agent[method](settle, ...args);
      } catch (error) {
        if (loader.trapped(error, this.#glue)) return;
        this.#open.delete(settle);
        throw error;
      }
    }

    // What could not be refused when it was called is an answer now.
    #replay(call) {
      const { method, settle, args } = call;
      if (!this.#agent) return this.#queue.push(call);
      if (!settle) return this.#tell(call);
      try {
        this.#call(method, settle, args);
      } catch (error) {
        settle(refused('error', error));
      }
    }

    #enter(call) {
      try {
        return call();
      } catch (error) {
        if (!loader.trapped(error, this.#glue)) throw error;
      }
    }

    /** A property set before the definition would hide the accessor for ever. */
    #adoptProperties() {
      for (const name of Object.keys(PROPERTIES)) {
        if (!Object.hasOwn(this, name)) continue;
        const value = this[name];
        delete this[name];
        this[name] = value;
      }
    }
  }

  for (const [name, attribute] of Object.entries(PROPERTIES)) {
    Object.defineProperty(MindsetAgent.prototype, name, {
      configurable: true,
      enumerable: true,
      get() {
        const value = this.getAttribute(attribute) ?? this.getAttribute(name);
        return BOOLEANS.has(name) ? value !== null && value.toLowerCase() !== 'false' : value;
      },
      set(value) {
        if (name in JSON_PROPERTIES) return assign(this, name, value);
        this.removeAttribute(name);
        if (BOOLEANS.has(name)) this.toggleAttribute(attribute, Boolean(value) && value !== 'false');
        else if (value === null || value === undefined) this.removeAttribute(attribute);
        else this.setAttribute(attribute, value);
      },
    });
  }
  return MindsetAgent;
}

/** What `read` gives; its complaint as an error that names the property. */
function readObject(name, read) {
  try {
    return read();
  } catch ({ message }) {
    throw new MindsetError({ code: 'invalid-config', message: `${name} was refused: ${message}` });
  }
}

function refused(status, error) {
  return { status, conversationId: '', runId: '', ...(error && { error: plain(error) }) };
}
