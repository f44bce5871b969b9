// The sessions that an application runs turns in: each turn is a session of the core of its own,
// without a panel, for as long as it takes.

import { absolute, origin } from '../page.js';
import { Background } from './background.js';
import { Call } from './call.js';
import { coded } from './errors.js';
import { Held } from './held.js';
import { line } from './line.js';

/** Sessions whose agent is remembered. */
const KNOWN = 1_000;
/** Sessions that wait here for answers; those of others are read anew when answers come. */
const KEPT = 100;

export class Sessions {
  /** Calls whose turns are under way. */
  #live = new Set();
  #place;
  #settings;
  #tokens;
  #requests;
  #errors;
  /** The agent of each session that this client has seen. */
  #agents = new Map();
  /** Sessions that wait for answers, and hold what else was decided in them. */
  #kept = new Map();

  constructor(place, { settings, tokens, requests, errors }) {
    this.#place = place;
    this.#settings = settings;
    this.#tokens = tokens;
    this.#requests = requests;
    this.#errors = errors;
  }

  /** Runs a turn. */
  async run(job, { text, sessionId, agentUid, model, whenBusy }, { onEvent, answers }) {
    const call = this.#call(sessionId, onEvent);
    const leave = await this.#room(job, call, whenBusy);
    const held = this.#hold({ sessionId, agentUid, answers, call: { model, whenBusy } });
    const say = async () => {
      held.hear = call.hear;
      const result = await held.calls.sendMessage(text);
      if (result.status !== 'error') this.remember(sessionId, agentUid);
      return result;
    };
    try {
      return await this.#turn(job, call, { held, leave, say });
    } catch (error) {
      throw await this.#whyBusy(error, sessionId);
    }
  }

  #call(sessionId, onEvent) {
    const call = new Call(sessionId, this.#errors, onEvent);
    const background = new Background(call, this.#requests, this.#settings().timing);
    if (onEvent) call.background = (child) => background.hear(child);
    return call;
  }

  /** A session that waits for answers is busy until they come. */
  async #whyBusy(error, sessionId) {
    if (error.code !== coded('busy')) return error;
    const { openInterrupts = [] } = await this.#stored(sessionId).catch(() => ({}));
    if (!openInterrupts.some(({ reason }) => reason === 'input_required')) return error;
    const message = 'The session waits for answers to its questionnaire. Answer or dismiss it with answer() first.';
    return this.#errors.make('question_pending', message, { disposition: 'reported' });
  }

  /** Answers a questionnaire; gives what the turn that goes on comes to. */
  async answer(job, { sessionId, questionId, word, model }, { onEvent, answers }) {
    const conversation = await this.#asking(sessionId, questionId, 'session_not_found');
    const call = this.#call(sessionId, onEvent);
    const leave = await this.#room(job, call);
    const held = this.#waiting(sessionId, { answers, model }) ?? this.#read(sessionId, conversation, { answers, model });
    const say = async () => {
      await held.opened;
      held.hear = call.hear;
      const result = await held.calls.decide(word, questionId);
      held.questions.delete(questionId);
      held.hasWords ||= !call.wasPosted;
      return result;
    };
    return this.#turn(job, call, { held, leave, say, missing: 'request_not_found' });
  }

  /** Decides an approval of a turn that another client has begun, or this one in an earlier life. */
  async decide(sessionId, requestId, decision) {
    const conversation = await this.#asking(sessionId, requestId, 'request_not_found');
    const held = this.#kept.get(sessionId) ?? this.#hold({ sessionId, agentUid: conversation.agentUid, answers: true, call: { reads: true } });
    this.#kept.set(sessionId, held);
    held.users += 1;
    try {
      await held.opened;
      // It counts when all that the step asks is decided.
      await held.calls.decide(decision, requestId);
    } catch (error) {
      throw this.#errors.of(error, { missing: 'request_not_found' });
    } finally {
      held.users -= 1;
      if (!held.users && !held.questions.size) {
        this.#kept.delete(sessionId);
        held.close();
      }
    }
  }

