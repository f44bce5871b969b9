// Work that goes on in the background of a turn: events of its own sessions, for as long as it goes on, also when
// the turn is over. Each run of it is read from its beginning; while it waits for people the runtime is asked now
// and then how it stands, which says as well that somebody is there who can answer.

import { hearing } from './child.js';
import { coded } from './errors.js';
import { line } from './line.js';
import { events } from './observe.js';

/** What the runtime is asked again after, in milliseconds: work that waits, and a connection that broke. */
const TIMES = { heartbeat: 45_000, child: 2_000, backoff: 1_000 };

/** The work of one turn, and what that hands on. */
export class Background {
  #call;
  #requests;
  #times;
  /** What each session is looked at anew by. */
  #wakes = new Map();

  /** `call` tells the application; `requests` are those of its client. */
  constructor(call, requests, timing) {
    this.#call = call;
    this.#requests = requests;
    this.#times = { ...TIMES, ...timing };
  }

  /** Hears how work stands. */
  hear({ sessionId, runId }) {
    const wake = this.#wakes.get(sessionId);
    if (wake) return wake();
    // It stays: what is over is not read again.
    this.#wakes.set(sessionId, () => {});
    return this.#follow(sessionId, runId);
  }

  async #follow(sessionId, runId) {
    const child = { asked: new Map(), text: undefined, turnId: undefined, began: false };
    const tell = (type, fields, id = sessionId) => {
      if (type === 'message.committed' && id === sessionId) child.text = fields.text;
      if (!this.#call.isMuted) this.#call.tell(type, { turnId: child.turnId, ...fields }, id);
    };
    const hear = hearing(tell);
    for (let run = runId; ; ) {
      const end = await this.#read(run, (event) => {
        begin(child, event, tell);
        if (event.name === 'mindset.child') this.hear(event.value);
        resolved(child, event, tell);
        hear({ subagentRunId: sessionId, ...event });
      });
      if (!end) return;
      const { type, interrupts = [] } = end.outcome ?? {};
      if (type !== 'interrupt') return void tell('turn.finished', result(end, child.text));
      for (const interrupt of interrupts) ask(child, interrupt, tell);
      const { next, state } = await this.#next(sessionId, run);
      if (state) tell('turn.finished', { status: state === 'error' ? 'error' : 'aborted' });
      if (next === undefined) return;
      run = next;
    }
  }

  /** Reads a run to its end, which it gives; `undefined`: nobody knows it any more. */
  async #read(run, hear) {
    const leave = await line.enter(() => {}, new AbortController().signal);
    let told = 0;
    let end;
    try {
      while (!end && !this.#call.isMuted) {
        let at = 0;
        const hearNew = (event) => {
          at += 1;
          if (at <= told) return;
          told = at;
          hear(event);
          if (event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR') end = event;
        };
        const path = `/v1/runs/${encodeURIComponent(run)}/events`;
        const isGone = await this.#stream(path, hearNew);
        if (isGone) return undefined;
        if (!end) await this.#pause(this.#times.backoff);
      }
    } finally {
      leave();
    }
    return end;
  }

  /** Reads until the connection breaks; `true`: the runtime refuses it. */
  async #stream(path, hear) {
    try {
      const { body } = await this.#requests.open(path, { accept: 'text/event-stream' });
      await events(body, { silence: this.#times.heartbeat }, hear);
      return false;
    } catch (error) {
      return error.disposition === 'reported' && !error.retryable;
    }
  }

  /** `{ next }`, the run that goes on after this one, once there is one; with `state`: how it ended without. */
  async #next(sessionId, run) {
    while (!this.#call.isMuted) {
      await this.#pause(this.#times.child, sessionId);
      try {
        const { activeRun, lastRun } = await this.#requests.json('GET', `/v1/conversations/${encodeURIComponent(sessionId)}`);
        const known = activeRun ?? lastRun;
        if (known?.runId !== run) return { next: known?.runId };
        if (known.state !== 'waiting') return { state: known.state };
      } catch (error) {
        if (error.disposition === 'reported' && !error.retryable) return {};
      }
    }
    return {};
  }

  /** Waits, or until more is heard of the session. */
  #pause(millis, sessionId) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, millis);
      if (sessionId !== undefined) this.#wakes.set(sessionId, () => (clearTimeout(timer), resolve()));
    });
  }
}

/** Tells that it waits, and that it begins, which each of its runs says. */
function begin(child, { type, name, value, metadata }, tell) {
  if (type === 'RUN_STARTED' || name === 'mindset.turn_started') child.turnId = metadata?.mindset?.turnId ?? child.turnId;
  if (child.began) return;
  if (name === 'mindset.run_queued') tell('run.queued', { position: value.position });
  if (name !== 'mindset.turn_started') return;
  child.began = true;
  tell('turn.started', value.model === undefined ? {} : { model: value.model });
}

/** Tells what people are asked: of an interrupt of the run. */
function ask(child, { id, reason, toolCallId, message, metadata }, tell) {
  const { questionnaire, sessionId, toolName, toolInput, reason: why = message } = metadata?.mindset ?? {};
  if (questionnaire) return tell('question.requested', { questionId: id, requestId: id, request: questionnaire });
  if (reason !== 'tool_call') return undefined;
  child.asked.set(toolCallId, { id, sessionId });
  return tell('permission.requested', { requestId: id, toolCallId, toolName, reason: why, ...(toolInput && { toolInput }) }, sessionId);
}

/** Tells what was decided, which the next run shows: the call begins, or has a result without. */
function resolved(child, { type, name, value, toolCallId = value?.toolCallId }, tell) {
  const isBegun = name === 'mindset.tool_start';
  const asked = child.asked.get(toolCallId);
  if (!asked || !(isBegun || type === 'TOOL_CALL_RESULT')) return;
  child.asked.delete(toolCallId);
  tell('permission.resolved', { requestId: asked.id, decision: isBegun ? 'allowOnce' : 'deny' }, asked.sessionId);
}

/** What the work came to, by the last event of its last run. */
function result({ type, outcome, message, code, metadata }, text) {
  const { reason, retryable = false, bound } = metadata?.mindset ?? {};
  const said = text === undefined ? {} : { text };
  if (type === 'RUN_ERROR') return { status: 'error', ...said, error: { code: coded(code ?? reason ?? 'server-error'), message, retryable } };
  return { status: outcome?.type === 'cancelled' && !bound ? 'aborted' : 'finished', ...said };
}
