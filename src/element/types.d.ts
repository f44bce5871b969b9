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

/** One thing that happened in a turn. New types may be added; ignore those you do not know. */
export type RuntimeEvent =
  | TextDelta
  | Complete
  | {
      readonly type: 'run_started';
      readonly runId: string;
      readonly conversationId: string;
      readonly model?: string;
      readonly disclosure?: string;
    }
  | { readonly type: 'thinking_delta'; readonly content: string }
  | { readonly type: 'tool_announce'; readonly toolCallId: string; readonly toolName: string }
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
