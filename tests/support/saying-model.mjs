// A model server that says given pieces, byte for byte, for tests only.

import { createServer } from 'node:http';

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

/**
 * An OpenAI-compatible server whose every answer is `pieces`; a number among them is a pause
 * in milliseconds. Bytes leave in crumbs, so that characters are cut.
 */
export async function sayingModel(pieces) {
  const server = createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      if (typeof piece === 'number') {
        await pause(piece);
        continue;
      }
      const frame = Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: piece } }] })}\n\n`);
      const half = frame.length > 4_096 ? frame.length : Math.floor(frame.length / 2) + 1;
      for (let at = 0; at < frame.length; at += half) {
        response.write(frame.subarray(at, at + half));
        await pause(0);
      }
    }
    response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}
