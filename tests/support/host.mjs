// A host page with the element in it, as a test sees it.

import { fileURLToPath } from 'node:url';

import { Panel } from './panel.mjs';
import { until, within } from './wait.mjs';

const RECORDER = fileURLToPath(new URL('recorder.js', import.meta.url));

/** Time constants that let a test see time-outs and pauses. */
export const TIMING = { heartbeat: 20_000, request: 20_000, stop: 500, backoff: 50, backoffMax: 200, giveUp: 300 };

/** The usual element. */
export const ELEMENT = '<mindset-agent id="agent" agent-uid="support"></mindset-agent>';

/** The usual page: script, element, init, in this order. */
export function html({ head = '', elements = ELEMENT, init = {}, script = '/mindset-agent.js', foot = '' } = {}) {
  const options = JSON.stringify({ appUid: 'acme', timing: TIMING, ...init });
  const call = init === null ? '' : `<script>mindset.init(${options}).catch((e) => { window.initError = e; })</script>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host page</title>
<style>body { margin: 0 } mindset-agent { height: 480px }</style>${head}
${script ? `<script src="${script}"></script>` : ''}</head>
<body><main><h1>Host page</h1>${elements}</main>${call}${foot}</body></html>`;
}

/** A page in a profile of its own. */
export class Host {
  /**
   * Opens `url`. `context` are options of the browser's context; `before` is
   * called with the page before it loads.
   */
  static async open(browser, url, { context = {}, before } = {}) {
    const profile = await browser.newContext({ viewport: { width: 1000, height: 720 }, ...context });
    await profile.addInitScript({ path: RECORDER });
    const page = await profile.newPage();
    page.setDefaultTimeout(30_000);
    const host = new Host(profile, page);
    await before?.(page, host);
    await page.goto(url);
    return host;
  }

  constructor(profile, page) {
    this.profile = profile;
    this.page = page;
    this.panel = new Panel(page);
    /** Whether calls may come too early for the later part of the module. */
    this.mayBeEarly = false;
    /** What the page wrote to its console as an error, and exceptions. */
    this.console = [];
    /** Set by a test whose page violates its policy on purpose. */
    this.mayViolate = false;
    /** Addresses the page asked for. */
    this.requests = [];
    page.on('console', (message) => message.type() === 'error' && this.console.push(message.text()));
    page.on('pageerror', (error) => this.console.push(String(error)));
    page.on('request', (request) => this.requests.push(request.url()));
  }

  /** Opens the usual page and waits until its element is ready. */
  static async ready(browser, runtime, options = {}) {
    const path = options.path ?? '/';
    const url = runtime.page(path, options.html ?? html(options), options.headers);
    const host = await Host.open(browser, url, options);
    await host.saw('agent-idle');
    return host;
  }

  close() {
    return this.profile.close();
  }

  /** Runs `fn` in the page. */
  run(fn, arg) {
    return within(this.page.evaluate(fn, arg), 'the page to answer');
  }

  /** Events so far, of the element `id` or of all. */
  async events(id) {
    const all = await this.run(() => window.recorded.events);
    return id ? all.filter((event) => event.target === id) : all;
  }

  /** Events so far as short names: `agent-idle`, `runtime-event:run_started`. */
  async names(id) {
    const events = await this.events(id);
    return events.map((e) => (e.name === 'runtime-event' ? `runtime-event:${e.type}` : e.name));
  }

  /** Waits until the event of this short name was seen `count` times. */
  async saw(name, count = 1, id = undefined) {
    const check = async () => (await this.names(id)).filter((n) => n === name).length >= count;
    try {
      await until(check, `${count} x ${name}`);
    } catch (error) {
      error.message += `; seen: ${(await this.names()).join(' ')}; console: ${this.console.join(' | ')}`;
      throw error;
    }
    return (await this.events(id)).filter((e) => `${e.name}${e.name === 'runtime-event' ? `:${e.type}` : ''}` === name)[count - 1];
  }

  /** `sendMessage` on the element; resolves to the `TurnResult`. */
  send(text, options, id = 'agent') {
    return this.run(([text, options, id]) => document.getElementById(id).sendMessage(text, options), [text, options, id]);
  }

  /** Starts `sendMessage` without waiting; `late` gives its result later. */
  async start(text, options, id = 'agent') {
    await this.run(([text, options, id]) => {
      (window.started ??= []).push(document.getElementById(id).sendMessage(text, options));
    }, [text, options, id]);
  }

  /** The result of the `index`th `start`. */
  late(index = 0) {
    return this.run((index) => window.started[index], index);
  }

  /** Answers of the element's `isAgentBusy`. */
  busy(id = 'agent') {
    return this.run((id) => document.getElementById(id).isAgentBusy(), id);
  }

  /** Violations of the page's policies. */
  violations() {
    return this.run(() => window.recorded.violations);
  }

  /** Calls that came before the later part of the module and had the page wait for it: who called. */
  early() {
    return this.run(() => performance.getEntriesByName('mindset-agent:early').map(({ detail }) => detail));
  }

  /** Uncaught errors of the page. */
  errors() {
    return this.run(() => window.recorded.errors);
  }

  /** Waits for `mindset:error` and gives its detail. */
  async error(count = 1) {
    return (await this.saw('error', count)).detail;
  }
}