  /** What waits here for the answers to a session's questionnaire, if it will do. */
  #waiting(sessionId, { answers, model }) {
    const held = this.#kept.get(sessionId);
    this.#kept.delete(sessionId);
    if (!held || held.hasWords || (held.answers === answers && model === undefined)) return held;
    held.close();
    return undefined;
  }

  /** The session as it is stored. */
  #read(sessionId, { agentUid, openInterrupts }, { answers, model }) {
    if (!openInterrupts.some(({ reason }) => reason === 'tool_call')) return this.#hold({ sessionId, agentUid, answers, call: { model, reads: true } });
    throw this.#errors.make('busy', 'The turn waits for an approval besides. Decide that with reply() first.', { disposition: 'reported', retryable: true });
  }

  /** A session of the application's in which something with this id is open. */
  async #asking(sessionId, requestId, missing) {
    const conversation = await this.#stored(sessionId, missing);
    const { openInterrupts = [] } = conversation;
    if (!(await this.#isOwn(conversation))) throw this.#errors.noSession();
    if (openInterrupts.some(({ id }) => id === requestId)) return conversation;
    throw this.#errors.noRequest();
  }

  /** Whether the application has begun it, or what has handed it its work, or it is below the conversation of the element. */
  async #isOwn({ id, owner, parentId }) {
    if (owner !== 'child' || parentId === undefined) return owner === 'app' || (owner === 'user' && id === this.#place.calls?.conversationId);
    return this.#isOwn(await this.#stored(parentId));
  }

  /** The session by which this one asks people: of a child that the one which waits for its work. */
  async above(sessionId) {
    const { owner, parentId, background } = await this.#stored(sessionId, 'request_not_found');
    return owner === 'child' && parentId !== undefined && !background ? this.above(parentId) : sessionId;
  }

  /** Whether this client runs a turn in the session. */
  isLive(sessionId) {
    return [...this.#live].some((call) => call.sessionId === sessionId);
  }

  /** The call of whose turn this approval is. */
  asking(requestId) {
    return [...this.#live].find((call) => call.requests.has(requestId));
  }

  /** The agent of one of the application's sessions. */
  async agentOf(sessionId) {
    const known = this.#agents.get(sessionId);
    if (known !== undefined) return known;
    const { owner, agentUid } = await this.#stored(sessionId);
    if (owner !== 'app') throw this.#errors.noSession();
    this.remember(sessionId, agentUid);
    return agentUid;
  }

  remember(sessionId, agentUid) {
    if (this.#agents.size >= KNOWN) this.#agents.delete(this.#agents.keys().next().value);
    this.#agents.set(sessionId, agentUid);
  }

  #stored(sessionId, missing) {
    return this.#requests.json('GET', `/v1/conversations/${encodeURIComponent(sessionId)}`, { missing });
  }

  /** Waits for a stream; what is read by a turn that runs needs none for long. */
  async #room(job, call, whenBusy) {
    const leave = whenBusy === 'steer' ? () => {} : await line.enter((position) => call.tell('run.queued', { position }), job.signal);
    if (!job.isCancelled) return leave;
    leave();
    throw job.signal.reason;
  }

  async #turn(job, call, { held, leave, say, missing }) {
    const { sessionId } = call;
    try {
      call.held = held;
      this.#live.add(call);
      job.endBy(() => {
        call.isMuted = true;
        held.calls.stop();
      });
      const result = await say();
      if (result.pendingQuestion) this.#keep(sessionId, held);
      return call.settle(result);
    } catch (error) {
      throw this.#errors.of(error, { missing });
    } finally {
      this.#live.delete(call);
      held.hear = () => {};
      if (this.#kept.get(sessionId) !== held) held.close();
      leave();
    }
  }

  /** It waits for answers. */
  #keep(sessionId, held) {
    for (const [id, oldest] of this.#kept) {
      if (this.#kept.size < KEPT) break;
      this.#kept.delete(id);
      oldest.close();
    }
    this.#kept.set(sessionId, held);
  }

  #hold({ sessionId, agentUid, answers, call }) {
    const { server, appUid, timing } = this.#settings();
    let token;
    const ask = async () => (token = await this.#tokens.get(token));
    const given = { server, appUid, agentUid, timing, trusted: origin(server), ask, conversationId: sessionId, approvals: answers ? 'ask' : undefined, call };
    const fail = (info) => this.#errors.of(info, { disposition: 'not_dispatched' });
    return new Held((hear) => this.#place.loader.connect(given, hear), answers, fail);
  }
}

/** Where the runtime is, and as what it is spoken to, for an element or a client. */
export function settingsOf({ given, loader, client }) {
  const own = given ?? client.given;
  if (own) return own;
  const { server, appUid, timing, isAgUi } = loader.wanted ?? {};
  return {
    server: (client.server && absolute(client.server)) ?? server ?? loader.server,
    appUid: client.appUid ?? appUid,
    agentUid: client.agentUid ?? undefined,
    timing,
    isAgUi,
  };
}
