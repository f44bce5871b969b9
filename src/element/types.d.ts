/** Types of `mindset-agent`. */

/** Why something failed. Programs branch on `code`, people read `message`. */
export interface ErrorDetail {
  readonly code: ErrorCode;
  /** What happened and what to do next. */
  readonly message: string;
  /** Whether trying again later can help. */
  readonly retryable: boolean;
  /** Facts that help to find the place; never a secret. */
  readonly context?: Readonly<Record<string, unknown>>;
}

export type ErrorCode =
  | 'invalid-config'
  | 'invalid-request'
  | 'invalid-auth'
  | 'auth-expired'
  | 'anonymous-denied'
  | 'origin-not-allowed'
  | 'forbidden'
  | 'not-found'
  | 'agent-not-found'
  | 'model-not-found'
  | 'busy'
  | 'conflict'
  | 'gone'
  | 'too-large'
  | 'rate-limited'
  | 'too-many-subscriptions'
  | 'server-error'
  | 'agent-misconfigured'
  | 'not-ready'
  | 'situational-awareness-too-large'
  | 'passthrough-too-large'
  | 'network'
  | 'timeout'
  | 'protocol'
  | 'unsupported-browser'
  | 'wasm-load'
  | 'internal';

/** What calls throw and `init` rejects with. */
export class MindsetError extends Error implements ErrorDetail {
  constructor(detail: { code: ErrorCode; message: string; retryable?: boolean; context?: object });
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** What a page sets up once. */
export interface InitConfig {
  /** The application. Optional only with `protocol: 'ag-ui'`. */
  appUid?: string;
  /** The runtime. Default: the origin of the script; in a bundler there is none. With `protocol: 'ag-ui'` the exact run URL. */
  server?: string;
  protocol?: 'mindset' | 'ag-ui';
  /** Further origins that may get the page's credentials. */
  trustedServers?: string[];
  /** Gives a token. Without it, and without `getSession`, people are anonymous. */
  fetchAuthentication?: () => TokenAnswer | Promise<TokenAnswer>;
  /** The newer form of `fetchAuthentication`. Give one of the two. */
  getSession?: () => SessionAnswer | Promise<SessionAnswer>;
  /** Raises the limit of situational awareness from 10,000 to 20,000 characters. */
  extendedSituationalAwareness?: boolean;
  /** Sent for the person in a new conversation, after the first idle. */
  initialQuestion?: string;
  /** The language of panels without the attribute, a tag such as `'de'`. Default: the browser's. */
  locale?: string;
  /** Words of the page's own by the keys of the panel's texts; `{ one, other }` where they go by a number. */
  strings?: Record<string, string | Record<string, string>>;
  /** The theme of elements without the attribute. Default: `'auto'`, the system's. */
  theme?: Theme;
  /** Gets every `mindset:error` of the page. */
  onError?: (error: ErrorDetail) => void;
  /** Time constants in milliseconds, for tests. */
  timing?: Timing;
}

/** How the panel looks; `auto` is as the system wants it. */
export type Theme = 'light' | 'dark' | 'auto';

/** Time constants in milliseconds, for tests. */
export interface Timing {
  /** No byte for this long ends a stream as broken. Default: 45,000. */
  heartbeat?: number;
  /** How long a request may go without an answer. Default: 30,000. */
  request?: number;
  /** How long a stopped turn may take to end by itself. Default: 3,000. */
  stop?: number;
  /** First pause before something is tried again; doubles up to `backoffMax`. Default: 1,000. */
  backoff?: number;
  /** Longest pause before something is tried again. Default: 30,000. */
  backoffMax?: number;
  /** How long stored messages may take. Default: 15,000. */
  history?: number;
  /** How long a broken stream is tried again while there is a network. Default: 300,000. */
  giveUp?: number;
  /** Credentials are renewed this long before their end. Default: 60,000. */
  renew?: number;
}

export type TokenAnswer = string | { token: string } | { authToken: string };

export interface SessionAnswer {
  token: string;
  /** The agent of elements that name none. */
  agentUid?: string;
  /** The conversation to go on with, where the element's attribute or the client's option names none. */
  conversationId?: string;
  /** When the token ends; of a JWT it is read from the token. ISO 8601, or milliseconds since the epoch. */
  expiresAt?: string | number;
}

/** Sets the page up, once, before or after elements exist. Rejects, never throws. */
export function init(config: InitConfig): Promise<void>;

/** The version of this package. */
export const version: string;

/** Data that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

/** A function of the page that the agent may call. */
export interface PageTool<Args = any> {
  /** 1 to 64 letters, digits, `_` or `-`; unique in the list. */
  name: string;
  /** What the model is told it does. */
  description: string;
  /** JSON Schema 2020-12 of the arguments, an object schema. Default: none. */
  parameters?: object;
  /** Runs in the page. What it gives, the model gets as JSON; what it throws, as an error with its message. */
  handler(args: Args, context: PageToolContext): unknown;
  /** What people read while it runs. Default: the name. */
  runningDescription?: string;
  /** What people read when it is done. */
  completedDescription?: string;
  /** It changes nothing. */
  readOnly?: boolean;
  /** Asks the person first: with a sentence of the element's, with this one, or with what the function says. */
  confirm?: boolean | string | ((args: Args) => string | Promise<string>);
  /** How long the handler may take, in milliseconds. Default: 60,000. */
  timeoutMs?: number;
}

export interface PageToolContext {
  /** Aborted when nobody waits any more: a time-out, or the turn was stopped. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  readonly conversationId: string;
}

/** A source that an answer names. */
export interface Citation {
  /** As it stands in the answer, for example `[1]`. */
  readonly marker: string;
  readonly title: string;
  readonly url?: string;
}

export interface SendOptions {
  /** Hides the message, not the answer. */
  silent?: boolean;
  /**
   * While a turn runs, instead of `busy`: a turn of its own afterwards, or a word to the running turn, which is the next
   * turn if it is not read. With `protocol: 'ag-ui'` `queue` waits in the page and `steer` is `invalid-request`.
   */
  whenBusy?: 'queue' | 'steer';
}

/** How a turn ended. */
export interface TurnResult {
  /** `steered`: the turn that was running has read the message, and has the reply. */
  status: 'finished' | 'error' | 'aborted' | 'steered';
  /** The last assistant message of the turn. */
  text?: string;
  conversationId: string;
  runId: string;
  error?: ErrorDetail;
  bound?: Bound;
  /** The questionnaire that the turn waits for: the agent is idle until it is answered. */
  pendingQuestion?: PendingQuestion;
}

/** Questions to a person, one step at a time. */
export interface Questionnaire {
  readonly id: string;
  readonly title?: string;
  readonly steps: readonly {
    readonly id: string;
    readonly question: string;
    readonly description?: string;
    readonly selectionMode: 'single' | 'multiple';
    /** None: the answer is a text. */
    readonly options?: readonly { readonly id: string; readonly label: string; readonly description?: string; readonly recommended?: boolean }[];
    readonly allowOther: boolean;
    readonly required: boolean;
  }[];
}

/** The answer to one step. */
export interface StepAnswer {
  stepId: string;
  selectedOptionIds?: string[];
  otherText?: string;
  skipped?: boolean;
}

/** A questionnaire that waits for answers. */
export interface PendingQuestion {
  questionId: string;
  /** The same id. */
  requestId: string;
  request: Questionnaire;
}

/** What a turn came to, for the agent API. */
export interface AgentResult {
  sessionId: string;
  /** The turn; not of a follow-up that was steered before anything was known of it. */
  turnId?: string;
  /** The model that the turn was given to. */
  model?: string;
  /** `steered`: the turn under way has read the message, and that one's call gets the reply. */
  status: 'finished' | 'error' | 'aborted' | 'steered';
  /** The last assistant message of the turn. */
  text?: string;
  /** With `error`. In Node its `code` is in upper case too. */
  error?: Omit<ErrorDetail, 'code'> & { readonly code: string };
  /** The turn waits for `answer()`. */
  pendingQuestion?: PendingQuestion;
}

/**
 * What methods of the agent API reject with, a `MindsetError` with codes of its own; known by its `name`. In a page
 * codes are in lower case (`queue_full`), in Node in upper case (`QUEUE_FULL`).
 */
export interface AgentError extends Error {
  readonly name: 'AgentError';
  /**
   * `busy`, `queue_full`, `request_not_found`, `session_not_found`, `question_pending`, `model_not_found`,
   * `agent_not_found`, `permission_denied`, `too_many_subscriptions`, `cancelled`, `agent_outcome_unknown`, or a code
   * of `MindsetError`.
   */
  readonly code: string;
  readonly retryable: boolean;
  readonly context?: Readonly<Record<string, unknown>>;
  /** How far the call came: not to the server, to an answer, or nobody knows. */
  readonly disposition: 'not_dispatched' | 'reported' | 'unknown_after_dispatch';
}

/** One thing that happened in a turn of the agent API. New types may be added; ignore those you do not know. */
export type AgentEvent = {
  /** Whose it is: the session of the call, or of a child that works for it. */
  readonly sessionId: string;
  /** The turn, as soon as it is known. */
  readonly turnId?: string;
} & (
  | { /** All slots are taken: `position` is the place in line, from 1. */ readonly type: 'run.queued'; readonly position: number }
  | { readonly type: 'turn.started'; readonly model?: string }
  | { readonly type: 'text.delta'; readonly messageId: string; readonly text: string }
  | { /** A whole message; a turn may have several. */ readonly type: 'message.committed'; readonly messageId: string; readonly text: string }
  | { readonly type: 'tool.started'; readonly toolCallId: string; readonly toolName: string }
  | { readonly type: 'tool.finished'; readonly toolCallId: string; readonly toolName: string; readonly ok: boolean }
  | {
      /** A call waits for `reply()`. */
      readonly type: 'permission.requested';
      readonly requestId: string;
      readonly toolCallId: string;
      readonly toolName: string;
      readonly reason: string;
      /** The arguments, as the tool will get them; pass-through values are masked. */
      readonly toolInput?: Readonly<Record<string, unknown>>;
    }
  | { readonly type: 'permission.resolved'; readonly requestId: string; readonly decision: 'allowOnce' | 'deny' }
  | ({ /** Comes right before `turn.finished`; `answer()` goes on. */ readonly type: 'question.requested' } & Readonly<PendingQuestion>)
  | ({ /** The last of a turn, equal to the result of the call. */ readonly type: 'turn.finished' } & Readonly<Omit<AgentResult, 'sessionId' | 'turnId'>>)
);

/** Who hears of a turn, and what ends it. */
export interface AgentCallOptions {
  /** Hears what happens. With it approvals wait for `reply()`; without it they are denied at once, unless an element shows the session. */
  onEvent?: (event: AgentEvent) => void;
  /** Cancels the call. */
  signal?: AbortSignal;
}

/** What a turn is run with. */
export interface AgentRun {
  text: string;
  /** A session of the application's to go on with; without it one is made. */
  sessionId?: string;
  /** One of `models()`, from this turn on in its session. */
  model?: string;
  /** One of `agents()`, for a new session. Default: the element's, the client's, else the application's. */
  agent?: string;
  /** While the session runs another turn: afterwards, or read by that turn. Without it: `busy`. */
  whenBusy?: 'queue' | 'steer';
  /** Names the call for `cancel()`. */
  requestId?: string;
}

/** One conversation, as `session()` tells it. */
export interface AgentSession {
  readonly sessionId: string;
  readonly state: 'idle' | 'running' | 'waiting';
  readonly model?: string;
  readonly agent: string;
  /** What the agent said last. */
  readonly reply?: string;
  readonly title: string;
  readonly updatedAt: string;
}

/** The agent API: an application runs turns for its user, and people decide. All methods reject with an `AgentError`. */
export interface AgentClient {
  /** Runs one turn; resolves when it is over, once, with what its `turn.finished` says. Needs `session.run`. */
  run(request: AgentRun, options?: AgentCallOptions): Promise<AgentResult>;
  /** Decides an approval; resolves when the decision counts. Whoever is second gets `request_not_found`. */
  reply(request: { sessionId?: string; requestId: string; decision: 'allowOnce' | 'deny' }): Promise<void>;
  /** Answers a questionnaire, or dismisses it, after its turn has come to rest; resolves when the turn that goes on is over. */
  answer(
    request: { sessionId?: string; questionId?: string; requestId?: string; model?: string } & ({ answers: readonly StepAnswer[]; dismissed?: false } | { dismissed: true }),
    options?: AgentCallOptions & { /** Names the call for `cancel()`. Default: the id of the question. */ requestId?: string },
  ): Promise<AgentResult>;
  /** Ends a call by the `requestId` that it was given. Nothing of it is heard any more. */
  cancel(requestId: string): Promise<void>;
  /** Shows a session in the element of the page, in which people go on with it. */
  open(sessionId: string): Promise<void>;
  /** The models that runs may name. */
  models(): Promise<{ models: readonly { readonly id: string; readonly name?: string; readonly default?: true }[] }>;
  /** The agents that the user may talk to. */
  agents(): Promise<{ agents: readonly { readonly agentUid: string; readonly name?: string; readonly description?: string; readonly default?: true }[] }>;
  /** Makes a session without running it. */
  create(request?: { agent?: string }): Promise<{ sessionId: string }>;
  /** The user's conversations, at most 50, the latest first. Needs `session.read`. */
  sessions(): Promise<{ sessions: readonly { readonly sessionId: string; readonly title: string; readonly agent: string; readonly createdAt: string; readonly updatedAt: string }[] }>;
  /** One of the user's conversations, which needs `session.read`, or of the application's sessions. In a page without an id the one that is shown, or nothing. */
  session(sessionId?: string): Promise<AgentSession | undefined>;
  /** Tells what happens in all of the user's conversations or in one; resolves when that ends. Needs `session.read`. */
  observe(
    request: { all: true } | { sessionId: string },
    options: { onEvent: (event: AgentEvent) => void; signal?: AbortSignal; /** Names it for `cancel()`. */ requestId?: string },
  ): Promise<{ /** Why: `cancelled`, or the runtime's word. */ reason: string }>;
  readonly capabilities: {
    /** Whether there is something: `agent.run`, for example, or `agent.whenBusy`. It does not say that it is allowed. */
    has(name: string): boolean;
  };
}

/** What an agent client is made with. */
export interface AgentClientOptions {
  /** The runtime. Default: the origin of the classic script; npm has none. */
  server?: string;
  appUid: string;
  /** The agent of calls that name none. Default: the session's of `getSession`, else the application's. */
  agentUid?: string;
  /** Gives a token of the user. In a page give this, or `getSession`. */
  fetchAuthentication?: () => TokenAnswer | Promise<TokenAnswer>;
  /** The newer form of `fetchAuthentication`. */
  getSession?: () => SessionAnswer | Promise<SessionAnswer>;
  /** In Node only: the key of the application, which gets tokens of the user itself. */
  apiKey?: string;
  /** With `apiKey`: the user's id with you. */
  externalUserId?: string;
  timing?: Timing;
}

/** Makes a client of the agent API for one user. Throws a `MindsetError` with `invalid-config`. */
export function createAgentClient(options: AgentClientOptions): AgentClient;

/** The limit that ended a turn before the job was done. */
export interface Bound {
  readonly reason: 'step_limit' | 'deadline' | 'spend_limit' | 'repetition';
  readonly limit: number;
  /** What `limit` counts, of a spend limit: `tokens`, or a currency. */
  readonly unit?: string;
}

/** A tool call of a failed turn that changed something, or may have. */
export interface Effect {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly source: 'page' | 'mcp' | 'builtin';
  readonly outcome: 'done' | 'unknown';
}

/** Something a tool wants drawn. Readers that do not know its kind show `summary`. */
export interface Widget {
  readonly kind: string;
  readonly doc: unknown;
  readonly summary: string;
  /** In the transcript: what the person did with it last. */
  readonly answer?: { readonly action: string; readonly payload?: unknown };
}

/** A message of the transcript. */
export interface Message {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly content: string;
  readonly createdAt?: string;
  readonly status?: 'stopped' | 'interrupted' | 'error';
  readonly citations?: readonly Citation[];
  /** What the message stands for; `content` is its summary then. */
  readonly widget?: Widget;
  /** What the person attached. */
  readonly files?: readonly { readonly id: string; readonly name: string; readonly type: string; readonly size: number }[];
  /** What its reader thinks of it. */
  readonly feedback?: { readonly rating: 'up' | 'down'; readonly comment?: string };
}

/** What a person thinks of an answer; `null` takes it back. */
export interface FeedbackDetail {
  readonly conversationId: string;
  readonly messageId: string;
  readonly rating: 'up' | 'down' | null;
  readonly comment?: string;
}

export interface TextDelta {
  readonly type: 'text_delta';
  readonly messageId: string;
  readonly content: string;
}

export interface Complete {
  readonly type: 'complete';
  /** On the DOM the messages of this turn, for a UI-less client all of them. */
  readonly messages: readonly Message[];
  readonly conversationId: string;
  readonly bound?: Bound;
  readonly usage?: unknown;
}

/** A tool really runs. */
export interface ToolStart {
  readonly type: 'tool_start';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly source: 'page' | 'mcp' | 'builtin';
  /** The MCP server. */
  readonly server?: string;
  readonly description?: string;
}

/** A call has ended. Its result is for the model only. */
export interface ToolEnd {
  readonly type: 'tool_end';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly ok: boolean;
  readonly description?: string;
  readonly error?: string;
  readonly durationMs: number;
}

/** One thing that happened in a turn. New types may be added; ignore those you do not know. */
export type RuntimeEvent =
  | TextDelta
  | ToolStart
  | ToolEnd
  | Complete
  | {
      readonly type: 'run_started';
      readonly runId: string;
      readonly conversationId: string;
      readonly model?: string;
      readonly disclosure?: string;
    }
  /** A message waits for its turn, at this place from 1; another turn may be under way. */
  | { readonly type: 'run_queued'; readonly runId: string; readonly position: number }
  | { readonly type: 'thinking_delta'; readonly content: string }
  | {
      readonly type: 'tool_announce';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly description?: string;
    }
  | {
      readonly type: 'permission_requested';
      readonly requestId: string;
      readonly toolCallId: string;
      readonly toolName: string;
      readonly reason: string;
      /** The arguments; pass-through values are named and masked. */
      readonly toolInput?: Readonly<Record<string, unknown>>;
      /** The session that asks, if it is a child's of this one. */
      readonly sessionId?: string;
    }
  | { /** It waits for its turn; `position` counts from 1. */ readonly type: 'run_queued'; readonly position: number }
  | { readonly type: 'permission_resolved'; readonly requestId: string; readonly decision: 'allowOnce' | 'deny' }
  | { readonly type: 'question_requested'; readonly questionId: string; readonly questionnaire: Questionnaire }
  | ({ readonly type: 'widget-payload'; readonly widgetId: string } & Widget)
  | { readonly type: 'suggestions'; readonly items: readonly string[] }
  | { readonly type: 'citations'; readonly messageId: string; readonly items: readonly Citation[] }
  | {
      readonly type: 'run_error';
      readonly message: string;
      readonly reason:
        | 'cancelled'
        | 'model_error'
        | 'tool_error'
        | 'timeout'
        | 'rate_limited'
        | 'context_too_long'
        | 'interrupted'
        | 'unauthorized'
        | 'internal';
      readonly aborted?: boolean;
      readonly retryable: boolean;
      readonly effects?: readonly Effect[];
    }
  | { readonly type: 'run_finished'; readonly runId: string };

/** Which conversation this is, and which it takes the place of. */
export interface ConversationId {
  readonly type: 'conversation_id';
  readonly conversationId: string;
  readonly replacedConversationId?: string;
  readonly replacedBecause?: 'discarded' | 'switched';
}

/** What a UI-less client hears besides runtime events. */
export type SdkEvent =
  | ConversationId
  | {
      /** Once for each conversation: its newest 200 messages, or none if there are none or they could not be read. */
      readonly type: 'history_settled';
      readonly messages: readonly Message[];
    }
  | {
      /** What `getSession` or `fetchAuthentication` gave cannot be used. `context` names the shape that came. */
      readonly type: 'session_error';
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      readonly context: { readonly received: string };
    }
  | ({ readonly type: 'error' } & ErrorDetail)
  | { readonly type: 'connection'; readonly state: 'online' | 'reconnecting' | 'offline' };

/** Everything a UI-less client hears. New types may be added; ignore those you do not know. */
export type ChatEvent = RuntimeEvent | SdkEvent;

/** A stored conversation. */
export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly agentUid?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** Whether it is the one that is open here. */
  readonly isOpen?: true;
}

/** What a UI-less client is made with. */
export interface ChatOptions {
  /** The runtime. Default: the origin of the classic script; npm has none. With `protocol: 'ag-ui'` the exact run URL. */
  server?: string;
  /** The application. Optional only with `protocol: 'ag-ui'`. */
  appUid?: string;
  /** The agent. Optional with `protocol: 'ag-ui'`, and where `getSession` names it. */
  agentUid?: string;
  protocol?: 'mindset' | 'ag-ui';
  /** Gives a token. Without it, and without `getSession`, the user is anonymous. */
  fetchAuthentication?: () => TokenAnswer | Promise<TokenAnswer>;
  /** The newer form of `fetchAuthentication`. Give one of the two. */
  getSession?: () => SessionAnswer | Promise<SessionAnswer>;
  /** The conversation to go on with. */
  conversationId?: string;
  situationalAwareness?: object;
  passthroughParams?: { readonly [key: string]: Json | undefined };
  pageTools?: readonly PageTool[];
  /** This code answers approvals and questionnaires, by `agent`. Without it approvals are denied at once. */
  approvals?: 'ask';
  /** Raises the limit of situational awareness from 10,000 to 20,000 characters. */
  extendedSituationalAwareness?: boolean;
  /** Sent for the person in a new conversation, after the first idle. */
  initialQuestion?: string;
  timing?: Timing;
}

/** What elements and UI-less clients do alike. */
interface Session {
  /** What the person is looking at: read by the agent with every message from the next one on. `{}` clears. */
  setSituationalAwareness(value: object): void;
  /** Values for parameters of tools, which the model never sees: from the next tool call on. `{}` clears. */
  setPassthroughParams(value: { readonly [key: string]: Json | undefined }): void;
  /** The tools of the page, all of them. `[]` clears. Throws a `TypeError` with `code: 'invalid-config'`. */
  setPageTools(tools: readonly PageTool[]): void;
  /** Sends a message when the agent is idle, in order. */
  sendWhenIdle(text: string, options?: SendOptions): Promise<TurnResult>;
  /** Sends the last message of a failed turn again. */
  retry(): Promise<TurnResult>;
  /** Cuts the conversation at a message of the user's own and sends `text` in its place. Throws `busy` or `invalid-request`. */
  editAndResend(messageId: string, text: string): Promise<TurnResult>;
  /** The text of the whole conversation; `markdown` unless it says otherwise. Rejects `invalid-request`. */
  exportTranscript(format?: 'markdown' | 'json'): Promise<string>;
  /** Uses a widget for the person: the agent hears of it. Throws `busy` or `invalid-request`, like a message. */
  widgetAction(widgetId: string, action: string, payload?: unknown): Promise<TurnResult>;
  /** Ends the turn, on the server too, and closes what people are asked. */
  stop(): Promise<void>;
  /** The agent API: for this conversation, and for sessions of the application's own beside it. */
  readonly agent: AgentClient;
  /** Shows the person a text for their message; they may change it, take it into the text box or drop it. `true`: taken. Without a panel it tells an error and gives `false`. */
  appendMessage(text: string): Promise<boolean>;
  /** Leaves this conversation; the next message begins a new one. */
  newConversation(): Promise<void>;
  /** Leaves this conversation and opens another. */
  switchConversation(id: string): Promise<void>;
  /** The user's conversations, the latest first. */
  conversations(): Promise<Conversation[]>;
  /** Gives a conversation a title of 1 to 200 characters. */
  renameConversation(id: string, title: string): Promise<void>;
  /** Deletes a conversation; the open one is left for a new one. */
  deleteConversation(id: string): Promise<void>;
  /** Shows messages from before the first one that is there; `true` if there are more still. */
  loadEarlier(): Promise<boolean>;
}

/** A conversation without an element: in a page, a worker or Node. */
export interface Chat extends Session {
  /** Has `listener` hear every event from now on; gives what ends that. */
  on(listener: (event: ChatEvent) => void): () => void;
  /** Sends a message. Throws a `MindsetError` with `busy` or `invalid-request`; the promise never rejects. */
  send(text: string, options?: SendOptions): Promise<TurnResult>;
  /** Whether a turn runs or a sent message waits for one. */
  readonly isBusy: boolean;
  /** The conversation, once it is known. */
  readonly conversationId: string | undefined;
  /** The transcript, oldest first. */
  readonly messages: readonly Message[];
  /** Ends everything here: streams, timers and promises. A turn goes on at the server. */
  close(): void;
}

/** Makes a conversation without an element. Throws a `MindsetError` with `invalid-config`. */
export function createChat(options: ChatOptions): Chat;

/** The events of the element. All bubble and cross shadow boundaries. */
export interface MindsetAgentEventMap {
  'mindset:agent-registered': CustomEvent<{ readonly headless: boolean }>;
  'mindset:agent-initializing': CustomEvent<Readonly<Record<string, never>>>;
  'mindset:agent-idle': CustomEvent<{ readonly conversationId?: string }>;
  'mindset:agent-busy': CustomEvent<{ readonly runId: string }>;
  'mindset:runtime-event': CustomEvent<RuntimeEvent>;
  'mindset:text-delta': CustomEvent<TextDelta>;
  'mindset:tool-start': CustomEvent<ToolStart>;
  'mindset:tool-end': CustomEvent<ToolEnd>;
  'mindset:complete': CustomEvent<Complete>;
  'mindset:conversation': CustomEvent<ConversationId>;
  'mindset:thread-changed': CustomEvent<{ readonly threadUid: string }>;
  'mindset:feedback': CustomEvent<FeedbackDetail>;
  'mindset:error': CustomEvent<ErrorDetail>;
  'mindset:message-action': CustomEvent<{ readonly name: string; readonly messageId: string }>;
  'mindset:open': CustomEvent<Readonly<Record<string, never>>>;
  'mindset:close': CustomEvent<Readonly<Record<string, never>>>;
}

/** `<mindset-agent>`. */
export interface MindsetAgentElement extends HTMLElement, Session {
  /** `agent-uid`: the agent, plain or `agentUid::sessionUid`. */
  agentUid: string | null;
  /** `app-uid`: the application, where `init` does not name it. */
  appUid: string | null;
  /** `server`: the runtime, where it is not the one of `init`. */
  server: string | null;
  /** `uploads`: people may attach files, if the agent takes some. */
  uploads: boolean;
  /** `headless`: draws nothing. */
  headless: boolean;
  /** `approvals`: `ask` lets a headless page answer approvals and questionnaires itself, by `agent`. */
  approvals: 'ask' | null;
  /** `heading`: the text on top of the panel. */
  heading: string | null;
  /** `initial-question`: sent for the person in a new conversation, after the first idle. */
  initialQuestion: string | null;
  /** `image-origins`: origins from which pictures in answers may be loaded, parted by spaces or commas. */
  imageOrigins: string | null;
  /** `placeholder`: the hint in the empty text box. */
  placeholder: string | null;
  /** `disabled`: closes the composer; a text says why. Reads as a boolean. */
  get disabled(): boolean;
  set disabled(reason: boolean | string);
  /** `forget-drafts`: what is being written is not kept for the next page load. */
  forgetDrafts: boolean;
  /** `layout`: where the panel stands. Default: `inline`. */
  layout: 'inline' | 'bubble' | 'panel' | null;
  /** `open`: whether a bubble or panel is open. */
  open: boolean;
  /** `theme`: light, dark or as the system wants it. Default: what `init` says. */
  theme: Theme | null;
  /** `conversation-id`: the conversation to go on with; another value later switches to it. */
  conversationId: string | null;
  /** `locale`: the language of the panel. Default: what `init` says, then the browser's. */
  locale: string | null;
  /** `situational-awareness`: takes an object, or the JSON text of the attribute; reads the attribute. */
  get situationalAwareness(): string | null;
  set situationalAwareness(value: object | string | null | undefined);
  /** `passthrough-params`: takes an object, or the JSON text of the attribute; reads the attribute. */
  get passthroughParams(): string | null;
  set passthroughParams(value: object | string | null | undefined);
  /** Sends a message. Throws a `MindsetError` with `busy` or `invalid-request`; the promise never rejects. */
  sendMessage(text: string, options?: SendOptions): Promise<TurnResult>;
  isAgentBusy(): boolean;
  addEventListener<K extends keyof MindsetAgentEventMap>(
    type: K,
    listener: (this: MindsetAgentElement, event: MindsetAgentEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'mindset-agent': MindsetAgentElement;
  }
  interface Window {
    /** Defined by the classic script. */
    mindset: { init: typeof init; createAgentClient: typeof createAgentClient; createChat: typeof createChat; version: string; MindsetError: typeof MindsetError };
  }
}
