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
  | 'busy'
  | 'conflict'
  | 'gone'
  | 'too-large'
  | 'rate-limited'
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
  /** Gets every `mindset:error` of the page. */
  onError?: (error: ErrorDetail) => void;
  /** Time constants in milliseconds, for tests. */
  timing?: { heartbeat?: number; request?: number; stop?: number; backoff?: number; backoffMax?: number };
}

export type TokenAnswer = string | { token: string } | { authToken: string };

export interface SessionAnswer {
  token: string;
  /** The agent of elements that name none. */
  agentUid?: string;
  /** Not used yet. */
  conversationId?: string;
  /** ISO 8601, or milliseconds since the epoch. */
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
}

/** How a turn ended. */
export interface TurnResult {
  status: 'finished' | 'error' | 'aborted';
  /** The last assistant message of the turn. */
  text?: string;
  conversationId: string;
  runId: string;
  error?: ErrorDetail;
  bound?: Bound;
}

/** The limit that ended a turn before the job was done. */
export interface Bound {
  readonly reason: 'step_limit' | 'deadline' | 'spend_limit' | 'repetition';
  readonly limit: number;
}

/** A message of the transcript. */
export interface Message {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly content: string;
  readonly createdAt?: string;
  readonly status?: 'stopped' | 'interrupted' | 'error';
  readonly citations?: readonly Citation[];
}

export interface TextDelta {
  readonly type: 'text_delta';
  readonly messageId: string;
  readonly content: string;
}

export interface Complete {
  readonly type: 'complete';
  /** The messages of this turn. */
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
    }
  | { readonly type: 'permission_resolved'; readonly requestId: string; readonly decision: 'allowOnce' | 'deny' }
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
      readonly effects?: readonly unknown[];
    }
  | { readonly type: 'run_finished'; readonly runId: string };

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
  'mindset:conversation': CustomEvent<{
    readonly conversationId: string;
    readonly replacedConversationId?: string;
    readonly replacedBecause?: 'discarded' | 'switched';
  }>;
  'mindset:thread-changed': CustomEvent<{ readonly threadUid: string }>;
  'mindset:error': CustomEvent<ErrorDetail>;
}

/** `<mindset-agent>`. */
export interface MindsetAgentElement extends HTMLElement {
  /** `agent-uid`: the agent, plain or `agentUid::sessionUid`. */
  agentUid: string | null;
  /** `app-uid`: the application, where `init` does not name it. */
  appUid: string | null;
  /** `server`: the runtime, where it is not the one of `init`. */
  server: string | null;
  /** `headless`: draws nothing. */
  headless: boolean;
  /** `heading`: the text on top of the panel. */
  heading: string | null;
  /** `placeholder`: the hint in the empty text box. */
  placeholder: string | null;
  /** `situational-awareness`: takes an object, or the JSON text of the attribute; reads the attribute. */
  get situationalAwareness(): string | null;
  set situationalAwareness(value: object | string | null | undefined);
  /** `passthrough-params`: takes an object, or the JSON text of the attribute; reads the attribute. */
  get passthroughParams(): string | null;
  set passthroughParams(value: object | string | null | undefined);
  /** What the person is looking at: read by the agent with every message from the next one on. `{}` clears. */
  setSituationalAwareness(value: object): void;
  /** Values for parameters of tools, which the model never sees: from the next tool call on. `{}` clears. */
  setPassthroughParams(value: { readonly [key: string]: Json | undefined }): void;
  /** The tools of the page, all of them. `[]` clears. Throws a `TypeError` with `code: 'invalid-config'`. */
  setPageTools(tools: readonly PageTool[]): void;
  /** Sends a message. Throws a `MindsetError` with `busy` or `invalid-request`; the promise never rejects. */
  sendMessage(text: string, options?: SendOptions): Promise<TurnResult>;
  /** Sends a message when the agent is idle, in order. */
  sendWhenIdle(text: string, options?: SendOptions): Promise<TurnResult>;
  /** Sends the last message of a failed turn again. */
  retry(): Promise<TurnResult>;
  isAgentBusy(): boolean;
  /** Ends the turn, on the server too. */
  stop(): Promise<void>;
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
    mindset: { init: typeof init; version: string; MindsetError: typeof MindsetError };
  }
}
