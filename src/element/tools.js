// The page's tools: their lists checked, their handlers kept and run. Which call runs
// when, and with which arguments, the module decides.

import { member, shape, thrown } from '../convert.js';
import { toJson } from './values.js';

const LATE = 'Nobody waits for this call any more: it took too long, or the turn was stopped.';

/** A field of a tool: its name, what fits, and whether it must be there. */
const FIELDS = [
  ['name', 'a text', (value) => typeof value === 'string', true],
  ['description', 'a text', (value) => typeof value === 'string', true],
  ['parameters', 'a JSON Schema object', (value) => typeof value === 'object' && !Array.isArray(value)],
  ['handler', 'a function', (value) => typeof value === 'function', true],
  ['runningDescription', 'a text', (value) => typeof value === 'string'],
  ['completedDescription', 'a text', (value) => typeof value === 'string'],
  ['readOnly', 'true or false', (value) => typeof value === 'boolean'],
  ['confirm', 'true, false, a text or a function', (value) => /^(boolean|string|function)$/.test(typeof value)],
  ['timeoutMs', 'a number of milliseconds above 0', (value) => typeof value === 'number' && value >= 1 && value < 2 ** 31],
];

/** Reads a list; throws a `TypeError` that names tool and reason. */
export function readTools(list) {
  const refuse = (message) => {
    throw toolError({ message });
  };
  if (!Array.isArray(list)) refuse(`setPageTools wants a list of tools; it got ${shape(list)}.`);
  const handlers = new Map();
  const tools = list.map((tool, at) => {
    if (typeof tool !== 'object' || !tool) refuse(`Page tool ${at + 1} must be an object; it is ${shape(tool)}.`);
    const given = {};
    const named = () => `Page tool ${at + 1}${typeof given.name === 'string' ? ` (\`${given.name.slice(0, 64)}\`)` : ''}`;
    for (const [name, wanted, fits, isNeeded] of FIELDS) {
      let value;
      try {
        value = tool[name] ?? undefined;
      } catch (error) {
        refuse(`${named()}: ${name} cannot be read: ${thrown(error).replace(/\.?$/, '.')}`);
      }
      if (value === undefined ? isNeeded : !fits(value)) refuse(`${named()}: ${name} must be ${wanted}; it is ${shape(value)}.`);
      given[name] = value;
    }
    const { handler, confirm, timeoutMs, parameters, ...rest } = given;
    handlers.set(given.name, { tool, handler, confirm });
    let schema;
    try {
      schema = parameters && JSON.parse(toJson(parameters, 'parameters'));
    } catch (error) {
      refuse(`${named()}: ${error.message}`);
    }
    // null: the function is asked for each call.
    return { ...rest, parameters: schema, confirm: typeof confirm === 'function' ? null : confirm, timeoutMs: timeoutMs && Math.ceil(timeoutMs) };
  });
  return { text: JSON.stringify(tools), handlers };
}

/** What `setPageTools` throws. */
export function toolError({ code = 'invalid-config', message, retryable = false, context }) {
  return Object.assign(new TypeError(message), { code, retryable, ...(context && { context }) });
}

/** The words of whatever was thrown, for the model: never a stack. */
function said(error) {
  const words = [member(error, 'message'), error].find((text) => typeof text === 'string' && text.trim());
  return words ?? 'It failed without saying why.';
}

/** The tools of one element. */
export class Tools {
  #handlers = new Map();
  #running = new Map();

  /** Swaps the handlers; those that run go on to their end. */
  accept(handlers) {
    this.#handlers = handlers;
  }

  /**
   * Runs a handler, or with `asks` the function that says what the person is asked. `tell`
   * hears the end, once, with `{ id, text, failed }`, unless the call was aborted.
   */
  async run(tell, asks, id, name, args, toolCallId, conversationId) {
    const { tool, handler, confirm } = this.#handlers.get(name) ?? {};
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(id, controller);
    let text;
    let failed = false;
    try {
      // The module has come to rest before code of the page runs.
      await null;
      if (signal.aborted) return;
      if (!tool) throw 'The page offers this tool no more.';
      const given = JSON.parse(args);
      if (asks) {
        text = await confirm.call(tool, given);
        if (typeof text !== 'string' || !text.trim()) throw `Its confirm function must give a text; it gave ${shape(text)}.`;
      } else {
        text = toJson(await handler.call(tool, given, { signal, toolCallId, conversationId }), 'result') ?? 'null';
      }
    } catch (error) {
      failed = true;
      text = said(error);
    }
    if (signal.aborted) return;
    this.#running.delete(id);
    tell('ran', { asks, id, text, failed });
  }

  /** Nobody waits for this call any more, or without an id for any. */
  abort(id) {
    for (const [each, controller] of this.#running) {
      if (id !== undefined && each !== id) continue;
      this.#running.delete(each);
      controller.abort(new DOMException(LATE, 'AbortError'));
    }
  }
}
