// The two clients of a chaos test behind one face: `createChat` in Node, and the element in
// a page. Each has the page tool `mark { call }`, which counts its calls, allows what it is
// asked for, and keeps the events of the turn.

import { Host } from '../support/host.mjs';
import { site } from '../support/site.mjs';
import { until, within } from '../support/wait.mjs';
import { Random } from './random.mjs';

/** Time constants for lines that break all the time. */
const TIMING = { heartbeat: 900, request: 1_500, stop: 800, backoff: 20, backoffMax: 250, history: 3_000, giveUp: 20_000 };

/** How long the person thinks at most, in milliseconds. */
const THINKING = 400;

/** No promise of a chat may take longer. */
const STUCK = 60_000;

const PARAMETERS = { type: 'object', properties: { call: { type: 'string' } }, required: ['call'] };

/** In the page: the messages that are there, `[id, role, text]` each; then it scrolls up. */
const rows = () => {
  const root = document.getElementById('agent').shadowRoot;
  const read = [...root.querySelectorAll('[data-message-id]')].map((row) => {
    const body = row.querySelector('[part~="message__body"]');
    return [row.dataset.messageId, row.part.contains('message--user') ? 'user' : 'assistant', body.textContent.trim()];
  });
  root.querySelector('[role=log]').scrollTop = 0;
  return read;
};

/** `createChat`, in this process. */
export class NodeChat {
  static async open(stage, token, conversationId) {
    // By its name, as whoever installs the package does.
    const { createChat } = await import('mindset-agent');
    const chat = new NodeChat(token);
    chat.random = new Random(stage.name, 'thinking', (stage.people += 1));
    chat.chat = createChat({
      server: stage.lines.page.origin,
      appUid: 'chaos',
      agentUid: 'chaos',
      fetchAuthentication: async () => token,
      timing: TIMING,
      ...(conversationId && { conversationId }),
      approvals: 'ask',
      pageTools: [{ name: 'mark', description: 'Counts.', parameters: PARAMETERS, handler: ({ call }) => chat.#mark(call) }],
    });
    chat.chat.on((event) => {
      chat.events.push(event);
      if (event.type === 'permission_requested') chat.#allow(event);
    });
    return chat;
  }

  constructor(token) {
    this.token = token;
    /** How often each call of the page tool came. */
    this.marks = new Map();
    /** The calls that were allowed, and the codes with which a decision was refused. */
    this.allowed = new Set();
    this.refused = [];
    this.events = [];
  }

  get conversationId() {
    return this.chat.conversationId;
  }

  /** The result of a message, and the events from it to there. */
  async send(text) {
    this.events = [];
    const result = await within(this.chat.send(text), `the answer to ${text}`, STUCK);
    return { result, events: this.events };
  }

  /** What the chat shows at the end: `[role, content]` each. */
  async shown() {
    return this.chat.messages.map(({ role, content }) => [role, content]);
  }

  close() {
    return this.chat.close();
  }

  /** After a while, as people do. Decisions that come too late, or twice, are refused as such. */
  async #allow({ requestId, toolCallId }) {
    await new Promise((resolve) => { setTimeout(resolve, this.random.between(0, THINKING)); });
    this.allowed.add(toolCallId);
    await this.chat.agent.reply({ requestId, decision: 'allowOnce' }).catch(({ code }) => { this.refused.push(code); });
  }

  #mark(call) {
    this.marks.set(call, (this.marks.get(call) ?? 0) + 1);
    return `marked ${call}`;
  }
}

/** The element, in a page of its own. */
export class ElementChat {
  static async open(stage, token, browser) {
    const chat = new ElementChat(token);
    const init = { appUid: 'chaos', server: stage.lines.page.origin, timing: TIMING };
    chat.pages = await site({
      '/': `<!doctype html><meta charset="utf-8"><title>Chaos</title><script src="${stage.runtime.origin}/mindset-agent.js"></script>
        <mindset-agent id="agent" agent-uid="chaos" style="height: 400px"></mindset-agent>
        <script>
          Object.assign(window, { marks: {}, allowed: [], refused: [] });
          mindset.init({ ...${JSON.stringify(init)}, fetchAuthentication: async () => ${JSON.stringify(token)} });
          const agent = document.getElementById('agent');
          agent.addEventListener('mindset:runtime-event', ({ detail: { type, requestId, toolCallId } }) => {
            if (type !== 'permission_requested') return;
            setTimeout(() => {
              allowed.push(toolCallId);
              agent.agent.reply({ requestId, decision: 'allowOnce' }).catch(({ code }) => refused.push(code));
            }, ${THINKING / 2});
          });
          agent.setPageTools([{ name: 'mark', description: 'Counts.', parameters: ${JSON.stringify(PARAMETERS)},
            handler: ({ call }) => { marks[call] = (marks[call] ?? 0) + 1; return 'marked ' + call; } }]);
        </script>`,
    });
    chat.host = await Host.open(browser, `${chat.pages.origin}/`);
    chat.host.page.setDefaultTimeout(STUCK);
    await chat.host.saw('agent-idle');
    return chat;
  }

  constructor(token) {
    this.token = token;
    this.marks = new Map();
    this.allowed = new Set();
    this.refused = [];
  }

  async send(text) {
    const before = (await this.host.events()).length;
    const sent = this.host.page.evaluate((text) => document.getElementById('agent').sendMessage(text), text);
    const result = await within(sent, `the answer to ${text}`, STUCK);
    this.conversationId = result.conversationId;
    const events = (await this.host.events()).slice(before);
    const { marks, allowed, refused } = await this.host.run(() => ({ marks: window.marks, allowed: window.allowed, refused: window.refused }));
    Object.assign(this, { marks: new Map(Object.entries(marks)), allowed: new Set(allowed), refused });
    return { result, events: events.filter(({ name }) => name === 'runtime-event').map(({ detail }) => detail) };
  }

  /** The panel holds the newest messages: whoever scrolls up, as far as `first`, sees the others. */
  async shown(first) {
    const seen = new Map();
    await until(async () => {
      for (const [id, ...message] of await this.host.run(rows)) seen.set(id, message);
      return [...seen.values()].some(([, text]) => text === first);
    }, `${first}, further up`);
    return [...seen.values()];
  }

  async close() {
    await this.host.close();
    await this.pages.stop();
  }
}
