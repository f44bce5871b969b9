// A tap on a connection: a proxy that passes everything on and keeps every byte of it.

import { createServer, request as send } from 'node:http';

/** Listens on a free loopback port and passes on to `target`, an origin. */
export class Tap {
  static async to(target) {
    const tap = new Tap(target);
    await new Promise((resolve, reject) => tap.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    tap.origin = `http://127.0.0.1:${tap.server.address().port}`;
    return tap;
  }

  constructor(target) {
    /** Each exchange: `{ sent, answered }`, heads and bodies as they went by. */
    this.exchanges = [];
    this.server = createServer((request, response) => this.#pass(request, response, new URL(request.url, target)));
  }

  /** All that went to the target. */
  get sent() {
    return Buffer.concat(this.exchanges.flatMap((exchange) => exchange.sent));
  }

  /** All that came back. */
  get answered() {
    return Buffer.concat(this.exchanges.flatMap((exchange) => exchange.answered));
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #pass(request, response, url) {
    const exchange = { sent: [head(`${request.method} ${request.url}`, request.rawHeaders)], answered: [] };
    this.exchanges.push(exchange);
    // Compressed bytes would hide what they say.
    const headers = { ...request.headers, host: url.host, 'accept-encoding': 'identity' };
    const passed = send(url, { method: request.method, headers }, (answer) => {
      exchange.answered.push(head(answer.statusCode, answer.rawHeaders));
      response.writeHead(answer.statusCode, answer.headers);
      answer.on('data', (bytes) => exchange.answered.push(bytes));
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.on('data', (bytes) => exchange.sent.push(bytes));
    request.pipe(passed);
  }
}

function head(first, headers) {
  return Buffer.from(`${first}\n${headers.join('\n')}\n\n`);
}
