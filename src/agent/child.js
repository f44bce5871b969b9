// What an agent says that works for a turn: events of its own session, from those of the run that waits for it.

/** The events of the agent API, by the type of what came; each gives `[type, fields]`, or nothing. */
const HEARD = {
  TEXT_MESSAGE_CONTENT: ({ messageId, delta }, texts) => {
    texts.set(messageId, (texts.get(messageId) ?? '') + delta);
    return ['text.delta', { messageId, text: delta }];
  },
  TEXT_MESSAGE_END: ({ messageId }, texts) => {
    const text = texts.get(messageId);
    texts.delete(messageId);
    return text && ['message.committed', { messageId, text }];
  },
  CUSTOM: ({ name, value }) => name === 'mindset.tool_start' && ['tool.started', { toolCallId: value.toolCallId, toolName: value.toolName }],
  TOOL_CALL_RESULT: ({ toolCallId, metadata }) => {
    const { toolName, ok = true } = metadata?.mindset ?? {};
    return ['tool.finished', { toolCallId, toolName, ok }];
  },
};

/** Gives what tells `tell(type, fields, sessionId)` of the events of a turn's children. */
export function hearing(tell) {
  /** Messages that come in. */
  const texts = new Map();
  return ({ subagentRunId, ...event }) => {
    const told = HEARD[event.type]?.(event, texts);
    if (told) tell(...told, subagentRunId);
  };
}
