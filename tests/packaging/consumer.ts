// A page written in TypeScript. Type-checked only; every `@ts-expect-error` is a
// mistake that the types must catch.

import { createAgentClient, createChat, init, MindsetError, type AgentClient, type AgentEvent, type AgentResult, type Chat, type ChatEvent, type Questionnaire, type StepAnswer, type PageTool } from 'mindset-agent';

const ready: Promise<void> = init({
  appUid: 'acme',
  server: 'https://agents.example',
  trustedServers: ['https://other.example'],
  fetchAuthentication: async () => ({ token: 'abc' }),
  onError: (error) => console.error(error.code, error.message, error.retryable),
});
void init({ server: 'https://agents.example/run', protocol: 'ag-ui' });
void ready;

// @ts-expect-error: no such protocol
void init({ appUid: 'acme', protocol: 'telepathy' });
// @ts-expect-error: a number is no app
void init({ appUid: 7 });

const element = document.createElement('mindset-agent');
element.agentUid = 'support';
element.heading = 'Help';
element.placeholder = 'Ask';
element.headless = false;
// @ts-expect-error: headless is a boolean
element.headless = 'yes';

element.addEventListener('mindset:agent-idle', (event) => {
  const id: string | undefined = event.detail.conversationId;
  void id;
});
element.addEventListener('mindset:error', (event) => {
  const { code, message, retryable } = event.detail;
  const line: string = `${code} ${message} ${retryable}`;
  void line;
});
element.addEventListener('mindset:text-delta', (event) => {
  const piece: string = event.detail.content;
  void piece;
});
element.addEventListener('mindset:runtime-event', (event) => {
  if (event.detail.type === 'run_error') {
    const reason: string = event.detail.reason;
    void reason;
  }
});
element.addEventListener('mindset:complete', (event) => {
  for (const message of event.detail.messages) console.log(message.role, message.content);
});

async function talk(): Promise<string | undefined> {
  const busy: boolean = element.isAgentBusy();
  void busy;
  try {
    const result = await element.sendMessage('hello', { silent: true });
    if (result.status === 'error') console.warn(result.error?.code);
    const queued = await element.sendWhenIdle('and then');
    await element.stop();
    return queued.text ?? result.text;
  } catch (error) {
    if (error instanceof MindsetError && error.code === 'busy') return undefined;
    throw error;
  }
}
void talk();

// @ts-expect-error: a message is a text
void element.sendMessage(7);

element.approvals = 'ask';
element.addEventListener('mindset:runtime-event', ({ detail }) => {
  if (detail.type === 'permission_requested') void element.agent.reply({ requestId: detail.requestId, decision: 'allowOnce' });
  if (detail.type === 'question_requested') {
    const ids: string[] = detail.questionnaire.steps.map((step) => step.id);
    void ids;
    void element.agent.answer({ questionId: detail.questionId, dismissed: true });
  }
});
// @ts-expect-error: there is no "always"
void element.agent.reply({ requestId: 'a', decision: 'always' });
// @ts-expect-error: neither answers nor dismissed
void element.agent.answer({ questionId: 'a' });
const taken: Promise<boolean> = element.appendMessage('text');
void taken;

const addToCart: PageTool<{ quantity: number }> = {
  name: 'add_to_cart',
  description: 'Adds to the cart',
  parameters: { type: 'object', properties: { quantity: { type: 'number' } } },
  confirm: ({ quantity }) => `Add ${quantity}?`,
  async handler(args, { signal, toolCallId, conversationId }) {
    const count: number = args.quantity;
    return { count, aborted: signal.aborted, toolCallId, conversationId };
  },
};
element.setPageTools([addToCart, { name: 'plain', description: 'd', handler: (args) => args.anything }]);
element.setSituationalAwareness({ page: 'Orders' });
element.setPassthroughParams({ 'orders.token': 'x', list: [1, null], gone: undefined });
element.situationalAwareness = { page: 'Orders' };
element.passthroughParams = null;
const text: string | null = element.passthroughParams;
void text;
element.addEventListener('mindset:tool-end', (event) => {
  const line: string = `${event.detail.toolName} ${event.detail.ok} ${event.detail.durationMs}`;
  void line;
});
// @ts-expect-error: a tool needs a handler
element.setPageTools([{ name: 'x', description: 'd' }]);
// @ts-expect-error: a text is no object
element.setSituationalAwareness('x');
// @ts-expect-error: JSON holds no functions
element.setPassthroughParams({ f: () => 1 });

