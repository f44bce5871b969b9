// A runtime whose every answer a test decides. It speaks the wire of the real one
// (anonymous sign-in, runs as event streams, cancel), serves the built package and
// host pages with any headers, and remembers what it was asked.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';

import { built, wasmName } from './paths.mjs';
import { policy, withoutInline } from './policy.mjs';
import { Waiting } from './queue.mjs';
import { Run } from './run.mjs';
import { until } from './wait.mjs';

const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.map': 'application/json',
  '.wasm': 'application/wasm',
};

const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
};

/** A server on a free loopback port. */
export class ScriptedRuntime {
  /** Starts one. */
  static async start(port = 0) {
    const runtime = new ScriptedRuntime();
    runtime.server = createServer((request, response) => {
      runtime.handle(request, response).catch((error) => {
        runtime.faults.push(error);
        response.destroy();
      });
    });
    await new Promise((resolve, reject) => {
      runtime.server.once('error', reject);
      runtime.server.listen(port, '127.0.0.1', resolve);
    });
    runtime.port = runtime.server.address().port;
    runtime.origin = `http://127.0.0.1:${runtime.port}`;
    return runtime;
  }

  constructor() {
    this.faults = [];
    this.reset();
  }

  /** Forgets everything a test changed. */
  reset() {
    for (const run of this.runs ?? []) if (run.open) run.cut();
    /** Every run asked for, oldest first. */
    this.runs = [];
    /** Run ids of which a cancel was asked for. */
    this.cancels = [];
    /** New pass-through parameters for runs: `[runId, body]`. */
    this.updates = [];
    /** Conversations that the server keeps, by id; `{ messages, openCalls?, activeRun?, … }`. */
    this.conversations = new Map();
    /** What was thought of answers: `[messageId, body]`. */
    this.feedback = [];
    this.refusesFeedback = false;
    /** Messages that wait. */
    this.waiting = new Waiting();
    /** What the user lets the application do. */
    this.permissions = { run: true, read: true, declared: { run: false, read: false } };
    /** Refuses to change that, if it gives a status, a code and words. */
    this.onPermit = () => undefined;
    /** Whether readers of a run may come back for the rest; without it the log is gone. */
    this.resumes = false;
    /** Positions of those that came back: `Last-Event-ID` of each, or null. */
    this.resumed = [];
    /** Bodies of anonymous sign-ins. */
    this.signIns = [];
    /** `METHOD path` of every request. */
    this.requests = [];
    /** Tokens the server accepts; `null` accepts any. */
    this.tokens = null;
    /** Every upload: `{ name, authorization }`. */
    this.uploads = [];
    /** What files the agent takes. */
    this.onUploadTerms = () => ({ enabled: true, types: ['image/png', 'application/pdf'], maxBytes: 20971520, maxFiles: 10 });
    /** How conversations of the agent begin. */
    this.onAgent = () => ({ starters: [] });
    /** Answers an observer. */
    this.onObserve = (_request, response) => refuse(response, 403, 'forbidden', 'not here');
    /** Answers an upload, or nothing for the usual answer. */
    this.onUpload = undefined;
    this.pages = new Map();
    /** Sources that the strict policy of pages allows beside its own, by directive. */
    this.sources = {};
    this.taken = 0;
    /** What a run does. */
    this.onRun = (run) => run.start().say('You said: ').say(`${run.text}.`).finish();
    /** What a cancel does to the run it names. */
    this.onCancel = (run) => run?.open && run.finish({ type: 'cancelled' });
    /** Answers a sign-in. */
    this.onSignIn = (_body, count) => ({
      authToken: `token-${count}`,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      anonymousKey: `key-${count}`,
    });
    /** Refuses a list of conversations, if it gives a status, a code and words. */
    this.onList = () => undefined;
    /** Conversations in one answer. */
    this.listed = 100;
    /** Answers a request for the wasm, or gives `undefined` for the usual answer. */
    this.onWasm = () => undefined;
    /** The same for its later part. */
    this.onLater = () => undefined;
  }

  /** A run that brings no results asks for these page tools; the one that does says `text`. */
  asksFor(calls, text = 'Done.') {
    this.onRun = (run) => (run.results.length ? run.start().say(text).finish() : run.start().calls(...calls));
  }

  /** The messages that answered page tools, of all runs. */
  get results() {
    return this.runs.flatMap((run) => run.results);
  }

  /** Leaves runs open, for the test to write them. */
  hold() {
    this.onRun = () => {};
    this.taken = this.runs.length;
  }

  /** The next run nobody took yet. */
  async nextRun() {
    const run = await until(() => this.runs[this.taken], 'a run to be asked for');
    this.taken += 1;
    return run;
  }

  /** Streams that are open now. */
  get live() {
    return this.runs.filter((run) => run.open).length;
  }

