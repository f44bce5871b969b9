// A collector of traces that speaks OTLP over HTTP and keeps what it gets.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';

/** Where traces go. */
export class Collector {
  /** Starts one on a free port. */
  static async start() {
    const collector = new Collector();
    await new Promise((resolve) => collector.server.listen(0, '127.0.0.1', resolve));
    collector.origin = `http://127.0.0.1:${collector.server.address().port}`;
    return collector;
  }

  constructor() {
    /** The spans of all requests, as they came. */
    this.spans = [];
    this.bodies = [];
    this.headers = [];
    this.server = createServer((request, response) => this.take(request, response));
  }

  async take(request, response) {
    let body = '';
    for await (const bytes of request) body += bytes;
    assert.deepEqual([request.method, request.url, request.headers['content-type']], ['POST', '/v1/traces', 'application/json']);
    this.bodies.push(body);
    this.headers.push(request.headers);
    for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
      const facts = Object.fromEntries(resource.attributes.map(({ key, value }) => [key, value.stringValue]));
      assert.equal(facts['service.name'], 'mindset-runtime');
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{}');
  }

  stop() {
    this.server.close().closeAllConnections();
  }
}
