// The client that the MCP conformance suite starts: a whole runtime with the suite's server
// in its configuration, and one turn whose model makes the calls that the scenario wants.

import { Runtime } from './runtime.mjs';
import { callingModel, turnOf } from './turns.mjs';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const { toolCalls = [] } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');

/** What each scenario wants called, by what the model was offered. */
const PLANS = {
  tools_call: () => [['add_numbers', { a: 5, b: 3 }]],
  'sse-retry': () => [['test_reconnection', {}]],
  'http-standard-headers': () => [['test_headers', {}]],
  'http-invalid-tool-headers': (offered) => [...offered].map(([name, { properties }]) => [name, texts(properties)]),
  // The schema as the model got it goes back to the server, which compares.
  'json-schema-2020-12-preservation': (offered) => [
    ['json_schema_echo', { schema: offered.get('json_schema_2020_12_tool') }],
  ],
};

/** A text for each property. */
function texts(properties) {
  return Object.fromEntries(Object.keys(properties).map((name) => [name, 'x']));
}

/** Without members that are null: no schema of the suite allows them, so the runtime would not call. */
function given(args) {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}

const plan = ({ tools = [] }) => {
  const offered = new Map(tools.map(({ function: f }) => [f.name.replace('suite__', ''), f.parameters]));
  const calls = PLANS[scenario]?.(offered) ?? toolCalls.map(({ name, arguments: args }) => [name, given(args)]);
  return calls.map(([name, args]) => [`suite__${name}`, args]);
};

const models = await callingModel(plan);
const runtime = await Runtime.start({
  config: `
[models.calling]
provider = "openai"
model = "test"
base_url = "${models.url}/v1"

[[apps]]
uid = "demo"
allow_no_origin = true

[[apps.mcp_servers]]
uid = "suite"
url = "${url}"
allow_private = true
required = true
timeout = "10s"

[[apps.agents]]
uid = "demo"
model = "calling"
anonymous = true
mcp_servers = ["suite"]
`,
});
try {
  const { events, results } = await turnOf(runtime, await runtime.token(), 'demo', []);
  console.log(JSON.stringify({ results, last: events.at(-1) }, null, 1), runtime.output);
} finally {
  await runtime.stop();
  await models.stop();
}
