// Everything a turn goes through, on one machine: the real runtime, a scripted model, an MCP
// server that counts, and a bad line between each two.

import { Runtime } from '../support/runtime.mjs';
import { ScriptedModel } from './model.mjs';
import { BadLine } from './proxy.mjs';
import { Random } from './random.mjs';
import { countingTools } from './tools.mjs';

const KEY = 'key-of-the-chaos-app';

/** On a good line nothing is given up, however busy the machine is. */
const patience = (share) => (share > 0 ? '1500ms' : '20s');

function config(lines, shares) {
  return `
[server]
heartbeat = "300ms"

[models.scripted]
provider = "openai"
model = "scripted"
base_url = "http://127.0.0.1:${lines.model.port}/v1"
idle_timeout = "${patience(shares.model)}"

[[apps]]
uid = "chaos"
api_keys = ["${KEY}"]
origins = ["loopback"]
allow_no_origin = true

[[apps.mcp_servers]]
uid = "counting"
url = "http://127.0.0.1:${lines.tools.port}/mcp"
allow_private = true
timeout = "${patience(shares.tools)}"
connect_timeout = "${patience(shares.tools)}"

[[apps.agents]]
uid = "chaos"
name = "Chaos"
instructions = "Be brief."
model = "scripted"
mcp_servers = ["counting"]
approvals = ["sign"]
`;
}

/** The programs and the lines between them. */
export class Stage {
  /**
   * `page`, `model` and `tools` say how many of the exchanges break on the way between page
   * and runtime, and between the runtime and its model and its MCP server; `pace` is the
   * model's.
   */
  static async set(name, { page = 0, model = 0, tools = 0, pace = 6 } = {}) {
    const stage = new Stage();
    stage.name = name;
    /** How many chats were opened on it. */
    stage.people = 0;
    stage.model = await ScriptedModel.start(new Random(name, 'words'), pace);
    stage.tools = await countingTools();
    const line = (port, what, share) => BadLine.to(port, new Random(name, what), share);
    stage.lines = {
      model: await line(stage.model.port, 'model', model),
      tools: await line(stage.tools.port, 'tools', tools),
    };
    stage.runtime = await Runtime.start({ config: config(stage.lines, { model, tools }) });
    stage.lines.page = await line(stage.runtime.port, 'page', page);
    return stage;
  }

  /** A token for a user. */
  async token(externalId) {
    const response = await this.runtime.post('/api/v1/appuid/chaos/sdkusers/auth', { externalId }, { 'x-api-key': KEY });
    if (response.status !== 200) throw new Error(`sign-in: ${response.status} ${await response.text()}`);
    return (await response.json()).authToken;
  }

  /** A conversation as the store has it, all its messages, past every bad line. */
  async conversation(token, id) {
    const get = async (query) => {
      const response = await fetch(`${this.runtime.origin}/v1/conversations/${id}${query}`, { headers: { authorization: `Bearer ${token}` } });
      if (response.status !== 200) throw new Error(`conversation: ${response.status} ${await response.text()}`);
      return response.json();
    };
    const whole = await get('');
    for (let { before } = whole; before;) {
      const earlier = await get(`?before=${encodeURIComponent(before)}`);
      whole.messages.unshift(...earlier.messages);
      before = earlier.before;
    }
    return whole;
  }

  /** How many calls that somebody had to allow ran. */
  get signed() {
    return [...this.tools.calls.keys()].filter((call) => call.includes('sign-')).length;
  }

  /** What happened on the lines, for people. */
  weather() {
    return Object.entries(this.lines).map(([name, line]) => `${name} ${JSON.stringify(line.ways)}`).join('; ');
  }

  async stop() {
    await Promise.all(Object.values(this.lines).map((line) => line.stop()));
    await this.runtime.stop();
    await this.model.stop();
    await this.tools.stop();
  }
}

