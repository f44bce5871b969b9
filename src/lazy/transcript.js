// Writes a transcript for people to keep, as JSON or as Markdown. An answer is Markdown and stays
// as it is; what a person wrote, titles and names are text, and are escaped.

/** Whatever means something to a reader of Markdown or HTML. */
const SPECIAL = /[\\`*_{}[\]()<>#+\-.!|~&:@"'=$^%]/g;
const AUTHORS = { user: 'you', assistant: 'assistant' };
const STATES = { done: 'toolDone', failed: 'toolFailed', stopped: 'toolStopped', running: 'toolRunning' };
/** The panel's texts of these keys: the panel may not be there. */
const ENGLISH = {
  conversation: 'Conversation',
  olderMissing: 'Older messages are not in this file.',
  you: 'You',
  assistant: 'Assistant',
  toolName: 'Tool',
  toolDone: 'Done',
  toolFailed: 'Failed',
  toolStopped: 'Stopped',
  toolRunning: 'Running',
  noticeDone: 'Done already: {names}.',
  noticeUnknown: 'May have acted: {names}.',
  stopped: 'Stopped',
  interrupted: 'Interrupted',
  error: 'Incomplete',
  good: 'Good answer',
  bad: 'Bad answer',
};

/** The text of what `Session::export` gives, in the language of an element if there is one. */
export default function transcript({ conversationId, isWhole, messages }, format, { locale = 'en', table, strings } = {}) {
  if (format === 'json') return `${JSON.stringify({ conversationId, isWhole, messages }, undefined, 2)}\n`;
  const text = (key) => line(strings?.[key] ?? table?.[key] ?? ENGLISH[key]);
  const time = new Intl.NumberFormat(locale, { style: 'unit', unit: 'second', maximumFractionDigits: 2 });
  const parts = [`# ${text('conversation')}`];
  if (!isWhole) parts.push(`*${text('olderMissing')}*`);
  for (const message of messages) parts.push(message.role === 'tool' ? step(message, text, time) : said(message, text));
  return `${parts.join('\n\n')}\n`;
}

/** Text that reads the same as Markdown, line by line. */
function plain(text) {
  return text
    .split(/\r\n|[\r\n]/)
    .map((line) => line.trim().replace(SPECIAL, '\\$&'))
    .join('  \n')
    .replace(/( {2}\n)+( {2}\n)/g, '\n\n');
}

/** The same on one line. */
function line(text) {
  return plain(text.replace(/\s+/g, ' '));
}

function step({ content, toolName, state, durationMs, outcome }, text, time) {
  const words = [text(STATES[state])];
  if (durationMs !== undefined) words.push(line(time.format(durationMs / 1_000)));
  const acted = { done: 'noticeDone', unknown: 'noticeUnknown' }[outcome];
  // What stands in braces is escaped with them.
  if (acted) words.push(text(acted).replace('\\{names\\}', line(toolName)));
  const name = content === toolName ? '' : ` \\(${line(toolName)}\\)`;
  return `> ${text('toolName')}: ${line(content)}${name}: ${words.join(', ')}`;
}

function said({ role, content, createdAt, status, citations = [], widget, feedback }, text) {
  const isAnswer = role === 'assistant' && !widget;
  const parts = [`## ${text(AUTHORS[role])}${createdAt ? `, ${line(createdAt)}` : ''}`];
  parts.push(isAnswer ? closed(content) : plain(content));
  if (status) parts.push(`*${text(status)}*`);
  if (citations.length) parts.push(citations.map(source).join('\n'));
  if (feedback) parts.push(`*${text(feedback.rating === 'up' ? 'good' : 'bad')}*${feedback.comment ? `: ${line(feedback.comment)}` : ''}`);
  return parts.join('\n\n');
}

function source({ marker, title, url }) {
  const address = /^https?:\/\//i.test(url) ? ` ${line(url)}` : '';
  return `- ${line(marker)} ${line(title)}${address}`;
}

/**
 * An answer as it was written, but for what a reader could take for HTML, and for code that was
 * left open: it would take in all that follows.
 */
function closed(text) {
  let fence;
  const lines = text.split(/\r\n|[\r\n]/).map((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence) {
      if (mark && mark[1][0] === fence[0] && mark[1].length >= fence.length && !mark[2].trim()) fence = undefined;
      return line;
    }
    if (mark && !(mark[1][0] === '`' && mark[2].includes('`'))) {
      fence = mark[1];
      return line;
    }
    return line.replace(/<(?=[a-z/!?])/gi, '\\<');
  });
  if (fence) lines.push(fence);
  return lines.join('\n');
}
