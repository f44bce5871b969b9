// One turn that the application runs: events of the session that it runs in, as the agent API
// tells them, and what it comes to.

import { hearing } from './child.js';
import { coded } from './errors.js';

export class Call {
  sessionId;
  /** What the runtime asks and nobody has answered: request to the session that asks. */
  requests = new Map();
  /** Nothing of it is told: it was cancelled, or has not begun to be its own. */
  isMuted = false;
  /** Whether the server may know of it. */
  wasPosted = false;
  /** The session of the core that it runs in. */
  held;
  /** Hears of work that goes on in the background of the turn. */
  background = () => {};
  #errors;
  #onEvent;
  #turnId;
  #model;
  #began = false;
  /** The message that comes in. */
  #message;

  constructor(sessionId, errors, onEvent) {
    this.sessionId = sessionId;
    this.#errors = errors;
    this.#onEvent = onEvent;
  }

  /** Hears what an agent says that works for the turn. */
  #hearChild = hearing((...told) => this.tell(...told));

  /** Hears what the session says. */
  hear = (event) => {
    if (event.type !== 'text_delta' || event.messageId !== this.#message?.id) this.#commit(event.type);
    this.#hearings[event.type]?.(event);
  };

  #hearings = {
    busy: ({ runId }) => {
      this.#turnId = runId;
      this.wasPosted = true;
    },
    run_queued: ({ position }) => this.tell('run.queued', { position }),
    run_started: (event) => this.#begin(event),
    text_delta: ({ messageId, content }) => {
      this.#message ??= { id: messageId, text: '' };
      this.#message.text += content;
      this.tell('text.delta', { messageId, text: content });
    },
    tool_start: ({ toolCallId, toolName }) => this.tell('tool.started', { toolCallId, toolName }),
    tool_end: ({ toolCallId, toolName, ok }) => this.tell('tool.finished', { toolCallId, toolName, ok }),
    permission_requested: ({ requestId, toolCallId, toolName, reason, toolInput, sessionId = this.sessionId }) => {
      this.requests.set(requestId, sessionId);
      this.tell('permission.requested', { requestId, toolCallId, toolName, reason, ...(toolInput && { toolInput }) }, sessionId);
    },
    permission_resolved: ({ requestId, decision }) => {
      const sessionId = this.requests.get(requestId) ?? this.sessionId;
      this.requests.delete(requestId);
      this.tell('permission.resolved', { requestId, decision }, sessionId);
    },
    child: (child) => {
      const { event = child } = child;
      if (event.name === 'mindset.child') this.background(event.value);
      else if (child.event) this.#hearChild(event);
      else this.background(child);
    },
    question_requested: ({ questionId, questionnaire }) => this.tell('question.requested', { questionId, requestId: questionId, request: questionnaire }),
  };

  /** Tells the application. */
  tell(type, fields, sessionId = this.sessionId) {
    if (this.isMuted || !this.#onEvent) return;
    const turnId = this.#turnId && { turnId: this.#turnId };
    try {
      this.#onEvent(Object.freeze({ type, sessionId, ...turnId, ...fields }));
    } catch (error) {
      // A listener of the application is its own business.
      console.error(error);
    }
  }

  /** What the turn came to, told and given. Throws why there was none. */
  settle({ status, text, runId, error, pendingQuestion }) {
    const turnId = runId || this.#turnId;
    if (status === 'steered') return { sessionId: this.sessionId, ...(turnId && { turnId }), status };
    if (status === 'aborted' && !this.#began) throw this.#errors.cancelled(this.wasPosted ? 'reported' : 'not_dispatched');
    if (status === 'error' && (!this.#began || error.context?.outcome === 'unknown' || !runId)) {
      throw this.#errors.ofTurn(error, { wasPosted: this.wasPosted, isKnown: Boolean(runId) });
    }
    this.#begin({ runId: turnId });
    const result = { status };
    if (this.#model !== undefined) result.model = this.#model;
    if (text !== undefined) result.text = text;
    if (error) result.error = { ...error, code: coded(error.code) };
    if (pendingQuestion) result.pendingQuestion = pendingQuestion;
    this.tell('turn.finished', result);
    return { sessionId: this.sessionId, turnId: this.#turnId, ...result };
  }

  #begin({ runId, model }) {
    if (this.#began) return;
    this.#began = true;
    this.#turnId = runId;
    this.#model = model;
    this.tell('turn.started', model === undefined ? {} : { model });
  }

  /** The message is whole when something else comes; one that was broken off is none. */
  #commit(next) {
    const message = this.#message;
    if (!message || next === 'connection') return;
    this.#message = undefined;
    if (next !== 'run_error') this.tell('message.committed', { messageId: message.id, text: message.text });
  }
}
