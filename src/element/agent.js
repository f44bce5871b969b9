// `createAgentClient`, `element.agent` and `chat.agent`: the agent API, whose methods do their work in a chunk.

import { MindsetError } from './loader.js';

/** Its methods, by name. */
const METHODS = ['run', 'reply', 'answer', 'cancel', 'open', 'models', 'agents', 'create', 'sessions', 'session', 'observe'];

/**
 * The agent API. `place` says whose it is: `loader`, and either `given`, what a page has handed over for it, or the
 * `client` and the `calls` of a conversation.
 */
export function agentOf(place) {
  let api;
  const has = (name) => (name === 'agent.open' ? Boolean(globalThis.document) : name === 'agent.whenBusy' || METHODS.some((method) => name === `agent.${method}`));
  const agent = { capabilities: Object.freeze({ has }) };
  for (const name of METHODS) {
    agent[name] = async (...args) => {
      const Api = await place.loader.chunk('api');
      return (api ??= new Api(place, MindsetError))[name](...args);
    };
  }
  return Object.freeze(agent);
}
