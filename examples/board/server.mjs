// The board's service: it serves the page, and the board's tools to the agent, from one process, so
// that both see the same cards. The runtime starts it and says where it listens.
//
//   node server.mjs RUNTIME

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { Readable } from 'node:stream';

import { Board } from './board.mjs';
import { tools } from './tools.mjs';

const [runtime = 'http://127.0.0.1:8787'] = process.argv.slice(2);
const { PORT = '8788', MINDSET_TOKEN } = process.env;
/** What proves this service to the runtime: see mindset.toml. */
const API_KEY = 'board-api-key';
/** Who is at the board; an application would know by its own sign-in. */
const USER = { externalId: 'robin', name: 'Robin' };
const FILES = { '/': 'index.html', '/board.css': 'board.css', '/board.js': 'board.js', '/desk.js': 'desk.js', '/decisions.js': 'decisions.js' };
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };
const BODY = 10_000;

const board = new Board();
const handler = tools(board);

async function answer(request, response) {
  const url = new URL(request.url, 'http://127.0.0.1');
  const route = `${request.method} ${url.pathname}`;
  if (url.pathname === '/mcp/board') return mcp(request, response, url);
  // A page of somebody else must not move cards, or get a token, whatever its name resolves to.
  if (!/^(127\.0\.0\.1|localhost):\d+$/.test(request.headers.host ?? '')) return response.writeHead(403).end();
  if (request.method !== 'GET' && request.headers['sec-fetch-site'] !== 'same-origin') return response.writeHead(403).end();
  if (FILES[url.pathname] && request.method === 'GET') return file(response, FILES[url.pathname]);
  if (route === 'GET /cards') return watch(request, response);
  if (route === 'POST /move') return json(response, await move(request));
  if (route === 'POST /session') return json(response, await session());
  return response.writeHead(404, { 'Content-Type': 'text/plain' }).end('The board is at /.\n');
}

/** The tools, for the runtime and nobody else. */
async function mcp(request, response, url) {
  if (!MINDSET_TOKEN || request.headers['x-mindset-token'] !== MINDSET_TOKEN) return response.writeHead(403).end();
  const body = ['GET', 'HEAD'].includes(request.method) ? undefined : Readable.toWeb(request);
  const result = await handler.fetch(new Request(url, { method: request.method, headers: request.headers, body, duplex: 'half' }));
  response.writeHead(result.status, Object.fromEntries(result.headers));
  if (result.body) for await (const chunk of result.body) response.write(chunk);
  return response.end();
}

/** All cards, now and after every change. */
function watch(request, response) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  const send = () => response.write(`data: ${JSON.stringify(board.cards)}\n\n`);
  const leave = board.watch(send);
  request.once('close', leave);
  send();
}

/** What the person moves needs nobody's word. */
async function move(request) {
  let text = '';
  for await (const piece of request) if (text.length < BODY) text += piece;
  const { id, column } = JSON.parse(text);
  return board.move(id, column);
}

async function session() {
  const asked = await fetch(`${runtime}/api/v1/appuid/board/sdkusers/auth`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify(USER),
  });
  if (!asked.ok) throw new Error(`sign-in: ${asked.status}`);
  const { authToken, expiresAt } = await asked.json();
  return { token: authToken, agentUid: 'board', expiresAt };
}

/** The page says where the runtime is; its policy allows that and nothing else. */
async function file(response, name) {
  const text = await readFile(new URL(name, import.meta.url), 'utf8');
  response.writeHead(200, {
    'Content-Type': `${TYPES[extname(name)]}; charset=utf-8`,
    'Content-Security-Policy':
      `default-src 'none'; script-src 'self' ${runtime} 'wasm-unsafe-eval'; style-src 'self' ${runtime}; ` +
      `connect-src 'self' ${runtime}; img-src data:; require-trusted-types-for 'script'`,
    'Cache-Control': 'no-store',
  });
  response.end(text.replaceAll('{{runtime}}', runtime));
}

function json(response, value) {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify(value));
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  });
});
server.listen(Number(PORT), '127.0.0.1');

function end() {
  server.close(() => process.exit());
  server.closeAllConnections();
}
process.once('SIGTERM', end);
process.once('SIGINT', end);
// The input ends with the runtime, also when that was killed. By hand there is none to watch.
if (MINDSET_TOKEN) process.stdin.resume().once('end', end);
