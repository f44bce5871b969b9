// What the methods of the agent API do: an application runs turns in sessions of its own, reads
// what it may, and has people decide.

import { credentials } from '../agent/credentials.js';
import { Errors, coded } from '../agent/errors.js';
import { Jobs } from '../agent/jobs.js';
import { observe } from '../agent/observe.js';
import { Requests } from '../agent/requests.js';
import { Sessions, settingsOf } from '../agent/sessions.js';
import { randomId } from '../page.js';

const DECISIONS = ['allowOnce', 'deny'];
const WISHES = ['queue', 'steer'];
/** Conversations that `sessions()` lists. */
const LISTED = 50;

/** The agent API: of an element's or a UI-less client's user, or of one that is given. */
export default class Api {
  #place;
  #errors;
  #jobs;
  #tokens;
  #requests;
  #sessions;
  /** The agent of calls that name none, once it was asked for. */
  #usual;

  constructor(place, MindsetError) {
    this.#place = place;
    this.#errors = new Errors(MindsetError);
    this.#jobs = new Jobs(this.#errors);
    this.#tokens = credentials(place, this.#errors);
    const settings = () => this.#settings();
    this.#requests = new Requests(settings, this.#tokens, this.#errors);
    this.#sessions = new Sessions(place, { settings, tokens: this.#tokens, requests: this.#requests, errors: this.#errors });
  }

