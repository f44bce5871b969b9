// Tokens of the user for whom the agent API works: kept in memory, asked for once however many wait.

import { askToken } from '../page.js';

/** A token is asked for anew this long before its end, in milliseconds. */
const EARLY = 30_000;

/** Whoever gives tokens, each `{ token, expires, agent? }`. */
class Tokens {
  #ask;
  #current;
  #pending;

  constructor(ask) {
    this.#ask = ask;
  }

  /** A token that is not `stale`. */
  async get(stale) {
    const { token, expires } = this.#current ?? {};
    if (token && token !== stale && !(expires && Date.now() + EARLY >= expires)) return token;
    this.#pending ??= this.#ask().finally(() => (this.#pending = undefined));
    this.#current = await this.#pending;
    return this.#current.token;
  }

  /** The agent that the session is for, once it has said so. */
  get agent() {
    return this.#current?.agent;
  }
}

/** Those that the page hands out. */
function fromPage({ ask, isSession }, errors) {
  return new Tokens(async () => {
    const answer = await new Promise((resolve) => askToken(isSession, ask, (_name, answer) => resolve(answer)));
    const { token, expires, agent, message, retryable, received } = answer;
    if (token) return { token, expires, agent };
    throw errors.make('invalid-auth', message, { retryable, context: received && { received } });
  });
}

/** Those that a service gets with the key of its application. */
function fromKey({ server, appUid, apiKey, externalUserId, timing }, errors) {
  const url = `${server}/api/v1/appuid/${encodeURIComponent(appUid)}/sdkusers/auth`;
  const headers = { 'Content-Type': 'application/json', 'x-api-key': apiKey };
  return new Tokens(async () => {
    let response;
    let body;
    try {
      const signal = AbortSignal.timeout(timing?.request ?? 30_000);
      response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ externalId: externalUserId }), signal });
      body = await response.json().catch(() => undefined);
    } catch {
      throw errors.make('network', `The runtime at ${server} could not be reached to sign the user in. Check \`server\` and the connection, then try again.`, { retryable: true });
    }
    if (response.ok && typeof body?.authToken === 'string') return { token: body.authToken, expires: Date.parse(body.expiresAt) || 0 };
    const { code = 'invalid-auth', message = `The runtime answered the sign-in with status ${response.status}. Check server, appUid and apiKey.`, retryable } = body?.error ?? {};
    throw errors.of({ code, message, retryable }, { disposition: 'not_dispatched' });
  });
}

/** Those of a conversation that has its own: an element's, or a UI-less client's. */
class Borrowed {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  async get(stale) {
    const token = await this.#ask();
    if (token !== stale) return token;
    // Whatever is asked of the server has it renewed.
    await this.#calls.conversations();
    return this.#ask();
  }

  async #ask() {
    return (await this.#calls.bearer())?.replace(/^Bearer /, '');
  }
}

export function credentials({ given, calls }, errors) {
  if (calls) return new Borrowed(calls);
  return given.apiKey ? fromKey(given, errors) : fromPage(given, errors);
}
