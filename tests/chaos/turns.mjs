// Turns of a chaos test, and what must hold of each: it is answered in full, or its error
// says why and the message can be sent again; no text comes twice; no call runs twice.

import assert from 'node:assert/strict';

import { sentence } from '../support/expect.mjs';
import { SIGNED } from './model.mjs';

/** So often a message is sent again before the test says that it cannot be answered. */
const AGAIN = 12;

/** One message of ten needs somebody who allows it. */
const isSigned = (number) => number % 10 === 5;

/** The texts in a turn's events, by message, in their order. */
function texts(events) {
  const byMessage = new Map();
  for (const { type, messageId, content } of events) {
    if (type === 'text_delta') byMessage.set(messageId, (byMessage.get(messageId) ?? '') + content);
  }
  return [...byMessage.values()];
}

const isSigning = (call) => call.includes('sign-');

/** The answers of the model in which a text may have begun. */
const begins = (answers, text) => answers.some((answer) => answer.text.startsWith(text));

/** One chat's turns, and what it must look like in the end. */
export class Talk {
  constructor(stage, chat, name) {
    this.stage = stage;
    this.chat = chat;
    this.name = name;
    /** What was sent, and what came of it. */
    this.sent = [];
    /** Turns that ended in an error, by its reason. */
    this.errors = {};
  }

  /** Sends message number `number` until it is answered in full. */
  async turn(number) {
    for (let attempt = 1; attempt <= AGAIN; attempt += 1) {
      const text = `${this.name} message ${number}, attempt ${attempt}${isSigned(number) ? `, ${SIGNED}` : ''}`;
      const { result, events } = await this.chat.send(text);
      // What has begun is in the store, however it ended.
      const isAccepted = events.some(({ type }) => type === 'run_started');
      this.sent.push({ text, status: result.status, isAccepted });
      if (result.status === 'finished') return this.#answered(text, result, events);
      this.#explained(text, result, events);
    }
    throw new Error(`${this.name} message ${number} was not answered in ${AGAIN} attempts: ${JSON.stringify(this.errors)}`);
  }

  /** How many turns ended in an error. */
  get failed() {
    return Object.values(this.errors).reduce((sum, count) => sum + count, 0);
  }

  #answered(text, result, events) {
    const answers = this.stage.model.to(text);
    const whole = answers.map((answer) => answer.text);
    assert.deepEqual(texts(events), whole, `each text of ${text} came once and whole`);
    assert.equal(result.text, whole.at(-1));
    const names = events.map(({ type }) => type);
    for (const once of ['run_started', 'complete', 'run_finished']) {
      assert.equal(names.filter((name) => name === once).length, 1, `${once} of ${text}: ${names.join(' ')}`);
    }
    const [asking, answering] = answers;
    assert.equal(answers.length, 2, `${text} took two calls of the model: ${JSON.stringify(answers)}; ${names.join(' ')}; ${JSON.stringify(result)}`);
    assert.ok(asking.calls.some(({ call }) => call.startsWith('mark')), `${text} called the page tool`);
    const asked = asking.calls.filter(({ call }) => isSigning(call)).map(({ id }) => id);
    // Where the MCP server was out of reach, its tools are not there.
    const isThere = asking.calls.some(({ call }) => !call.startsWith('mark'));
    assert.equal(asked.length, isThere && text.includes(SIGNED) ? 1 : 0, `${text} is signed if it says so`);
    assert.deepEqual([...new Set(events.filter(({ type }) => type === 'permission_requested').map(({ toolCallId }) => toolCallId))], asked, `${text} asked before it signed`);
    assert.deepEqual(answering.results.length, asking.calls.length, `every call of ${text} has its result`);
    const ended = events.filter(({ type }) => type === 'tool_end').map(({ toolCallId }) => toolCallId);
    assert.equal(new Set(ended).size, ended.length, 'no call ends twice');
  }

  #explained(text, result, events) {
    assert.equal(result.status, 'error', `${text}: ${JSON.stringify(result)}`);
    sentence(result.error.message);
    const error = events.find(({ type }) => type === 'run_error');
    const reason = error?.reason ?? result.error.code;
    this.errors[reason] = (this.errors[reason] ?? 0) + 1;
    for (const said of texts(events)) {
      assert.ok(begins(this.stage.model.to(text), said), `${text} said ${JSON.stringify(said)}, which the model never did`);
    }
    this.#effects(text, error);
  }

  /** A failed turn names every call that ran. */
  #effects(text, error) {
    const named = new Map((error?.effects ?? []).map(({ toolCallId, outcome }) => [toolCallId, outcome]));
    for (const outcome of named.values()) assert.match(outcome, /^(done|unknown)$/);
    for (const { call, id } of this.stage.model.to(text).flatMap(({ calls }) => calls)) {
      if (this.runs(call) > 0) assert.ok(named.has(id), `${text}: ${call} (${id}) ran and is not among the effects: ${JSON.stringify(error)}`);
    }
  }

  /** How often a call ran, wherever. */
  runs(call) {
    return (this.stage.tools.calls.get(call) ?? 0) + (this.chat.marks.get(call) ?? 0);
  }

  /** What must hold when all is said. */
  async check() {
    const calls = this.stage.model.answers.filter(({ message }) => message.startsWith(`${this.name} `)).flatMap((answer) => answer.calls);
    for (const { call, id } of calls) {
      assert.ok(this.runs(call) <= 1, `${call} ran ${this.runs(call)} times`);
      if (isSigning(call) && this.runs(call) > 0) assert.ok(this.chat.allowed.has(id), `${call} ran and nobody allowed it`);
    }
    for (const code of this.chat.refused) assert.match(code, /^(request_not_found|agent_outcome_unknown)$/i);
    const stored = await this.stage.conversation(this.chat.token, this.chat.conversationId);
    const users = stored.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    const answered = this.sent.filter(({ status }) => status === 'finished').map(({ text }) => text);
    assert.equal(new Set(users).size, users.length, 'no message is stored twice');
    const order = this.sent.map(({ text }) => text).filter((text) => users.includes(text));
    assert.deepEqual(users, order, 'messages are stored in the order in which they were sent');
    for (const { text } of this.sent.filter(({ isAccepted }) => isAccepted)) assert.ok(users.includes(text), `${text} is not in the store`);
    const said = stored.messages.filter(({ role, content }) => role === 'assistant' && content).map(({ content }) => content);
    assert.equal(new Set(said).size, said.length, 'no answer is stored twice');
    for (const text of answered) {
      for (const answer of this.stage.model.to(text)) assert.ok(said.includes(answer.text), `${answer.text} is not in the store`);
    }
    assert.deepEqual([stored.activeRun ?? null, stored.openCalls], [null, []], 'nothing is left open');
  }

  /** What is shown has every answered message and its answers, each once, in order. */
  async checkShown() {
    const shown = await this.chat.shown(this.sent[0].text);
    const contents = shown.map(([, content]) => content);
    for (const { text, status } of this.sent) {
      assert.equal(contents.filter((content) => content === text).length, 1, `${text} is shown once`);
      if (status !== 'finished') continue;
      for (const answer of this.stage.model.to(text)) {
        assert.equal(contents.filter((content) => content === answer.text).length, 1, `${answer.text} is shown once`);
      }
    }
  }
}