element.conversationId = 'c-1';
async function conversations(): Promise<void> {
  for (const { id, title } of await element.conversations()) await element.renameConversation(id, `${title}!`);
  await element.newConversation();
  const more: boolean = await element.loadEarlier();
  void more;
}
void conversations();
element.addEventListener('mindset:runtime-event', async ({ detail }) => {
  if (detail.type !== 'widget-payload') return;
  const { status } = await element.widgetAction(detail.widgetId, 'choose', { seat: '4A', kind: detail.kind });
  void status;
});
// @ts-expect-error: an action has a name
void element.widgetAction('w1');

const chat: Chat = createChat({
  server: 'https://agents.example',
  appUid: 'acme',
  agentUid: 'support',
  getSession: async () => ({ token: 'abc', conversationId: 'c-1', expiresAt: 1_800_000_000_000 }),
  pageTools: [addToCart],
});
const off: () => void = chat.on((event: ChatEvent) => {
  switch (event.type) {
    case 'text_delta':
      return console.log(event.content);
    case 'history_settled':
      return console.log(event.messages.map((message) => message.widget?.answer?.action ?? message.widget?.summary ?? message.content));
    case 'run_error':
      return console.log(event.reason, event.effects?.map((effect) => effect.toolName));
    case 'session_error':
      return console.log(event.context.received);
    case 'connection':
      return console.log(event.state);
    default:
      return undefined;
  }
});
void chat.send('hello').then(({ status }) => console.log(status, chat.messages.length, chat.isBusy, chat.conversationId));
off();
chat.close();
// @ts-expect-error: the client says this itself
chat.conversationId = 'other';

// The agent API: the reference's example for services.
declare function askUser(request: Questionnaire): Promise<StepAnswer[]>;
declare function confirmTool(toolName: string, reason: string): Promise<boolean>;

async function runWithQuestions(agent: AgentClient, text: string): Promise<AgentResult> {
  const onEvent = (event: AgentEvent) => {
    if (event.type !== 'permission.requested') return;
    void confirmTool(event.toolName, event.reason)
      .then((allowed) => agent.reply({ sessionId: event.sessionId, requestId: event.requestId, decision: allowed ? 'allowOnce' : 'deny' }))
      .catch(() => {});
  };
  let result = await agent.run({ text }, { onEvent });
  while (result.pendingQuestion) {
    const answers = await askUser(result.pendingQuestion.request);
    result = await agent.answer({ sessionId: result.sessionId, requestId: result.pendingQuestion.requestId, answers }, { onEvent });
  }
  return result;
}

const service = createAgentClient({ server: 'https://agents.example', appUid: 'acme', apiKey: 'key', externalUserId: 'ann' });
void runWithQuestions(service, 'go');
void service.run({ text: 'go', sessionId: 's', whenBusy: 'steer', model: 'm', requestId: 'r' }, { signal: new AbortController().signal });
void service.observe({ all: true }, { onEvent: (event) => void (event.type === 'turn.finished' && event.status satisfies string) });
void service.session().then((session) => session?.state satisfies string | undefined);
void service.models().then(({ models }) => models.map(({ id }) => id satisfies string));
// @ts-expect-error: it is not said what is done while the session is busy
void service.run({ text: 'go', whenBusy: 'wait' });
// @ts-expect-error: all or one
void service.observe({}, { onEvent() {} });
// @ts-expect-error: of which application?
void createAgentClient({ server: 'https://agents.example' });
