// `element.agent` and `chat.agent`: the agent API, whose methods do their work in a chunk.

import { MindsetError } from './loader.js';

/** Its methods, by name. */
const METHODS = ['reply', 'answer', 'cancel'];

/** The agent API of one conversation, whose `calls` are given; `chunk(name)` loads a part of the script. */
export function agentOf(calls, chunk) {
  let api;
  const agent = { capabilities: Object.freeze({ has: (name) => METHODS.some((method) => name === `agent.${method}`) }) };
  for (const name of METHODS) {
    agent[name] = async (...args) => {
      const Api = await chunk('api');
      return (api ??= new Api(calls, MindsetError))[name](...args);
    };
  }
  return Object.freeze(agent);
}
