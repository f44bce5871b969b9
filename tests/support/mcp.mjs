// MCP servers nobody in this project wrote, each on a free loopback port.

import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, inputRequired, inputResponse, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

import { npmProgram, pythonProgram, ROOT } from './paths.mjs';
import { freePort } from './ports.mjs';
import { Program } from './process.mjs';

/** The reference server of revision 2025-11-25: 13 tools, sessions, answers as event streams. */
export async function everything() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  // One of its tools prints its environment: it gets an empty one.
  const start = () => new Program(npmProgram('mcp-server-everything'), ['streamableHttp'], { env: { PORT: String(port), HOME: '/' } }).answers(url);
  let program = await start();
  return {
    url,
    stop: () => program.stop('SIGKILL'),
    /** Ends it and starts it again at the same place: it knows no session any more. */
    async restart() {
      await program.stop('SIGKILL');
      program = await start();
    },
  };
}

/** A fastmcp server that keeps the headers of every request in a file. */
export async function headersServer() {
  const folder = await mkdtemp(join(tmpdir(), 'mindset-mcp-'));
  const file = join(folder, 'seen.jsonl');
  const port = await freePort();
  const script = join(ROOT, 'tests/support/mcp_headers.py');
  const program = new Program(pythonProgram('python'), [script, String(port), file]);
  const url = `http://127.0.0.1:${port}/mcp`;
  await program.answers(url);
  return {
    url,
    /** What was recorded since the runtime began to talk to it. */
    async seen() {
      const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean).map((line) => JSON.parse(line));
      return lines.filter((line) => line.headers['user-agent'] !== 'node');
    },
    async stop() {
      await program.stop('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server of the revision 2026-07-28 that knows no other. */
export async function modern() {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'modern', version: '1.0.0' });
    const inputSchema = z.object({ a: z.number(), b: z.number() });
    server.registerTool('sum', { title: 'Sum', description: 'Adds two numbers.', inputSchema, outputSchema: z.object({ sum: z.number() }) }, async ({ a, b }) => ({
      content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
      structuredContent: { sum: a + b },
    }));
    return server;
  }, { legacy: 'reject' });
  const requests = [];
  const node = toNodeHandler(handler);
  const server = createServer((request, response) => {
    requests.push({ method: request.method, headers: request.headers });
    node(request, response);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}

/**
 * A server of the revision 2026-07-28 whose tool `reserve` asks the person for a name and seats
 * before it goes on; `answers` are what it was told.
 */
export async function asking() {
  const answers = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'asking', version: '1.0.0' });
    const inputSchema = z.object({ room: z.string() });
    server.registerTool('reserve', { description: 'Reserves a room.', inputSchema }, async ({ room }, context) => {
      const view = inputResponse(context.mcpReq.inputResponses, 'who');
      if (view.kind === 'missing') {
        const requestedSchema = {
          type: 'object',
          properties: {
            name: { type: 'string', title: 'Your name' },
            seats: { type: 'integer', title: 'Seats' },
            day: { type: 'string', title: 'Day', enum: ['mo', 'tu'], enumNames: ['Monday', 'Tuesday'] },
          },
          required: ['name', 'seats'],
        };
        return inputRequired({
          inputRequests: { who: inputRequired.elicit({ message: `Who reserves ${room}?`, requestedSchema }) },
          requestState: `state-of-${room}`,
        });
      }
      answers.push({ action: view.action, content: view.content });
      const text = view.action === 'accept' ? `${room} is reserved for ${view.content.name}.` : `Not reserved: ${view.action}.`;
      return { content: [{ type: 'text', text }] };
    });
    return server;
  }, { legacy: 'reject' });
  const server = createServer(toNodeHandler(handler));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    answers,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}

/** A server whose tool `show` gives the widgets it is asked for, as they are. */
export async function showing() {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'showing', version: '1.0.0' });
    const inputSchema = z.object({ widgets: z.array(z.any()) });
    server.registerTool('show', { description: 'Shows widgets.', inputSchema }, async ({ widgets }) => ({
      content: [
        { type: 'text', text: 'Here it is.' },
        ...widgets.map((widget, at) => ({
          type: 'resource',
          resource: { uri: `ui://widget/${at}`, mimeType: 'application/vnd.mindset.widget+json', text: JSON.stringify(widget) },
        })),
      ],
    }));
    return server;
  });
  const server = createServer(toNodeHandler(handler));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}

/** A server whose tool `look` fetches the files of the person and says what it got. */
export async function looking() {
  const seen = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'looking', version: '1.0.0' });
    const inputSchema = z.object({ uploaded_file_urls: z.string().optional() });
    server.registerTool('look', { description: 'Looks at files.', inputSchema }, async ({ uploaded_file_urls: urls }) => {
      const found = [];
      for (const url of JSON.parse(urls ?? '[]')) {
        seen.push(url);
        const answer = await fetch(url);
        const hash = createHash('sha256').update(Buffer.from(await answer.arrayBuffer())).digest('hex');
        found.push({ status: answer.status, type: answer.headers.get('content-type'), hash });
      }
      return { content: [{ type: 'text', text: JSON.stringify(found) }] };
    });
    return server;
  });
  const server = createServer(toNodeHandler(handler));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    /** Every address that it was given. */
    seen,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}

/** A server that repeats what it was sent in headers wherever a server can say something. */
export async function reciting() {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { id, method, params } = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : {};
    const recital = Object.entries(request.headers).map(([name, value]) => `${name}=${value}`).join(' ');
    const reply = (result) => {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'reciting' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    const tool = (name, more) => ({ name, description: recital, inputSchema: { type: 'object' }, ...more });
    const says = [
      { method: `notifications/${recital}` },
      { method: 'notifications/message', params: { level: 'error', data: recital } },
      { id: recital, method: recital, params: {} },
      { id: 'q', method: 'elicitation/create', params: { message: recital, requestedSchema: { type: 'object', properties: {} } } },
    ];
    if (request.method !== 'POST') return response.writeHead(405).end(recital);
    if (method === 'initialize') {
      return reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: recital, version: recital }, instructions: recital });
    }
    if (method === 'tools/list') {
      return reply({ tools: [tool('recite', { title: recital }), tool(recital), tool('schema', { inputSchema: { type: 'object', description: recital } }), tool('header', { inputSchema: { type: 'object', properties: { x: { type: 'object', 'x-mcp-header': recital } } } })] });
    }
    if (method === 'tools/call') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const message of says) response.write(`id: ${recital}\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
      const failure = params.arguments.how === 'error' ? { error: { code: -32000, message: recital, data: recital } } : {
        result: { isError: params.arguments.how === 'failure', content: [{ type: 'text', text: recital }, { type: recital }] },
      };
      return response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, ...failure })}\n\n`);
    }
    if (method === 'server/discover') return response.writeHead(400, { 'content-type': 'text/plain' }).end(recital);
    return response.writeHead(202).end();
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}
