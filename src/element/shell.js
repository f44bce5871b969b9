// The class behind <mindset-agent>: named forwards to the wasm module. It holds
// the calls made before the module is there and nothing else of the conversation.

import theme from 'mindset-theme';
import { connect, createChat } from '../chat.js';
import { setImporter } from '../dom/lazy.js';
import { setSpeaker } from '../dom/texts.js';
import { agentOf } from './agent.js';
import { Ahead, takeAhead, takeId } from './ahead.js';
import { Calls, JSON_VALUES, METHODS } from './calls.js';
import { Early } from './early.js';
import { Language } from './language.js';
import { Loader, MindsetError, afterParsing } from './loader.js';

export { MindsetError };

const TAG = 'mindset-agent';
const PROPERTIES = {
  agentUid: 'agent-uid',
  appUid: 'app-uid',
  server: 'server',
  headless: 'headless',
  approvals: 'approvals',
  heading: 'heading',
  placeholder: 'placeholder',
  conversationId: 'conversation-id',
  locale: 'locale',
  disabled: 'disabled',
  forgetDrafts: 'forget-drafts',
  initialQuestion: 'initial-question',
  imageOrigins: 'image-origins',
  layout: 'layout',
  open: 'open',
  theme: 'theme',
  uploads: 'uploads',
  situationalAwareness: 'situational-awareness',
  passthroughParams: 'passthrough-params',
};
/** A page that is complete may still call `init`, but seldom so late, in milliseconds. */
const LATE_MS = 3_000;
const WAITING = 'Waiting for mindset.init({ appUid }) or the attribute app-uid.';
const BOOLEANS = new Set(['headless', 'uploads', 'disabled', 'forgetDrafts', 'open']);
/** The schemes of the style sheet by name; without a name the system decides. */
const THEMES = { light: ':host{--_light:initial;--_dark: ;color-scheme:light}', dark: ':host{--_light: ;--_dark:initial;color-scheme:dark}' };
const PLAIN = ':host(:not([hidden],[headless]:not([headless=false i]))){display:block!important}';

/** What each element speaks. */
const languages = new WeakMap();
/** Where the module gets its panels. */
const earlies = new WeakMap();
/** What is asked of each element. */
const callsOf = new WeakMap();

/**
 * Defines the element once per page, where there are elements; gives `{ init, createChat,
 * version, MindsetError }` of the definition that holds. `parts` are what a `Loader` takes.
 */
export function setUp(parts) {
  const hasElements = typeof customElements === 'object' && typeof HTMLElement === 'function';
  const known = hasElements && customElements.get(TAG);
  if (known) {
    const page = known.mindset;
    if (page?.version !== __VERSION__) {
      console.warn(
        `mindset-agent: version ${__VERSION__} was loaded, but <${TAG}> is already defined by version ${page?.version ?? 'unknown'}. Load one version only.`,
      );
    }
    if (page) return page;
  }
  const words = (root) => languages.get(root.host)?.words;
  const loader = new Loader({ ...parts, connect, words, panel: (element, tell) => earlies.get(element).hand(tell), ahead: takeAhead, ids: takeId });
  setImporter(parts.chunk);
  setSpeaker(words);
  const page = Object.freeze({
    async init(config) {
      if (hasElements) return loader.init(config);
      throw new MindsetError({ code: 'unsupported-browser', message: 'init works in a page only: call it in the browser.' });
    },
    createChat: (options) => createChat(loader, options),
    createAgentClient: (options) => agentOf({ loader, given: loader.read(options, 'createAgentClient'), shown: (element) => callsOf.get(element)?.conversationId }),
    version: __VERSION__,
    MindsetError,
  });
  if (hasElements && !known) customElements.define(TAG, elementClass(loader, page));
  return page;
}

/** One style sheet of a text for every element of a document; it cannot be used in another one. */
const sheets = new WeakMap();

function sheetFor(document, css) {
  if (!sheets.has(document)) sheets.set(document, new Map());
  const known = sheets.get(document);
  if (!known.has(css)) {
    const sheet = new document.defaultView.CSSStyleSheet();
    sheet.replaceSync(css);
    known.set(css, sheet);
  }
  return known.get(css);
}

