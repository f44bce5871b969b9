// Gets, compiles and starts the wasm module, for every element and client of the page at
// once: one instance, replaced by one fresh instance if it ever traps.

import instantiate from 'mindset-glue';
import { thrown } from '../convert.js';
import { randomId, readInit } from '../page.js';
import { Later } from './later.js';

/** What calls throw and `init` rejects with. */
export class MindsetError extends Error {
  constructor({ code, message, retryable = false, context }) {
    super(message);
    this.name = 'MindsetError';
    this.code = code;
    this.retryable = retryable;
    if (context !== undefined) this.context = context;
  }
}

/** An error as events and results carry it; what has no code kept the module from loading. */
export function plain({ code = 'wasm-load', message, retryable = true, context }) {
  return { code, message, retryable, ...(context && { context }) };
}

/** Runs `task` in a task of its own, after the document is parsed: a listener in a script below the tag is in place by then. */
export function afterParsing(task) {
  // Before the next frame, where the browser can say so: the person waits.
  const { scheduler } = globalThis;
  const later = () => (scheduler?.postTask ? scheduler.postTask(task, { priority: 'user-blocking' }) : setTimeout(task));
  if (globalThis.document?.readyState === 'loading') document.addEventListener('DOMContentLoaded', later, { once: true });
  else later();
}

/** Resolves when the document is parsed and its listeners have heard of it. */
export function parsed() {
  if (document.readyState !== 'loading') return undefined;
  // The last one to hear of it: the window does after the document, and whoever comes last after the others.
  const hear = (target, then) => target.addEventListener('DOMContentLoaded', then, { once: true });
  return new Promise((resolve) => hear(document, () => hear(globalThis, resolve)));
}

export class Loader {
  /** The live instance, once there is one, and its later part. */
  glue;
  later;
  /** Elements in the document, and clients that are not closed. */
  clients = new Set();
  /** Set when a second instance trapped: what every later call is answered with. */
  dead;

  #parts;
  #module;
  #laterModule;
  #loading;
  #inits = [];
  /** The compiled first part, on its way or there. */
  arriving;
  /** What `init` was given and took. */
  config;
  /** What `init` got when the module could not be loaded: used if a later call loads it. */
  #kept;
  #trapped = false;
  #isLacking = false;
  #client;

  /**
   * `first()` and `later()` give the two parts of the module, `laterNow()` the second before it
   * returns, `chunk(name)` a part of the script that is loaded on need; `script` is the URL of
   * this script and `server` the default of the option, if they are known.
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** The theme of elements that name none. */
  get theme() {
    return this.wanted?.theme;
  }

  /** The configuration of the page, also if no instance has it yet. */
  get wanted() {
    return this.config ?? this.#inits[0]?.config ?? this.#kept;
  }

