// The demo page: calls the element's methods and shows its events.

const agent = document.getElementById('agent');
const log = document.getElementById('log');
const call = document.getElementById('call');
const stop = document.getElementById('stop');

const EVENTS = [
  'agent-registered',
  'agent-initializing',
  'agent-idle',
  'agent-busy',
  'runtime-event',
  'text-delta',
  'complete',
  'conversation',
  'thread-changed',
  'error',
];
const LONGEST_LOG = 300;

for (const name of EVENTS) {
  agent.addEventListener(`mindset:${name}`, (event) => show(name, event.detail));
}
agent.addEventListener('mindset:agent-busy', () => (stop.disabled = false));
agent.addEventListener('mindset:agent-idle', () => (stop.disabled = true));

function show(name, detail) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 8;
  const last = log.lastElementChild;
  const title = name === 'runtime-event' ? `runtime-event · ${detail.type}` : name;
  // Deltas come by the hundred: each kind keeps one line that counts.
  const counted = detail.type === 'text_delta' || detail.type === 'thinking_delta';
  const line = (counted && [last, last?.previousElementSibling].find((item) => item?.dataset.title === title)) || add(title, name);
  line.count += 1;
  line.querySelector('b').textContent = line.count > 1 ? `${title} × ${line.count}` : title;
  line.querySelector('code').textContent = JSON.stringify(detail);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function add(title, name) {
  const line = document.createElement('li');
  line.dataset.title = title;
  line.dataset.kind = name;
  line.count = 0;
  line.append(document.createElement('b'), document.createElement('code'));
  log.append(line);
  if (log.children.length > LONGEST_LOG) log.firstElementChild.remove();
  return line;
}

function send(text, options) {
  call.textContent = `agent.sendMessage(${[`'${text}'`, options && '{ silent: true }'].filter(Boolean).join(', ')})`;
  try {
    agent.sendMessage(text, options).then((result) => show('result', result));
  } catch (error) {
    show('thrown', { code: error.code, message: error.message });
  }
}

document.getElementById('ask').addEventListener('click', () => send('hello'));
document.getElementById('ask-silently').addEventListener('click', () => send('Greet me', { silent: true }));
stop.addEventListener('click', () => agent.stop());
document.getElementById('clear').addEventListener('click', () => log.replaceChildren());

const close = '</script>';
const lines = [
  '<!doctype html>',
  `<script src="${new URL('mindset-agent.js', document.baseURI).href}">${close}`,
  '<mindset-agent app-uid="demo" agent-uid="demo"></mindset-agent>',
].join('\n');
document.getElementById('embed').textContent = lines;
const copy = document.getElementById('copy');
copy.addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(lines);
    copy.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(document.getElementById('embed'));
    copy.textContent = 'Selected';
  }
  setTimeout(() => (copy.textContent = 'Copy'), 2000);
});