  /** Runs one turn; resolves with what it came to. */
  async run(given, options) {
    const { text, sessionId, model, agent, whenBusy, requestId } = this.#object(given, 'run');
    const { onEvent, signal } = this.#options(options);
    this.#text(text, 'text');
    for (const [name, value] of Object.entries({ sessionId, model, agent })) if (value !== undefined) this.#text(value, name);
    if (whenBusy !== undefined && !WISHES.includes(whenBusy)) throw this.#errors.invalid("whenBusy is 'queue' or 'steer'.");
    if (whenBusy === undefined && sessionId && this.#sessions.isLive(sessionId)) {
      throw this.#errors.make('busy', "The session runs a turn. Wait for it, or say whenBusy: 'queue' or 'steer'.", { retryable: true });
    }
    return this.#jobs.run({ requestId, signal }, async (job) => {
      const agentUid = sessionId ? await this.#sessions.agentOf(sessionId) : (agent ?? (await this.#usualAgent()));
      if (agent !== undefined && agent !== agentUid) throw this.#errors.invalid(`A session keeps its agent, and this one's is "${agentUid}". Leave agent out, or begin another session.`);
      const answers = Boolean(onEvent) || this.#shows(sessionId);
      return this.#sessions.run(job, { text, sessionId: sessionId ?? randomId(), agentUid, model, whenBusy }, { onEvent, answers });
    });
  }

  /** Decides an approval: resolves when the decision counts. */
  async reply(given) {
    const { sessionId, requestId, decision } = this.#object(given, 'reply');
    if (!DECISIONS.includes(decision)) throw this.#errors.invalid("decision is 'allowOnce' or 'deny'.");
    this.#text(requestId, 'requestId');
    const call = this.#sessions.asking(requestId);
    if (call && ![undefined, call.sessionId, call.requests.get(requestId)].includes(sessionId)) throw this.#errors.noRequest();
    if (call) return this.#decide(call.held.calls, decision, requestId);
    const own = () => this.#decide(this.#place.calls, decision, requestId);
    const beyond = async () => {
      const asking = await this.#sessions.above(this.#text(sessionId, 'sessionId'));
      return asking !== sessionId && asking === this.#place.calls?.conversationId ? own() : this.#sessions.decide(asking, requestId, decision);
    };
    return this.#ownOr(sessionId, own, beyond);
  }

  /** Answers a questionnaire, or dismisses it; resolves with the result of the turn that goes on. */
  async answer(given, options) {
    const { sessionId, questionId, requestId, answers, dismissed, model } = this.#object(given, 'answer');
    const { onEvent, signal, requestId: name } = this.#options(options);
    const id = this.#text(questionId ?? requestId, 'questionId');
    if (model !== undefined) this.#text(model, 'model');
    if (!dismissed && !Array.isArray(answers)) {
      throw this.#errors.invalid('answers is a list of { stepId, selectedOptionIds?, otherText?, skipped? }; or set dismissed.');
    }
    const word = dismissed ? '' : JSON.stringify(answers);
    return this.#jobs.run({ requestId: name ?? id, signal }, (job) => {
      const beyond = () => {
        const asked = { sessionId: this.#text(sessionId, 'sessionId'), questionId: id, word, model };
        return this.#sessions.answer(job, asked, { onEvent, answers: Boolean(onEvent) || this.#shows(sessionId) });
      };
      return this.#ownOr(sessionId, () => this.#answerOwn(job, word, id), beyond);
    });
  }

  /** Ends a call by the `requestId` that it was given, or the turn that goes on with answers by its question. */
  async cancel(requestId) {
    this.#text(requestId, 'requestId');
    if (await this.#jobs.cancel(requestId)) return;
    throw this.#errors.make('request_not_found', 'Nothing is under way with this requestId.');
  }

  /** Shows a session in an element of the page. */
  async open(sessionId) {
    this.#text(sessionId, 'sessionId');
    const element = this.#element;
    if (!element) throw this.#errors.make('not-ready', 'There is no <mindset-agent> in the page that could show the session. Add one, or use element.agent.');
    const agentUid = await this.#sessions.agentOf(sessionId);
    // Without the attribute the page's session has named the agent, which only a client that asks for it hears.
    const shown = element.agentUid?.trim().split('::')[0] || this.#tokens.agent;
    if (shown && shown !== agentUid) throw this.#errors.make('conflict', `The session is with the agent "${agentUid}" and the element with "${shown}". Show it in an element of its agent.`);
    try {
      await element.switchConversation(sessionId);
    } catch (error) {
      throw this.#errors.of(error);
    }
    element.open = true;
  }

  /** `{ models }` that runs may name. */
  async models() {
    const { models } = await this.#requests.json('GET', '/v1/models');
    return { models };
  }

  /** `{ agents }` that the user may talk to. */
  async agents() {
    const { agents } = await this.#requests.json('GET', '/v1/agents');
    return { agents };
  }

  /** Makes a session without a turn. */
  async create(given = {}) {
    const { agent } = this.#object(given, 'create');
    if (agent !== undefined) this.#text(agent, 'agent');
    const agentUid = agent ?? (await this.#usualAgent());
    const body = { agentUid, agentSession: true };
    const { id } = await this.#requests.json('POST', '/v1/conversations', { body });
    this.#sessions.remember(id, agentUid);
    return { sessionId: id };
  }

  /** `{ sessions }`: the user's conversations, the latest first. */
  async sessions() {
    const { conversations } = await this.#requests.json('GET', `/v1/conversations?agentSession=true&limit=${LISTED}`);
    const shown = ({ id, title, agentUid, createdAt, updatedAt }) => ({ sessionId: id, title, agent: agentUid, createdAt, updatedAt });
    return { sessions: conversations.map(shown) };
  }

  /** One conversation; in a page without an id the one that is shown, if there is one. */
  async session(sessionId = this.#shown) {
    if (sessionId === undefined) {
      if (globalThis.document) return undefined;
      throw this.#errors.invalid('session() needs the sessionId of a conversation: only a page has one that is open.');
    }
    const path = `/v1/conversations/${encodeURIComponent(this.#text(sessionId, 'sessionId'))}?agentSession=true`;
    const { id, state, model, agentUid, reply, title, updatedAt } = await this.#requests.json('GET', path);
    return { sessionId: id, state, model, agent: agentUid, ...(reply !== undefined && { reply }), title, updatedAt };
  }

  /** Tells what happens in the user's conversations; resolves when that ends. */
  async observe(given, options) {
    const { all, sessionId } = this.#object(given, 'observe');
    const { onEvent, signal, requestId } = this.#options(options);
    if ((all === true) === (sessionId !== undefined)) throw this.#errors.invalid('observe() takes { all: true } or { sessionId }.');
    if (!onEvent) throw this.#errors.invalid('observe() needs onEvent, which hears what happens.');
    const query = all ? 'all=true' : `sessionId=${encodeURIComponent(this.#text(sessionId, 'sessionId'))}`;
    const { timing } = this.#settings();
    return this.#jobs.run({ requestId, signal }, (job) => observe(job, { requests: this.#requests, query, onEvent, timing }));
  }

  #settings() {
    const settings = settingsOf(this.#place);
    if (settings.isAgUi) throw this.#errors.invalid("With protocol: 'ag-ui' there is no runtime that could run sessions of an application.");
    if (settings.appUid) return settings;
    throw this.#errors.make('not-ready', 'The element waits for mindset.init({ appUid }) or the attribute app-uid. Call it first.');
  }

  async #usualAgent() {
    const own = this.#settings().agentUid;
    if (own) return own;
    // The page's session may name one, which its first token tells.
    this.#usual ??= this.#askUsual();
    try {
      return await this.#usual;
    } catch (error) {
      this.#usual = undefined;
      throw error;
    }
  }

  async #askUsual() {
    const { agents } = await this.agents();
    const named = this.#tokens.agent;
    const usual = named ?? agents.find((agent) => agent.default)?.agentUid;
    if (usual !== undefined) return usual;
    throw this.#errors.make('agent_not_found', 'The application has no default agent for this user. Name one: agents() lists them.', { disposition: 'reported' });
  }

  /** The element in which sessions are shown. */
  get #element() {
    const { client } = this.#place;
    if (client) return client.shadowRoot ? client : undefined;
    return globalThis.document?.querySelector('mindset-agent') ?? undefined;
  }

  /** The conversation that is shown, or that the client is. */
  get #shown() {
    return this.#place.calls?.conversationId ?? this.#place.shown?.(this.#element);
  }

  /** Whether people see the session, and what it asks. */
  #shows(sessionId) {
    const element = this.#element;
    return sessionId !== undefined && Boolean(element) && !element.headless && this.#shown === sessionId;
  }

  /** Does `own` in the conversation of the element or client itself, `beyond` in other sessions. */
  async #ownOr(sessionId, own, beyond) {
    const { calls } = this.#place;
    const shown = calls?.conversationId;
    if (calls && (sessionId === undefined || sessionId === shown)) return own();
    if (sessionId === undefined) throw this.#errors.noRequest();
    if (!calls || shown !== undefined) return beyond();
    // A new conversation does not say its id yet: whatever is not open in it is another's.
    try {
      return await own();
    } catch (error) {
      if (![coded('request_not_found'), coded('busy')].includes(error.code)) throw error;
      return beyond();
    }
  }

  async #decide(calls, word, id) {
    try {
      return await calls.decide(word, id);
    } catch (error) {
      throw this.#ofOwn(error);
    }
  }

  /** What a conversation that is there refuses with. */
  #ofOwn(error) {
    const { code, message, context } = error;
    if (['network', 'timeout'].includes(code)) return this.#errors.make('agent_outcome_unknown', message, { disposition: 'unknown_after_dispatch', context });
    return this.#errors.of(error, { missing: 'request_not_found', disposition: code === 'busy' ? 'not_dispatched' : 'reported' });
  }

  async #answerOwn(job, word, id) {
    const { calls } = this.#place;
    job.endBy(() => calls.stop());
    const { conversationId, runId, status, text, error, pendingQuestion } = await this.#decide(calls, word, id);
    if (error?.code === 'not-found') throw this.#ofOwn(error);
    const parts = Object.entries({ text, error, pendingQuestion }).filter(([, part]) => part !== undefined);
    return { sessionId: conversationId, turnId: runId, status, ...Object.fromEntries(parts) };
  }

  #object(given, method) {
    if (typeof given === 'object' && given) return given;
    throw this.#errors.invalid(`${method}() takes an object.`);
  }

  #options(options = {}) {
    const { onEvent, signal, requestId } = this.#object(options ?? {}, 'the second argument');
    if (onEvent !== undefined && typeof onEvent !== 'function') throw this.#errors.invalid('onEvent is a function.');
    return { onEvent, signal, requestId };
  }

  #text(given, name) {
    if (typeof given === 'string' && given) return given;
    throw this.#errors.invalid(`${name} is a text, as the event or result gave it.`);
  }
}