  /** Names this page, whichever instance speaks. */
  get client() {
    return (this.#client ??= randomId());
  }

  /** The default of `server`, where there is one. */
  get server() {
    return this.#parts.server;
  }

  /** A client without an element, for what `given` says; `hear` gets its events. */
  connect(given, hear) {
    return this.#parts.connect(this, given, hear);
  }

  /** What an element speaks, as the panel's texts take it; nothing of what has no language. */
  words(host) {
    return this.#parts.words?.({ host });
  }

  /** The default export of a part of the script; after a failure the next call tries again. */
  async chunk(name) {
    return (await this.#parts.chunk(name)).default;
  }

  /** Checks options of a page; throws. */
  read(options, name) {
    try {
      return readInit(options, this.#parts.server, name);
    } catch (message) {
      throw new MindsetError({ code: 'invalid-config', message: typeof message === 'string' ? message : thrown(message) });
    }
  }

  /** Resolves when an instance lives. After a failure the next call tries again. */
  load() {
    if (this.dead) return Promise.reject(this.dead);
    // While the page is being read more of it may ask for the same: all hear of one failure.
    this.#loading ??= this.#begin().catch((error) => new Promise((_, reject) => afterParsing(() => {
      this.#loading = undefined;
      this.#fail(error);
      reject(error);
    })));
    return this.#loading;
  }

  /** `mindset.init`: rejects, never throws. */
  init(config) {
    return new Promise((resolve, reject) => {
      const call = { config: this.read(config), resolve, reject };
      if (this.glue) return this.#apply(call);
      this.#inits.push(call);
      for (const client of this.clients) client.refresh();
      this.load().catch(reject);
    });
  }

  /** Takes note of what a call into the instance threw; true if the instance is lost. */
  trapped(error, glue = this.glue) {
    if (!(error instanceof WebAssembly.RuntimeError)) return false;
    if (!glue || glue !== this.glue) return true;
    this.glue = this.#loading = undefined;
    this.later.end();
    // Its later part could not be loaded: no fault of its own, and the next call tries again.
    const isLoad = error.code === 'wasm-load';
    const first = isLoad || !this.#trapped;
    this.#trapped ||= !isLoad;
    const info = isLoad ? plain(error) : {
      code: 'internal',
      message: first
        ? 'The assistant hit an internal fault and was restarted. Send your message again.'
        : 'The assistant hit an internal fault twice and has stopped. Reload the page.',
      retryable: first,
    };
    if (!first) this.dead = new MindsetError(info);
    for (const client of this.clients) {
      client.abandon(info);
      client.report(info);
    }
    if (first && !isLoad) this.load().catch(() => {});
    return true;
  }

  /** The only event that is made here: the module that makes all others is not there. */
  report(element, info, onError = this.config?.onError) {
    Object.freeze(info.context);
    const detail = Object.freeze({ ...info });
    element.dispatchEvent(new CustomEvent('mindset:error', { bubbles: true, composed: true, detail }));
    try {
      onError?.(detail);
    } catch (error) {
      reportError(error);
    }
  }

  async #begin() {
    // Side by side where both are needed.
    if ([...this.clients].some((client) => client.needsLater)) this.#getLater().catch(() => {});
    if (!this.#module) {
      this.arriving = this.#parts.first();
      this.#module = await this.arriving;
      globalThis.addEventListener?.('error', (event) => this.#overhear(event.error));
      globalThis.addEventListener?.('unhandledrejection', (event) => this.#overhear(event.reason));
    }
    // What is to be done now would keep a message waiting, and then waits for its answer.
    await Promise.all([...this.clients].map((client) => client.pending));
    const glue = instantiate();
    const later = new Later(() => this.#getLater(), () => this.#parts.laterNow(), (error) => this.#lacks(error));
    const instance = await WebAssembly.instantiate(this.#module, later.imports(glue.imports()));
    glue.started(instance);
    later.join(instance.exports);
    glue.install(MindsetError, { ...this.#parts, later }, this.client);
    this.later = later;
    this.glue = glue;
    if (this.config) glue.init(this.config);
    else if (!this.#inits.length && this.#kept) this.init(this.#kept).catch((error) => this.#told(error));
    for (const call of this.#inits.splice(0)) this.#apply(call);
    for (const client of this.clients) client.attach(true);
  }

  #getLater() {
    this.#laterModule ??= this.#parts.later().then((module) => {
      this.#isLacking = false;
      return module;
    }, (error) => {
      this.#laterModule = undefined;
      throw error;
    });
    return this.#laterModule;
  }

  /** The later part did not come; it is tried again. Told once. */
  #lacks(error) {
    if (this.#isLacking) return;
    this.#isLacking = true;
    console.error(`mindset-agent: ${error.message}`);
    for (const client of this.clients) client.report(plain(error));
  }

  #apply({ config, resolve, reject }) {
    try {
      this.glue.init(config);
      this.config ??= config;
      for (const client of this.clients) client.refresh();
      resolve();
    } catch (error) {
      this.trapped(error);
      reject(error);
    }
  }

  /** Traps of timers, listeners and promises have no caller of ours; they surface here. */
  #overhear(error) {
    if (!(error instanceof WebAssembly.RuntimeError)) return;
    const stack = error.stack ?? '';
    if (stack.includes(__WASM_FILE__) || stack.includes(__LATER_FILE__) || (this.#parts.script && stack.includes(this.#parts.script))) this.trapped(error);
  }

  /** An error that no caller waits for. */
  #told(error) {
    for (const client of this.clients) client.report(plain(error), this.#kept?.onError);
  }

  #fail(error) {
    const info = plain(error);
    console.error(`mindset-agent: ${info.message}`);
    this.#kept = this.#inits[0]?.config ?? this.#kept;
    const onError = (this.config ?? this.#kept)?.onError;
    this.#inits = [];
    for (const client of this.clients) {
      client.abandon(info);
      if (client.isConnected) client.report(info, onError);
    }
  }
}

const failed = (url, message, context, retryable = true) =>
  new MindsetError({ code: 'wasm-load', message, retryable, context: { url, ...context } });

/** Fetches and compiles. The body is read once, and every failure says what came back. */
export async function compile(url) {
  if (typeof WebAssembly !== 'object') {
    throw failed(url, 'this browser has no WebAssembly switched on. Use a current browser.', {}, false);
  }
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw failed(
      url,
      `${url} could not be fetched (${error.message}). Check that the file lies beside the script, that the page's CSP allows it in connect-src, and that another origin sends Access-Control-Allow-Origin.`,
    );
  }
  const { status } = response;
  const type = response.headers.get('Content-Type') ?? '';
  if (response.ok && /^application\/wasm\b/i.test(type)) {
    return WebAssembly.compileStreaming(response).catch((error) => refuse(url, status, type, error));
  }
  const bytes = new Uint8Array(response.ok ? await response.arrayBuffer().catch(() => []) : []);
  return judge(url, status, type, bytes) ?? WebAssembly.compile(bytes).catch((error) => refuse(url, status, type, error));
}

/** The same before it returns: the page stands still meanwhile. */
export function compileNow(url) {
  const request = new XMLHttpRequest();
  try {
    request.open('GET', url, false);
    request.overrideMimeType('text/plain; charset=x-user-defined');
    request.send();
  } catch ({ message }) {
    throw failed(url, `${url} could not be fetched (${message}). Check that the file lies beside the script.`);
  }
  const { status } = request;
  const type = request.getResponseHeader('Content-Type') ?? '';
  const bytes = Uint8Array.from(request.responseText, (letter) => letter.charCodeAt());
  judge(url, status, type, bytes);
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    return refuse(url, status, type, error);
  }
}

/** Throws what is wrong with an answer that is no module. */
function judge(url, status, type, bytes) {
  const got = `${url} answered ${status}, type "${type}"`;
  if (status < 200 || status > 299) {
    throw failed(url, `${got}. Put the .wasm file beside the script, under the name it was built with.`, { status, type });
  }
  const head = String.fromCharCode(...bytes.subarray(0, 40));
  if (head.startsWith('\0asm')) return;
  throw failed(
    url,
    `${got}, and is no WebAssembly: it begins with ${JSON.stringify(head)}. Serve the .wasm file itself under this URL.`,
    { status, type },
  );
}

/** Throws why an answer could not be compiled. */
function refuse(url, status, type, { message }) {
  if (/content security policy|unsafe-eval|CSP/i.test(message)) {
    throw failed(
      url,
      "the page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to script-src. It does not allow eval.",
      { status, type },
      false,
    );
  }
  throw failed(url, `${url} answered ${status}, type "${type}", and is damaged or incomplete (${message}). Deploy the file again.`, { status, type });
}
