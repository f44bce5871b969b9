// A scripted model behind HTTP, for tests only. To a message it thinks, says something and
// calls the two tools, and `sign` too where the message asks for it; to their results it gives the answer. Every answer it makes has a
// number of its own, so that a text or a call that comes twice is seen.

import { createServer } from 'node:http';

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa'.split(' ');

/** A message with this word is to be signed. */
export const SIGNED = 'signed';

/** An OpenAI-compatible server. */
export class ScriptedModel {
  /** Pauses up to `pace` milliseconds between two pieces. */
  static async start(random, pace) {
    const model = new ScriptedModel(random, pace);
    await new Promise((resolve, reject) => model.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    model.port = model.server.address().port;
    return model;
  }

  constructor(random, pace) {
    this.random = random;
    this.pace = pace;
    /** Each answer: the message it answers, the text and the calls in it, `{ call, id }`. */
    this.answers = [];
    this.server = createServer((request, response) => this.#answer(request, response).catch(() => response.destroy()));
  }

  /** The answers to a message. */
  to(message) {
    return this.answers.filter((answer) => answer.message === message);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => { this.server.close(resolve); });
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { messages, tools = [] } = JSON.parse(Buffer.concat(chunks));
    const last = messages.findLastIndex((message) => message.role === 'user');
    const results = messages.slice(last + 1).filter((message) => message.role === 'tool');
    const asked = messages[last].content;
    const answer = {
      number: this.answers.length + 1,
      message: typeof asked === 'string' ? asked : asked.map((part) => part.text).join(''),
      results: results.map((message) => message.content),
      text: '',
      calls: [],
    };
    this.answers.push(answer);
    const name = (ending) => tools.map((tool) => tool.function.name).find((known) => known.endsWith(ending));
    const pieces = results.length > 0
      ? this.#words(answer, `Answer ${answer.number}:`)
      : [...this.#thoughts(), ...this.#words(answer, `Looking ${answer.number}:`), ...this.#calls(answer, [name('note'), name('mark'), answer.message.includes(SIGNED) && name('sign')])];
    await this.#stream(response, [...pieces, { finish: answer.calls.length > 0 ? 'tool_calls' : 'stop' }]);
  }

  #thoughts() {
    return ['Let me ', 'think ', 'about it.'].map((text) => ({ delta: { reasoning_content: text } }));
  }

  #words(answer, first) {
    const words = [first, ...Array.from({ length: this.random.between(3, 9) }, () => ` ${this.random.pick(WORDS)}`), ` end${answer.number}`];
    answer.text = words.join('');
    return words.map((content) => ({ delta: { content } }));
  }

  #calls(answer, names) {
    return names.filter(Boolean).map((name, index) => {
      const call = `${name}-${answer.number}`;
      const id = `call-${answer.number}-${index}`;
      answer.calls.push({ call, id });
      const called = { index, id, type: 'function', function: { name, arguments: JSON.stringify({ call }) } };
      return { delta: { tool_calls: [called] } };
    });
  }

  async #stream(response, pieces) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { delta = {}, finish = null } of pieces) {
      if (this.pace > 0) await pause(this.random.between(0, this.pace));
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  }
}
