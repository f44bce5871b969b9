// What the agent API asks the runtime besides runs: small requests with JSON answers.

const REQUEST_MS = 30_000;

/** The runtime as one user sees it. */
export class Requests {
  #settings;
  #tokens;
  #errors;

  /** `settings()` gives `{ server, timing? }`, `tokens` has `get(stale)`. */
  constructor(settings, tokens, errors) {
    this.#settings = settings;
    this.#tokens = tokens;
    this.#errors = errors;
  }

  /** The answer as JSON; rejects with an `AgentError`. */
  async json(method, path, { body, missing } = {}) {
    const { timing } = this.#settings();
    const signal = AbortSignal.timeout(timing?.request ?? REQUEST_MS);
    const response = await this.open(path, { method, body: body && JSON.stringify(body), signal, missing });
    return response.json().catch(() => {
      throw this.#lost(method);
    });
  }

  /** A good answer, whose body is not read yet. */
  async open(path, { method = 'GET', body, signal, accept, missing }) {
    const token = await this.#token();
    let response = await this.#fetch(path, { method, body, signal, accept, token });
    if (response.status === 401) response = await this.#fetch(path, { method, body, signal, accept, token: await this.#token(token) });
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({}));
    const { status } = response;
    const said = error ?? {
      code: status === 404 ? 'not-found' : 'server-error',
      message: `The runtime answered with status ${status}. Check that \`server\` is its address.`,
      retryable: status >= 500,
      context: { status },
    };
    throw this.#errors.of(said, { missing });
  }

  async #token(stale) {
    try {
      return await this.#tokens.get(stale);
    } catch (error) {
      throw this.#errors.of(error, { disposition: 'not_dispatched' });
    }
  }

  async #fetch(path, { method, body, signal, accept = 'application/json', token }) {
    const url = this.#settings().server + path;
    const headers = { Accept: accept, Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) };
    try {
      return await fetch(url, { method, headers, body, signal, credentials: 'omit' });
    } catch (error) {
      // Whoever gave the signal knows.
      if (signal?.aborted && signal.reason?.name !== 'TimeoutError') throw error;
      throw this.#lost(method);
    }
  }

  #lost(method) {
    const disposition = method === 'GET' ? 'not_dispatched' : 'unknown_after_dispatch';
    const message = 'The runtime could not be reached, or did not answer. Check the connection and `server`, then try again.';
    return this.#errors.make('network', message, { disposition, retryable: true });
  }
}