function elementClass(loader, page) {
  let assign;
  class MindsetAgent extends HTMLElement {
    static mindset = page;
    static observedAttributes = Object.entries(PROPERTIES).flatMap(([name, attribute]) =>
      attribute === name ? [attribute] : [attribute, name.toLowerCase()],
    );

    #calls = new Calls(loader, this);
    #language = new Language((name) => loader.chunk(name));
    #ahead = new Ahead(loader, this, this.#calls);
    #early = new Early(this, this.#calls, this.#ahead);
    #registered = false;
    #changed = false;
    /** The JSON attributes as they stood last. */
    #texts = {};
    /** The style sheets of this side, as they were adopted last. */
    #sheets = [];
    #isLaid = false;
    /** Whether the layout could not be loaded. */
    #isPlain = false;

    static {
      assign = (element, name, value) => element.#assign(name, value);
    }

    constructor() {
      super();
      languages.set(this, this.#language);
      earlies.set(this, this.#early);
      callsOf.set(this, this.#calls);
      if (!this.shadowRoot) this.attachShadow({ mode: 'open' });
      this.adoptedCallback();
      this.#adoptProperties();
    }

    connectedCallback() {
      this.#adoptProperties();
      loader.clients.add(this);
      this.#dress();
      this.#arrange();
      if (this.#calls.agent) {
        this.#speak();
        this.#calls.enter((agent) => agent.reattached());
      } else if (loader.glue) {
        this.attach();
      } else {
        loader.load().catch((error) => loader.dead && this.abandon(error));
        this.#ahead.signIn();
        this.#early.reattached();
        this.#draw();
      }
    }

    // A move disconnects too, so the end is decided in a later task.
    disconnectedCallback() {
      setTimeout(() => this.isConnected || this.#remove());
    }

    connectedMoveCallback() {}

    /** Styles belong to a document: in another one they are adopted anew. */
    adoptedCallback() {
      this.#dress();
    }

    /** Takes on what `theme` says. */
    #dress() {
      const { ownerDocument: document, shadowRoot: root } = this;
      if (!document.defaultView) return;
      const named = THEMES[(this.theme ?? loader.theme)?.toLowerCase()];
      const wanted = [theme, named, this.#isPlain && PLAIN].filter(Boolean).map((css) => sheetFor(document, css));
      if (wanted.length !== this.#sheets.length || wanted.some((sheet) => !this.#sheets.includes(sheet))) {
        // Those of the chunks stay.
        root.adoptedStyleSheets = [...wanted, ...root.adoptedStyleSheets.filter((sheet) => !this.#sheets.includes(sheet))];
        this.#sheets = wanted;
      }
    }

    /** Has the chunk of the layouts do what the attributes say, where one of its layouts is or was. */
    #arrange() {
      const isLaid = this.isConnected && /^(bubble|panel)$/i.test(this.layout);
      if (!isLaid && !this.#isLaid) return;
      this.#isLaid = true;
      loader.chunk('layout').then((lay) => this.#laid(() => lay(this)), () => this.#laid());
    }

    /** What cannot be laid out stands where the element stands. */
    #laid(lay) {
      if (!lay && !this.#isPlain) {
        const message = 'The layout could not be loaded, so the chat stands where the element stands. Check that every file of the build lies beside the script.';
        this.report({ code: 'network', message, retryable: true });
      }
      this.#isPlain = !lay;
      this.#dress();
      lay?.();
    }

    attributeChangedCallback(changed) {
      const name = Object.keys(JSON_VALUES).find((name) => changed === PROPERTIES[name] || changed === name.toLowerCase());
      if (name) return this.#readText(name);
      this.#dress();
      this.#arrange();
      if (!this.#calls.agent && this.#early.isAsked) this.#draw();
      if (this.#changed || !this.#calls.agent) return;
      this.#changed = true;
      queueMicrotask(async () => {
        // Whoever is there goes out before another session comes in.
        if (!this.#calls.queue) await loader.later.load();
        this.#changed = false;
        this.refresh();
      });
    }

    sendMessage(text, options) {
      return this.#calls.sendMessage(text, options);
    }

    isAgentBusy() {
      return this.#calls.isBusy();
    }

    /** The loader has an instance, a fresh one or one that was there. */
    attach(isFresh) {
      // In one go where that may be: a frame between drawing and starting keeps the first message waiting.
      if (isFresh && document.readyState !== 'loading') afterParsing(() => loader.glue && this.#attach((start) => start()));
      else this.#attach(afterParsing);
    }

    /** Resolves when a message is out, if one goes out by itself. */
    get pending() {
      return this.#ahead.pending;
    }

    /** Draws, then starts when `soon` says so: in a later task than that of the page's own code. */
    #attach(soon) {
      const calls = this.#calls;
      if (calls.agent || !this.isConnected) return;
      this.#speak();
      // Nobody reads a panel whose words change at once.
      if (this.#language.pending) return void this.#language.pending.then(() => loader.glue && this.#attach(afterParsing));
      if (this.#early.isDrawn) this.#early.draw(this.#language.words);
      else this.#show();
      const agent = calls.make((glue) => new glue.Agent(this, calls.tools));
      if (!agent) return;
      soon(async () => {
        if (this.needsLater) await loader.later.load();
        if (calls.agent !== agent) return;
        const first = !this.#registered;
        this.#registered = true;
        calls.enter(() => agent.start(first));
        this.#early.begin();
        calls.begin();
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

    /** What the page has asked for needs the whole module. */
    get needsLater() {
      return this.#calls.needsLater;
    }

    /** Attributes or the page's configuration changed. */
    refresh() {
      this.#dress();
      this.#ahead.signIn();
      if (!this.#calls.agent) return this.#early.isAsked && this.#draw();
      const redraw = () => this.#calls.agent && this.#early.renew(() => this.#calls.enter((agent) => agent.redraw()));
      if (this.#speak()) redraw();
      else this.#language.pending?.then(redraw);
      this.#calls.enter((agent) => agent.refresh());
    }

    /** Takes on what `locale` and the page's `init` say; true if the words are others now. */
    #speak() {
      const { locale, strings } = loader.wanted ?? {};
      const wanted = this.locale ?? locale;
      return this.#language.want(wanted ? [wanted] : navigator.languages, strings);
    }

    /** Draws the panel that is there before the module. */
    #draw() {
      const { pending, words } = (this.#speak(), this.#language);
      if (this.#calls.agent || !this.isConnected) return;
      if (pending) return void pending.then(() => this.#draw());
      if (!this.#early.isDrawn) this.#show();
      this.#early.draw(words);
    }

    /** An error that the module cannot tell. */
    report(info, onError) {
      loader.report(this, info, onError);
    }

    /** There is no instance, or no longer: answer what is open and say so where the panel was. */
    abandon(info) {
      const { code, message } = info;
      const draft = this.#early.end();
      this.#calls.abandon(info);
      const text = document.createElement('p');
      text.className = 'fallback';
      text.part = 'fallback';
      text.textContent =
        code === 'wasm-load' ? (this.#language.words.table?.fallback ?? 'The assistant could not be loaded. Please try again later.') : message;
      this.#show(text);
      if (!draft) return;
      const rest = document.createElement('span');
      rest.className = rest.part = 'fallback__draft';
      rest.textContent = draft;
      text.append(rest);
    }

    /** Puts nodes in the place of the panel. */
    #show(...nodes) {
      this.shadowRoot.replaceChildren(...this.shadowRoot.querySelectorAll('.stays'), ...nodes);
    }

    #remove() {
      this.#arrange();
      loader.clients.delete(this);
      const calls = this.#calls;
      if (!calls.agent) return;
      const agent = calls.end();
      calls.enter(() => agent.free());
      this.#early.end();
    }

    /** An attribute that stands as it stood says nothing new. */
    #readText(name) {
      const text = this[name];
      if (text === (this.#texts[name] ?? null)) return;
      this.#texts[name] = text;
      this.#calls.set({ name, text: text ?? '', isAttribute: true });
    }

    /** A JSON property was set: to an object, to the text of its attribute, or to nothing. */
    #assign(name, value) {
      if (typeof value === 'object' && value) {
        try {
          this.#calls.setObject(name, value, true);
          // Set before the definition, it is the later writer: an upgrade names the attributes afterwards.
          this.#texts[name] = this[name];
        } catch (error) {
          // Frameworks set properties where nothing may throw.
          this.#calls.set({ name, error, isAttribute: true });
        }
        return;
      }
      const gone = value === null || value === undefined;
      if (!gone) this.setAttribute(PROPERTIES[name], value);
      this.removeAttribute(name);
      // A constructor hears of no attributes.
      if (!gone) return this.#readText(name);
      this.removeAttribute(PROPERTIES[name]);
      this.#calls.set({ name, text: '', isAttribute: true });
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
        if (name in JSON_VALUES) return assign(this, name, value);
        this.removeAttribute(name);
        const isText = typeof value === 'string' && value;
        if (BOOLEANS.has(name) && !isText) this.toggleAttribute(attribute, Boolean(value));
        else if (value === null || value === undefined) this.removeAttribute(attribute);
        else this.setAttribute(attribute, value);
      },
    });
  }
  Object.defineProperty(MindsetAgent.prototype, 'agent', {
    configurable: true,
    get() {
      return callsOf.get(this).api;
    },
  });
  for (const name of METHODS) {
    Object.defineProperty(MindsetAgent.prototype, name, {
      configurable: true,
      writable: true,
      value(...args) {
        return callsOf.get(this)[name](...args);
      },
    });
  }
  return MindsetAgent;
}
