// A chat in the terminal: `node examples/terminal-chat.mjs [server] [app] [agent]`.
// Ctrl-C stops the answer, and leaves when there is none.
import { createInterface } from 'node:readline';

import { createChat } from 'mindset-agent';

const [server = 'http://127.0.0.1:8787', appUid = 'demo', agentUid = 'demo'] = process.argv.slice(2);

const chat = createChat({
  server,
  appUid,
  agentUid,
  pageTools: [
    {
      name: 'local_time',
      description: 'Tells the date and the time on this computer',
      readOnly: true,
      handler: () => new Date().toString(),
    },
  ],
});

const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '\n> ' });
const say = (text) => process.stdout.write(text);
const show = {
  text_delta: ({ content }) => say(content),
  tool_start: ({ toolName, description }) => say(`\n[${description ?? toolName} …]`),
  tool_end: ({ ok, error }) => say(ok ? ' [done]\n' : ` [failed: ${error}]\n`),
  run_error: ({ aborted, message }) => say(aborted ? ' [stopped]' : `\n[${message}]`),
  complete: ({ bound }) => bound && say(`\n[stopped at a limit: ${bound.reason}]`),
  connection: ({ state }) => say(`\n[${state}]\n`),
  error: ({ message }) => say(`\n[${message}]`),
};
chat.on((event) => show[event.type]?.(event));

const interrupt = () => (chat.isBusy ? chat.stop() : lines.close());
lines.on('SIGINT', interrupt);
process.on('SIGINT', interrupt);

lines.prompt();
lines.on('line', (text) => text.trim() && chat.sendWhenIdle(text).then(() => lines.prompt()));
// Piped input ends before its answers do.
lines.on('close', () => (chat.isBusy ? undefined : chat.close()));
