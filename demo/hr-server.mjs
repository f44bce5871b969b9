// The demo's own application, as a customer would have one: it serves the HR dashboard, makes the
// sessions of its users, and is an MCP server with one tool. What the tool was called with is
// shown at /received, so that the dashboard can prove what arrived.
//
//   node demo/hr-server.mjs [PORT] [RUNTIME]
//
// Only this computer reaches it.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';

const KEPT = 20;
/** What the runtime proves itself with, and what proves this backend to the runtime: see www/mindset.toml. */
const OWN_KEY = 'Bearer hr-demo-key';
const API_KEY = 'demo-api-key';
/** The dashboard's files. */
const FILES = {
  '/': 'index.html',
  ...Object.fromEntries(
    ['people.css', 'people.js', 'handbook/leave.md', 'handbook/remote-work.md', 'handbook/reviews.md'].map((file) => [`/${file}`, file]),
  ),
};
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.md': 'text/plain' };
/** Who uses the dashboard, and how the HR system sorts the session. */
const USER = 'robin-hr';
const TAGS = ['hr', 'région:münchen'];
/** Headers that say who calls. */
const IDENTITY = ['x-user-id', 'x-app-uid', 'x-session-tags', 'x-human-uid'];

const PARAMETERS = {
  type: 'object',
  properties: {
    summary: { type: 'string', description: 'One or two sentences that sum up the review.' },
    profile: { type: 'string', description: 'The whole profile as JSON text.' },
  },
  required: ['summary', 'profile'],
  additionalProperties: false,
};

/** Serves on 127.0.0.1; gives the server, which listens. `port` 0 takes a free one; sessions are made at `runtime`. */
export async function serve({ port = 0, runtime }) {
  const received = [];
  const session = sessions(runtime);
  const handler = createMcpHandler(({ requestInfo }) => {
    const headers = requestInfo?.headers;
    const mcp = new McpServer({ name: 'hr', version: '1.0.0' });
    mcp.registerTool(
      'file_review',
      {
        title: 'File a performance review',
        description: 'Files a performance review for the employee whose profile is open, in the HR system.',
        inputSchema: fromJsonSchema(PARAMETERS),
      },
      ({ summary, profile }) => {
        const { name } = JSON.parse(profile);
        const number = `R-${String(received.length + 1).padStart(4, '0')}`;
        const at = new Date().toISOString();
        received.push({ number, at, summary, profile, headers: identity(headers) });
        if (received.length > KEPT) received.shift();
        const said = `Review ${number} for ${name} is filed.`;
        const fields = [{ label: 'Filed', value: at, type: 'datetime' }];
        const doc = { title: `Review ${number}`, subtitle: name, text: summary, fields };
        return { content: [{ type: 'text', text: said }, widget({ kind: 'card', doc, summary: said })] };
      },
    );
    return mcp;
  });

  const server = createServer(async (request, response) => {
    try {
      await answer(request, response, { handler, received, session, runtime });
    } catch (error) {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  server.once('close', () => handler.close());
  return server;
}

/** Something to show in the chat: see docs/widgets.md. */
function widget(shown) {
  const mimeType = 'application/vnd.mindset.widget+json';
  return { type: 'resource', resource: { uri: 'ui://hr/review', mimeType, text: JSON.stringify(shown) } };
}

function identity(headers) {
  return Object.fromEntries(IDENTITY.map((name) => [name, headers?.get(name) ?? null]));
}

async function answer(request, response, { handler, received, session, runtime }) {
  const url = new URL(request.url, 'http://127.0.0.1');
  if (url.pathname === '/received') return json(response, received);
  if (url.pathname === '/session' && request.method === 'POST') return json(response, await session());
  if (FILES[url.pathname]) return file(response, FILES[url.pathname], runtime);
  if (url.pathname !== '/mcp') {
    response.writeHead(404, { 'Content-Type': 'text/plain' });
    response.end('The dashboard is at /, the MCP endpoint at /mcp, what it received at /received.\n');
    return;
  }
  if (request.headers.authorization !== OWN_KEY) {
    response.writeHead(401).end();
    return;
  }
  const body = ['GET', 'HEAD'].includes(request.method) ? undefined : Readable.toWeb(request);
  const result = await handler.fetch(
    new Request(url, { method: request.method, headers: request.headers, body, duplex: 'half' }),
  );
  response.writeHead(result.status, Object.fromEntries(result.headers));
  if (result.body) for await (const chunk of result.body) response.write(chunk);
  response.end();
}

/** The page says where the runtime is; its policy allows that and nothing else. */
async function file(response, name, runtime) {
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

/** Gives tokens for the person at the dashboard, all for one agent session with what it may use. */
function sessions(runtime) {
  const api = async (path, body) => {
    const answer = await fetch(`${runtime}/api/v1/appuid/demo/${path}`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const wanted = {
    agentUid: 'people',
    externalUserId: USER,
    tags: TAGS,
    contextUids: ['handbook'],
    mcpserverUids: ['hr'],
  };
  let agentUid;
  return async () => {
    const { authToken, expiresAt } = await api('sdkusers/auth', { externalId: USER, name: 'Robin' });
    agentUid ??= (await api('agentsessions', wanted)).agentSessionUid;
    return { token: authToken, agentUid, expiresAt };
  };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [port = '8788', runtime = 'http://127.0.0.1:8787'] = process.argv.slice(2);
  const server = await serve({ port: Number(port), runtime });
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close(() => process.exit()).closeAllConnections());
}
