// What goes out before there is a session: the sign-in of somebody without a name beside the
// module, and the message that a person has sent beside the start of the module. The module makes
// all requests; those that were made already it takes over. A run of the same `runId` is the same
// run to a server, so that nothing happens twice whatever comes of them.

import { readStorage } from '../effects/browser.js';
import { absolute, randomId } from '../page.js';
import { parsed } from './loader.js';

const JSON_TYPE = { 'Content-Type': 'application/json' };
/** So long nothing else is done before a message, in milliseconds. */
const LONGEST = 1_000;
/** Half of a pair of UTF-16 units, and what the module escapes otherwise in a path. */
const LONE = /\p{Surrogate}/u;
const ODD = /[!'()*]/;

/** Requests whose answers nobody has taken: where to, what of the body says which it is, the answer, how it is dropped. */
const open = new Set();

/** Ids that the session of an element makes first, by element. */
const ids = new WeakMap();

function post(url, headers, body, mark = body) {
  const controller = new AbortController();
  const answer = fetch(url, { method: 'POST', headers, body, credentials: 'omit', signal: controller.signal });
  // Whoever takes it hears of a failure.
  answer.catch(() => {});
  const request = { url, mark, answer, abort: () => controller.abort() };
  open.add(request);
  return request;
}

/** The answer to this request if it was made, once; it hears of an abort by `signal`. */
export function takeAhead(url, body, signal) {
  for (const request of open) {
    if (request.url !== url || !body?.includes(request.mark)) continue;
    open.delete(request);
    signal.addEventListener('abort', request.abort);
    return request.answer;
  }
  return undefined;
}

/** The next id that was made for the session of an element. */
export function takeId(host) {
  return ids.get(host)?.shift();
}

/** What one element asks for. */
export class Ahead {
  #loader;
  #host;
  #calls;
  /** A message is to go out at once: resolves when it did, or if it takes too long. */
  pending;
  /** The sign-in: for whom, and the token, once it is there. */
  #for;
  #token;
  /** The message that waits, and its run. */
  #message;
  #run;

  constructor(loader, host, calls) {
    this.#loader = loader;
    this.#host = host;
    this.#calls = calls;
  }

  /** Asks for what a session will ask for first, if that is known: where nobody hands out tokens. */
  signIn() {
    if (this.#for || this.#loader.glue || !this.#host.isConnected) return;
    const whom = this.#whom();
    if (!whom) return;
    this.#for = whom;
    const { base, appUid, agentUid, place } = whom;
    const anonymousKey = readStorage(`mindset:anonymous:${place}`);
    const request = post(`${base}/v1/anonymous`, JSON_TYPE, JSON.stringify({ appUid, agentUid, anonymousKey }));
    const read = request.answer.then(async (answer) => [answer, await answer.text()]);
    this.#token = read.then(([{ ok }, text]) => (ok ? JSON.parse(text).authToken : undefined));
    request.answer = read.then(([answer, text]) => new Response(text || null, answer));
    for (const promise of [this.#token, request.answer]) promise.catch(() => {});
    if (this.#message) this.send(this.#message.text);
  }

  /** A person's first message, once the module is there and nothing else must come before. */
  send(text) {
    const message = (this.#message = { text });
    if (!this.#token || LONE.test(text) || !this.#isFirst()) return;
    const sent = Promise.all([this.#token, this.#loader.arriving, parsed()]).then(([token]) => {
      if (token && message === this.#message && this.#isFirst()) this.#post(token, text);
    });
    // The module tells of what fails.
    this.pending = Promise.race([sent.catch(() => {}), new Promise((resolve) => setTimeout(resolve, LONGEST))]);
    this.pending.then(() => (this.pending = undefined));
  }

  /** The message is none any more; a run that the module has not taken over is over. */
  end() {
    const { request, cancel } = this.#run ?? {};
    if (open.delete(request)) request.answer.then(cancel).catch(() => {});
    this.#run = this.#message = undefined;
    ids.delete(this.#host);
  }

  #post(token, text) {
    const [id, threadId, runId] = [randomId(), randomId(), randomId()];
    ids.set(this.#host, [id, threadId, runId]);
    const { base, agentUid } = this.#for;
    const body = {
      threadId,
      runId,
      protocolVersion: '1.0',
      state: {},
      messages: [{ id, role: 'user', content: text }],
      tools: [],
      context: [],
      forwardedProps: { mindset: { inputType: 'HUMAN', clientId: this.#loader.client, answers: true } },
    };
    const headers = { ...JSON_TYPE, Accept: 'text/event-stream', Authorization: `Bearer ${token}` };
    const url = `${base}/v1/agents/${encodeURIComponent(agentUid)}/runs`;
    const request = post(url, headers, JSON.stringify(body), `"runId":"${runId}"`);
    const cancel = (answer) => {
      answer.body?.cancel();
      return fetch(`${base}/v1/runs/${runId}/cancel`, { method: 'POST', headers, credentials: 'omit' });
    };
    this.#run = { request, cancel };
  }

  /** Whether a conversation begins with it, and nothing that the page has set goes along. */
  #isFirst() {
    const { place, agentUid } = this.#for;
    if (this.#whom()?.place !== place || this.#loader.clients.size > 1 || ODD.test(agentUid)) return false;
    return this.#calls.isOneMessage && !this.#host.conversationId && !readStorage(`mindset:conversation:${place}|0`);
  }

  /** Who would be signed in where. */
  #whom() {
    const { appUid: own, server } = this.#host;
    const agentUid = this.#host.agentUid?.trim();
    const config = this.#loader.wanted;
    const base = server === null ? config?.server : absolute(server);
    if (!agentUid || !config || !base || config.isAgUi || config.ask) return undefined;
    const appUid = own ?? config.appUid;
    return { base, appUid, agentUid, place: `${base}|${appUid}|${agentUid}` };
  }
}