  /**
   * Serves `body` under `path`; gives its address. A page has the strict policy, and what stands
   * in it as files of its own, unless `headers` name another policy (`null` for none).
   */
  page(path, body, headers = {}) {
    const type = TYPES[extname(path)] ?? 'text/html; charset=utf-8';
    const key = 'content-security-policy';
    const { [key]: own, ...rest } = headers;
    const isStrict = type.startsWith('text/html') && own === undefined;
    if (isStrict) body = withoutInline(body, (kind, text) => new URL(this.page(`/inline-${this.pages.size}.${kind}`, text)).pathname);
    const csp = isStrict ? policy(this.sources) : own;
    this.pages.set(path, { body, headers: { 'content-type': type, ...rest, ...(csp && { [key]: csp }) } });
    return this.origin + path;
  }

  /** Ends the server and every connection. */
  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    if (this.faults.length > 0) throw new AggregateError(this.faults, 'the scripted runtime failed');
  }

  async handle(request, response) {
    const { pathname } = new URL(request.url, this.origin);
    this.requests.push(`${request.method} ${pathname}`);
    if (request.method === 'OPTIONS') return this.preflight(request, response);
    const page = this.pages.get(pathname);
    if (pathname === '/favicon.ico') return response.writeHead(204).end();
    if (page) {
      response.writeHead(200, page.headers);
      return response.end(page.body);
    }
    if (pathname.endsWith('.wasm')) return this.wasm(request, response);
    if (/^\/mindset-[\w.-]+$/.test(pathname)) return send(response, 200, TYPES[extname(pathname)], readFileSync(built(pathname.slice(1))), ANY_ORIGIN);
    const body = await text(request);
    if (pathname.startsWith('/ag-ui/')) return this.foreign(request, body, response);
    if (pathname === '/v1/anonymous') return this.signIn(body, response);
    if (pathname === '/v1/observe') return this.onObserve(request, response);
    if (/^\/v1\/agents\/[^/]+\/runs$/.test(pathname)) return this.run(request, body, response);
    if (/^\/v1\/agents\/[^/]+$/.test(pathname)) return send(response, 200, 'application/json', JSON.stringify(this.onAgent()), ANY_ORIGIN);
    const update = /^\/v1\/runs\/([^/]+)\/passthrough-params$/.exec(pathname);
    if (update) {
      this.updates.push([decodeURIComponent(update[1]), body]);
      return send(response, 200, 'application/json', '{"state":"running"}', ANY_ORIGIN);
    }
    const events = /^\/v1\/runs\/([^/]+)\/events$/.exec(pathname)?.[1];
    if (events) return this.events(decodeURIComponent(events), request, response);
    const judged = /^\/v1\/messages\/([^/]+)\/feedback$/.exec(pathname);
    if (judged && this.refusesFeedback) return refuse(response, 503, 'server-error', 'not now', true);
    if (judged) {
      this.feedback.push([decodeURIComponent(judged[1]), JSON.parse(body)]);
      return response.writeHead(204, ANY_ORIGIN).end();
    }
    const waits = /^\/v1\/runs\/([^/]+)$/.exec(pathname);
    if (waits) return this.json(response, ...this.waiting.change(request.method, decodeURIComponent(waits[1]), body));
    const resumed = /^\/v1\/conversations\/([^/]+)\/queue\/resume$/.exec(pathname);
    if (resumed) return this.json(response, 200, this.waiting.resume(decodeURIComponent(resumed[1])));
    if (pathname === '/v1/me/permissions') return this.permit(request, body, response);
    const conversation = /^\/v1\/conversations(?:\/([^/]+))?$/.exec(pathname);
    if (conversation) return this.conversation(conversation[1] && decodeURIComponent(conversation[1]), request, body, response);
    if (pathname.startsWith('/v1/uploads')) return this.upload(request, body, response);
    const cancel = /^\/v1\/runs\/([^/]+)\/cancel$/.exec(pathname);
    if (cancel) return this.cancel(decodeURIComponent(cancel[1]), response);
    return refuse(response, 404, 'not-found', `nothing is served at ${pathname}`);
  }

  preflight(request, response) {
    response.writeHead(204, {
      ...ANY_ORIGIN,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '*',
      'access-control-max-age': '600',
    });
    response.end();
  }

  async wasm(request, response) {
    const { pathname } = new URL(request.url, this.origin);
    const bytes = readFileSync(built(pathname.slice(1)));
    const answer = await (pathname === `/${wasmName()}` ? this.onWasm : this.onLater)(bytes, request);
    const { status = 200, type = TYPES['.wasm'], body = bytes } = answer ?? {};
    send(response, status, type, body, ANY_ORIGIN);
  }

  signIn(body, response) {
    this.signIns.push(JSON.parse(body));
    const answer = this.onSignIn(this.signIns.at(-1), this.signIns.length);
    if (answer.refuse) return refuse(response, ...answer.refuse);
    if (answer.html) return send(response, 200, 'text/html', answer.html, ANY_ORIGIN);
    return send(response, 200, 'application/json', JSON.stringify(answer), ANY_ORIGIN);
  }

  async run(request, body, response) {
    const run = new Run(request, body, response);
    this.runs.push(run);
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (!token) return run.refuse(401, 'invalid-auth', 'the request carries no token');
    if (this.tokens && !this.tokens.includes(token)) {
      return run.refuse(401, 'auth-expired', 'the token is past its end: ask for a new one', true);
    }
    if (request.headers.accept === 'application/json') {
      this.runs.pop();
      return this.json(response, 202, this.waiting.take(run.input));
    }
    const waited = this.waiting.find(run.input.runId);
    if (waited) run.input.messages.at(-1).content = waited.text;
    this.waiting.remove(run.input.runId);
    await this.onRun(run);
    return undefined;
  }

  json(response, status, value) {
    if (status === 204) return response.writeHead(204, ANY_ORIGIN).end();
    return send(response, status, 'application/json', JSON.stringify(value), ANY_ORIGIN);
  }

  /** What the application may do. */
  permit(request, body, response) {
    const refusal = request.method === 'PUT' && this.onPermit();
    if (refusal) return refuse(response, ...refusal);
    if (request.method === 'PUT') Object.assign(this.permissions, JSON.parse(body));
    return this.json(response, 200, this.permissions);
  }

  /** The rest of a run's stream. */
  events(runId, request, response) {
    this.resumed.push(request.headers['last-event-id'] ?? null);
    const run = this.runs.findLast(({ input }) => input.runId === runId);
    if (run && this.resumes) return run.resume(request, response);
    return refuse(response, 404, 'not-found', 'there is no such run');
  }

  /** Limits, a file that comes, or one that is taken back. */
  upload(request, body, response) {
    const answer = (status, value) => send(response, status, 'application/json', JSON.stringify(value), ANY_ORIGIN);
    if (request.method === 'GET') return answer(200, this.onUploadTerms());
    if (request.method === 'DELETE') return response.writeHead(204, ANY_ORIGIN).end();
    const name = /filename="([^"]*)"/.exec(body)?.[1];
    this.uploads.push({ name, authorization: request.headers.authorization });
    const own = this.onUpload?.();
    if (own) return answer(own.status, own.body);
    return answer(201, { uploadId: `upload-${this.uploads.length}`, name, mimeType: 'image/png', size: body.length });
  }

  /** One conversation, or without an id all of them. */
  conversation(id, request, body, response) {
    const answer = (value) => send(response, 200, 'application/json', JSON.stringify(value), ANY_ORIGIN);
    const whole = (id, known) => ({ id, title: '', agentUid: 'support', openCalls: [], openInterrupts: [], queue: this.waiting.of(id), ...known });
    if (!id) return this.list(request, response, answer, whole);
    const known = this.conversations.get(id);
    if (!known) return refuse(response, 404, 'not-found', 'there is no such conversation');
    if (request.method === 'PATCH') {
      known.title = JSON.parse(body).title;
      return answer(whole(id, known));
    }
    if (request.method === 'DELETE') {
      this.conversations.delete(id);
      return response.writeHead(204, ANY_ORIGIN).end();
    }
    const before = new URL(request.url, this.origin).searchParams.get('before');
    const messages = known.messages.slice(0, before ? known.messages.findIndex((message) => message.id === before) : undefined);
    const newest = messages.slice(-200);
    return answer(whole(id, { ...known, messages: newest, ...(newest.length < messages.length && { before: newest[0].id }) }));
  }

  /** A page of all conversations. */
  list(request, response, answer, whole) {
    const refusal = this.onList();
    if (refusal) return refuse(response, ...refusal);
    const from = Number(new URL(request.url, this.origin).searchParams.get('cursor') ?? 0);
    const all = [...this.conversations].map(([id, known]) => {
      const { title, agentUid, updatedAt } = whole(id, known);
      return { id, title, agentUid, updatedAt };
    });
    const to = from + this.listed;
    return answer({ conversations: all.slice(from, to), ...(to < all.length && { next: String(to) }) });
  }

  /** Below `/ag-ui/` stands a server that knows AG-UI and nothing of ours. */
  async foreign(request, body, response) {
    const run = new Run(request, body, response);
    this.runs.push(run);
    await this.onRun(run);
  }

  cancel(runId, response) {
    this.cancels.push(runId);
    send(response, 200, 'application/json', '{"state":"cancelled"}', ANY_ORIGIN);
    this.onCancel(this.runs.findLast((run) => run.input.runId === runId));
  }
}

function send(response, status, type, body, headers = {}) {
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(body);
}

function refuse(response, status, code, message, retryable = false) {
  send(response, status, 'application/json', JSON.stringify({ error: { code, message, retryable } }), ANY_ORIGIN);
}

async function text(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
