// Writes a transcript for people to keep, as JSON or as Markdown. An answer is Markdown and stays
// as it is; what a person wrote, titles and names are text, and are escaped.

/** Whatever means something to a reader of Markdown or HTML. */
const SPECIAL = /[\\`*_{}[\]()<>#+\-.!|~&:@"'=$^%]/g;
const AUTHORS = { user: 'You', assistant: 'Assistant' };
const STATES = { done: 'done', failed: 'failed', stopped: 'stopped', running: 'not finished' };

/** The text of what `Session::export` gives. */
export default function transcript({ conversationId, isWhole, messages }, format) {
  if (format === 'json') return `${JSON.stringify({ conversationId, isWhole, messages }, undefined, 2)}\n`;
  const parts = ['# Conversation'];
  if (!isWhole) parts.push('*Older messages are not in this file.*');
  for (const message of messages) parts.push(message.role === 'tool' ? step(message) : said(message));
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

function step({ content, toolName, state, durationMs, outcome }) {
  const words = [STATES[state]];
  if (durationMs !== undefined) words.push(`${durationMs} ms`);
  if (outcome === 'done') words.push('changed something');
  if (outcome === 'unknown') words.push('may have changed something');
  const name = content === toolName ? '' : ` \\(${line(toolName)}\\)`;
  return `> Step: ${line(content)}${name}: ${words.join(', ')}`;
}

function said({ role, content, createdAt, status, citations = [], widget, feedback }) {
  const isAnswer = role === 'assistant' && !widget;
  const parts = [`## ${AUTHORS[role]}${createdAt ? `, ${line(createdAt)}` : ''}`];
  parts.push(isAnswer ? closed(content) : plain(content));
  if (status) parts.push(`*${status}*`);
  if (citations.length) parts.push(citations.map(source).join('\n'));
  if (feedback) parts.push(`*Rated ${feedback.rating === 'up' ? 'good' : 'bad'}*${feedback.comment ? `: ${line(feedback.comment)}` : ''}`);
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
