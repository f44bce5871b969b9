// Configurations of the runtime for tests, from what differs between them.

const table = (head, values) => [`[${head}]`, ...Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`), ''].join('\n');

/**
 * The text of a `mindset.toml`: a model `calling` at the address `model` or as the table `model` says, one
 * application with MCP `servers`, which may be on this machine, and its `agents`, which use all of them.
 * `more` stands on top.
 */
export function configOf({ model, app = {}, servers = [], agents = [{}], more = '' }) {
  const own = { uid: 'firm', origins: ['loopback'], allow_no_origin: true, ...app };
  const usual = { uid: 'helper', model: 'calling', anonymous: true, ...(servers.length > 0 && { mcp_servers: servers.map(({ uid }) => uid) }) };
  return [
    more,
    table('models.calling', typeof model === 'string' ? { provider: 'openai', model: 'test', base_url: model } : model),
    table('[apps]', own),
    ...servers.map((server) => table('[apps.mcp_servers]', { allow_private: true, ...server })),
    ...agents.map((agent) => table('[apps.agents]', { ...usual, ...agent })),
  ].join('\n');
}
