// The least that streams events from Node: no users, no log, no model. A word of the asked
// text at every pace, and the end after one more. Prints its port.
import { createServer } from 'node:http';

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks));
}

const server = createServer(async (request, response) => {
  const { text, pace } = await body(request);
  const words = text.split(/(?<= )/);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const next = () => {
    if (words.length === 0) return response.end('data: {"done":true}\n\n');
    response.write(`data: ${JSON.stringify({ delta: words.shift() })}\n\n`);
    return setTimeout(next, pace);
  };
  setTimeout(next, pace);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => console.log(server.address().port));
