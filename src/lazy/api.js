// What the agent API does in the conversation of an element or a UI-less client.

/** What a conversation refuses with, as the agent API calls it, and how far the call came. */
const CODES = {
  'not-found': ['request_not_found', 'reported'],
  busy: ['busy', 'not_dispatched'],
  network: ['agent_outcome_unknown', 'unknown_after_dispatch'],
  timeout: ['agent_outcome_unknown', 'unknown_after_dispatch'],
};
/** In Node codes are upper case, with underscores. */
const isNode = Boolean(globalThis.process?.versions?.node);
const coded = (code) => (isNode ? code.replaceAll('-', '_').toUpperCase() : code);

/** What the methods reject with: `disposition` says how far the call came. */
const errorClass = (MindsetError) =>
  class AgentError extends MindsetError {
    constructor({ disposition = 'not_dispatched', ...info }) {
      super(info);
      this.name = 'AgentError';
      this.disposition = disposition;
    }
  };

const DECISIONS = ['allowOnce', 'deny'];
const UNKNOWN_SESSION = 'this conversation has another id. Take the sessionId of the event or result.';

/** The agent API of one conversation. */
export default class Api {
  #calls;
  #Error;
  /** The questions whose answers are being worked on. */
  #answering = new Set();

  constructor(calls, MindsetError) {
    this.#calls = calls;
    this.#Error = errorClass(MindsetError);
  }

  /** Decides an approval: resolves when the decision counts. */
  async reply(given) {
    const { sessionId, requestId, decision } = this.#object(given, 'reply');
    if (!DECISIONS.includes(decision)) throw this.#failed('invalid-request', "decision is 'allowOnce' or 'deny'.");
    this.#check(sessionId);
    await this.#decide(decision, this.#text(requestId, 'requestId'));
  }

  /** Answers a questionnaire, or dismisses it; resolves with the result of the turn that goes on. */
  async answer(given) {
    const { sessionId, questionId, requestId, answers, dismissed } = this.#object(given, 'answer');
    this.#check(sessionId);
    const id = this.#text(questionId ?? requestId, 'questionId');
    if (!dismissed && !Array.isArray(answers)) {
      throw this.#failed('invalid-request', 'answers is a list of { stepId, selectedOptionIds?, otherText?, skipped? }; or set dismissed.');
    }
    this.#answering.add(id);
    try {
      return this.#result(await this.#decide(dismissed ? '' : JSON.stringify(answers), id));
    } finally {
      this.#answering.delete(id);
    }
  }

  /** Ends the turn that goes on with the answers to this questionnaire. */
  async cancel(requestId) {
    if (!this.#answering.has(requestId)) throw this.#failed('request_not_found', 'nothing is under way with this requestId.');
    await this.#calls.stop();
  }

  #failed(code, message, disposition) {
    return new this.#Error({ code: coded(code), message, disposition });
  }

  #of({ code, message, retryable, context }) {
    const [known, disposition] = CODES[code] ?? [code, 'reported'];
    return new this.#Error({ code: coded(known), message, retryable, context, disposition });
  }

  #object(given, method) {
    if (typeof given === 'object' && given) return given;
    throw this.#failed('invalid-request', `${method}() takes an object.`);
  }

  #text(given, name) {
    if (typeof given === 'string' && given) return given;
    throw this.#failed('invalid-request', `${name} is a text, as the event gave it.`);
  }

  #check(sessionId) {
    const own = this.#calls.conversationId;
    if (sessionId !== undefined && own && sessionId !== own) throw this.#failed('session_not_found', UNKNOWN_SESSION);
  }

  async #decide(word, id) {
    try {
      return await this.#calls.decide(word, id);
    } catch (error) {
      throw this.#of(error);
    }
  }

  #result({ conversationId, runId, status, text, error, pendingQuestion }) {
    if (error?.code === 'not-found') throw this.#of(error);
    const parts = Object.entries({ text, error, pendingQuestion }).filter(([, part]) => part !== undefined);
    return { sessionId: conversationId, turnId: runId, status, ...Object.fromEntries(parts) };
  }
}
