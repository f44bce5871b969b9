// A model server that does what the person's message says, for tests only.

import { createServer } from 'node:http';

import { deferred, until } from './wait.mjs';

/**
 * An OpenAI-compatible server. A message that is a JSON list is calls, `[[name, arguments], …]`; `hold NAME` says
 * "Holding." and goes on when the test releases NAME; to anything else the answer is "You said: …". After
 * results of tools it says "Done.".
 */
export class PromptedModel {
  static async start() {
    const model = new PromptedModel();
    model.server = createServer((request, response) => {
      model.answer(request, response).catch(() => response.destroy());
    });
    await new Promise((resolve, reject) => model.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    model.url = `http://127.0.0.1:${model.server.address().port}/v1`;
    return model;
  }

  /** Every request's messages. */
  requests = [];
  #held = new Map();

  /** Resolves when a turn holds by this name. */
  async holding(name) {
    await until(() => this.#held.get(name), `the model to hold ${name}`);
  }

  release(name) {
    this.#held.get(name)?.resolve();
    this.#held.delete(name);
  }

  async answer(request, response) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { messages } = JSON.parse(Buffer.concat(pieces));
    this.requests.push(messages);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (delta, finish) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, ...(finish && { finish_reason: finish }) }] })}\n\n`);
    const end = (reason) => {
      send({}, reason);
      response.end('data: [DONE]\n\n');
    };
    const last = messages.at(-1);
    const text = typeof last.content === 'string' ? last.content : (last.content ?? []).map((part) => part.text ?? '').join('');
    if (last.role === 'tool') {
      send({ content: 'Done.' });
      return end('stop');
    }
    if (text.startsWith('[[')) {
      const calls = JSON.parse(text).map(([name, args], index) => ({
        index, id: `call-${this.requests.length}-${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) },
      }));
      send({ tool_calls: calls });
      return end('tool_calls');
    }
    const [, name] = /^hold (\S+)/.exec(text) ?? [];
    if (name) {
      send({ content: 'Holding.' });
      const held = deferred();
      this.#held.set(name, held);
      response.on('close', held.resolve);
      await held.promise;
      return end('stop');
    }
    send({ content: 'You said: ' });
    send({ content: `${text}.` });
    return end('stop');
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => { this.server.close(resolve); });
  }
}
