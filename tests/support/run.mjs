// One run of the scripted runtime: an open event stream that a test writes to,
// piece by piece.

import { randomUUID } from 'node:crypto';

import { deferred } from './wait.mjs';

/** An AG-UI run the scripted runtime was asked for. */
export class Run {
  /** @param {import('node:http').ServerResponse} response */
  constructor(request, body, response) {
    /** The request's path and query. */
    this.url = request.url;
    /** The request's headers. */
    this.headers = request.headers;
    /** The text of the request's body. */
    this.body = body;
    /** The decoded `RunAgentInput`. */
    this.input = JSON.parse(body);
    this.messageId = randomUUID();
    this.textOpen = false;
    /** The events so far, as they stand in the stream; their ids are `runId:seq`. */
    this.frames = [];
    /** Whether the last event was sent. */
    this.ended = false;
    this.follow(response);
  }

  /** The connection that reads from now on. */
  follow(response) {
    this.response = response;
    this.open = true;
    /** The connection stands and nothing comes through any more. */
    this.stalled = false;
    const gone = deferred();
    /** Settles when the connection is over, whoever ended it. */
    this.gone = gone.promise;
    response.on('close', () => {
      if (this.response === response) this.open = false;
      gone.resolve();
    });
    response.on('error', () => {});
  }

  /** A reader comes back: what it has not seen, then what follows; 204 when there is nothing more. */
  resume(request, response) {
    const seen = /:(\d+)$/.exec(request.headers['last-event-id'] ?? '')?.[1] ?? 0;
    const rest = this.frames.slice(Number(seen));
    if (this.ended && rest.length === 0) return response.writeHead(204, { 'access-control-allow-origin': '*' }).end();
    this.follow(response);
    this.head().raw(rest.join(''));
    if (this.ended) response.end();
    return undefined;
  }

  /** The text of the last user message. */
  get text() {
    return this.input.messages.filter((message) => message.role === 'user').at(-1)?.content;
  }

  /** The results of page tools that this run brings. */
  get results() {
    return this.input.messages.filter((message) => message.role === 'tool');
  }

  get ids() {
    return { threadId: this.input.threadId, runId: this.input.runId };
  }

  /** Sends the headers and `RUN_STARTED`. */
  start(fields = {}) {
    this.head();
    this.event({ type: 'RUN_STARTED', protocolVersion: '1.0', ...this.ids, ...fields });
    // What may have waited says that it begins.
    if (this.input.forwardedProps?.mindset?.whenBusy) this.event({ type: 'CUSTOM', name: 'mindset.turn_started', value: {} });
    return this;
  }

  /** Sends the headers of an event stream. */
  head() {
    if (!this.response.headersSent) {
      this.response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'access-control-allow-origin': '*',
      });
      this.response.flushHeaders();
    }
    return this;
  }

  /** Sends bytes as they are. */
  raw(bytes) {
    if (this.open && !this.stalled) this.response.write(bytes);
    return this;
  }

  /** Sends one event; it is kept for readers that come back. */
  event(value) {
    this.ended ||= value.type === 'RUN_FINISHED' || value.type === 'RUN_ERROR';
    const frame = `id: ${this.input.runId}:${this.frames.length + 1}\n${Run.frame(value)}`;
    this.frames.push(frame);
    return this.raw(frame);
  }

  /** An event as it stands in the stream. */
  static frame(value) {
    return `data: ${JSON.stringify(value)}\n\n`;
  }

  /** Sends a piece of the answer; the first one begins the message. */
  say(delta) {
    if (!this.textOpen) {
      this.textOpen = true;
      this.event({ type: 'TEXT_MESSAGE_START', messageId: this.messageId, role: 'assistant' });
    }
    return this.event({ type: 'TEXT_MESSAGE_CONTENT', messageId: this.messageId, delta });
  }

  /** Ends the message, so that the next `say` begins another one. */
  endMessage() {
    if (this.textOpen) this.event({ type: 'TEXT_MESSAGE_END', messageId: this.messageId });
    this.textOpen = false;
    this.messageId = randomUUID();
    return this;
  }

  /** Asks for page tools, `[name, arguments, id?]` each, and ends with the calls open. */
  calls(...calls) {
    const pendingToolCallIds = calls.map(([name, args, toolCallId = randomUUID()]) => {
      this.event({ type: 'TOOL_CALL_START', toolCallId, toolCallName: name });
      const delta = typeof args === 'string' ? args : JSON.stringify(args ?? {});
      if (delta) this.event({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
      this.event({ type: 'TOOL_CALL_END', toolCallId });
      return toolCallId;
    });
    this.finish({ type: 'success', pendingToolCallIds });
  }

  /** Ends the run well. */
  finish(outcome = { type: 'success' }, fields = {}) {
    this.endMessage().event({ type: 'RUN_FINISHED', ...this.ids, outcome, ...fields });
    if (!this.stalled) this.response.end();
  }

  /** Ends the run as failed. */
  fail(message, mindset, code) {
    this.event({ type: 'RUN_ERROR', message, ...(code && { code }), ...(mindset && { metadata: { mindset } }) });
    this.response.end();
  }

  /** Answers with something that is no event stream. */
  reply(status, type, body) {
    this.response.writeHead(status, { 'content-type': type, 'access-control-allow-origin': '*' });
    this.response.end(body);
  }

  /** Answers with an error as the runtime writes it. */
  refuse(status, code, message, retryable = false) {
    this.reply(status, 'application/json', JSON.stringify({ error: { code, message, retryable } }));
  }

  /** Breaks the connection without an end. */
  cut() {
    this.response.destroy();
  }

  /** Ends the body cleanly without the final event. */
  end() {
    this.response.end();
  }

  /** The whole stream of a short answer, as text. */
  static transcript(ids, pieces) {
    const messageId = randomUUID();
    return [
      { type: 'RUN_STARTED', protocolVersion: '1.0', ...ids },
      { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
      ...pieces.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })),
      { type: 'TEXT_MESSAGE_END', messageId },
      { type: 'RUN_FINISHED', ...ids, outcome: { type: 'success' } },
    ].map(Run.frame).join('');
  }
}
