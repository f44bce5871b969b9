// The board's tools for the agent: an MCP server over the very cards that the page shows.

import { McpServer, createMcpHandler, fromJsonSchema, inputRequired, inputResponse } from '@modelcontextprotocol/server';

import { COLUMNS, FOCUS } from './board.mjs';

const NOTHING = { type: 'object', properties: {}, additionalProperties: false };
const MOVE = {
  type: 'object',
  properties: {
    card: { type: 'string', pattern: '^C-[0-9]+$', description: 'The id of the card, such as C-3.' },
    column: { enum: COLUMNS, description: 'Where it goes.' },
  },
  required: ['card', 'column'],
  additionalProperties: false,
};
const ADD = {
  type: 'object',
  properties: { title: { type: 'string', description: 'What is to be done.' } },
  required: ['title'],
  additionalProperties: false,
};
const WEEK = {
  message: 'What is this week about?',
  requestedSchema: {
    type: 'object',
    properties: {
      focus: {
        type: 'string',
        title: 'What comes first?',
        oneOf: Object.entries(FOCUS).map(([id, { title }]) => ({ const: id, title })),
      },
    },
    required: ['focus'],
  },
};

const say = (text) => ({ content: [{ type: 'text', text }] });

/** The handler of the endpoint. */
export function tools(board) {
  return createMcpHandler(() => {
    const mcp = new McpServer({ name: 'board', version: '1.0.0' });
    const tool = (name, description, schema, run) =>
      mcp.registerTool(name, { description, inputSchema: fromJsonSchema(schema) }, run);
    tool('summarize_board', 'Sums up what is on the board.', NOTHING, () => say(board.summary()));
    tool('move_card', 'Moves one card to another column.', MOVE, ({ card, column }) => {
      const { id, title } = board.move(card, column);
      return say(`${id} “${title}” is in “${column}” now.`);
    });
    tool('add_card', 'Adds a card to the board.', ADD, ({ title }) => say(`Added as ${board.add(title).id}.`));
    tool('plan_week', 'Asks the person what the week is about, then marks the cards that come first.', NOTHING, (_, context) => {
      const answer = inputResponse(context.mcpReq.inputResponses, 'week');
      if (answer.kind === 'missing') {
        return inputRequired({ inputRequests: { week: inputRequired.elicit(WEEK) }, requestState: 'week' });
      }
      if (answer.action !== 'accept') return say('The person did not want to plan now. Nothing was changed.');
      const { focus } = answer.content;
      const ids = board.plan(focus).map(({ id }) => id);
      return say(`“${FOCUS[focus].title}”: ${ids.join(', ') || 'no card fits'}.`);
    });
    return mcp;
  });
}
