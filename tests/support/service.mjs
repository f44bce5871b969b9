// A service as an application would write one: MCP over the SDK of the protocol, at /mcp/board, in
// the process and on the port that the runtime says. Its argument is JSON: `file` is where it notes
// what happens, one object a line; the rest are ways to misbehave:
//   slow      milliseconds before it listens        silent    never listens
//   broken    'status', 'garbage', 'hangs' (tools/list), 'unmounted': what its MCP handler does
//   exits     ends at once with this code           squat     first loses its port to another program
//   stubborn  takes no notice of SIGTERM            child     starts a program of its own
//   watches   ends with its standard input          chatty    writes that many lines

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const ways = JSON.parse(process.argv[2]);
const port = Number(process.env.PORT);
const note = (what) => appendFileSync(ways.file, `${JSON.stringify({ pid: process.pid, port, ...what })}\n`);
const first = !existsSync(ways.file) || !readFileSync(ways.file, 'utf8').includes('"what":"started"');
note({ what: 'started', env: process.env, directory: process.cwd() });

if (ways.exits !== undefined) {
  console.error('the reason stands here');
  process.exit(ways.exits);
}
if (ways.stubborn) process.on('SIGTERM', () => note({ what: 'asked to end' }));
if (ways.watches) process.stdin.resume().on('end', () => process.exit(0));
else process.stdin.on('error', () => {}).unref?.();
if (ways.child) note({ what: 'child', child: spawn('sleep', ['300'], { stdio: 'ignore' }).pid });
for (let i = 0; i < (ways.chatty ?? 0); i += 1) console.log(`line ${i} \u001b[31m${process.env.MINDSET_TOKEN}`);
if (ways.squat && first) {
  const script = `require('net').createServer(s => s.end('no')).listen(${port}, '127.0.0.1', () => process.send('there')); setTimeout(() => process.exit(), 20000)`;
  const squatter = spawn(process.execPath, ['-e', script], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  await new Promise((resolve) => { squatter.on('message', resolve); });
  note({ what: 'squatter', squatter: squatter.pid });
  process.exit(1);
}

let cards = 0;
const sessions = new Map();

/** One session of the protocol; all share `cards`. */
async function open(headers) {
  const server = new McpServer({ name: 'board', version: '1.0.0' });
  const say = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
  let session;
  server.registerTool('add', { description: 'Adds a card.', inputSchema: { title: z.string() } }, async ({ title }) => {
    cards += 1;
    note({ what: 'add', title, session });
    return say({ cards, pid: process.pid, session });
  });
  server.registerTool('die', { description: 'Ends the service in mid-call.', inputSchema: {} }, async () => {
    note({ what: 'die' });
    process.kill(process.pid, 'SIGKILL');
    return say({});
  });
  server.registerTool('rest', { description: 'Takes long.', inputSchema: {} }, async () => {
    note({ what: 'rest' });
    await new Promise((resolve) => { setTimeout(resolve, 60_000); });
    return say({});
  });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => {
      session = id;
      sessions.set(id, transport);
      note({ what: 'session', session: id, headers });
    },
  });
  await server.connect(transport);
  return transport;
}

async function mcp(request, response) {
  if (ways.broken === 'status') return response.writeHead(500).end('broken');
  if (ways.broken === 'garbage') return response.writeHead(200, { 'content-type': 'application/json' }).end('<html>');
  if (request.headers['x-mindset-token'] !== process.env.MINDSET_TOKEN) return response.writeHead(403).end();
  let text = '';
  for await (const piece of request) text += piece;
  const body = text === '' ? undefined : JSON.parse(text);
  if (ways.broken === 'hangs' && body?.method === 'tools/list') return note({ what: 'hangs' });
  const session = request.headers['mcp-session-id'];
  if (session === undefined && body?.method !== 'initialize') return response.writeHead(400).end();
  const transport = session === undefined ? await open(request.headers) : sessions.get(session);
  if (!transport) return response.writeHead(404).end();
  return transport.handleRequest(request, response, body);
}

const server = createServer((request, response) => {
  if (request.url === '/page') return response.end('the page');
  if (request.url !== '/mcp/board' || ways.broken === 'unmounted') return response.writeHead(404).end();
  return mcp(request, response).catch((error) => response.destroy(error));
});
if (ways.silent) setInterval(() => {}, 1000);
else setTimeout(() => server.listen(port, '127.0.0.1'), ways.slow ?? 0);
