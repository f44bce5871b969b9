// An MCP server whose tools count their calls by what they are called with.

import { createServer } from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Serves the tools `note { call }` and `sign { call }`. */
export async function countingTools() {
  /** How often each call came. */
  const calls = new Map();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'counting', version: '1.0.0' });
    for (const name of ['note', 'sign']) {
      server.registerTool(name, { description: 'Counts.', inputSchema: z.object({ call: z.string() }) }, async ({ call }) => {
        calls.set(call, (calls.get(call) ?? 0) + 1);
        return { content: [{ type: 'text', text: `noted ${call}` }] };
      });
    }
    return server;
  });
  const server = createServer(toNodeHandler(handler));
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  };
}
