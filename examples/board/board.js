// The page: the cards, the desk where the agent works for the board, and what is said in the chat.

import { Desk } from './desk.js';

const RUNTIME = new URL(document.querySelector('script[src$="mindset-agent.js"]').src).origin;
const COLUMNS = ['To do', 'Doing', 'Done'];
/** Lines of what was observed. */
const SEEN = 6;

const chat = document.getElementById('agent');
const byId = (id) => document.getElementById(id);

async function getSession() {
  const answer = await fetch('session', { method: 'POST' });
  if (!answer.ok) throw new Error(`the board answers ${answer.status}: is the runtime up?`);
  return answer.json();
}

mindset.init({ appUid: 'board', getSession }).catch((error) => console.error(error));
const agent = mindset.createAgentClient({ server: RUNTIME, appUid: 'board', getSession });
new Desk(agent, { turns: byId('turns'), form: byId('ask'), stop: byId('stop'), tasks: document.querySelectorAll('[data-task]') });

/** A node with a class and what is in it. */
function node(name, className, ...content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

function draw(cards) {
  const columns = COLUMNS.map((column) => {
    const own = cards.filter((card) => card.column === column);
    const head = node('h2', '', column, node('span', 'count', String(own.length)));
    const list = node('ul', '', ...own.map(item));
    return node('section', 'column', head, list);
  });
  byId('columns').replaceChildren(...columns);
}

function item(card) {
  const about = [card.owner || 'nobody yet', card.days === 1 ? '1 day' : `${card.days} days`].join(' · ');
  const where = node('select', '', ...COLUMNS.map((column) => new Option(column, column, false, column === card.column)));
  where.setAttribute('aria-label', `Column of ${card.id}`);
  where.addEventListener('change', () => move(card, where));
  const talk = node('button', 'link', 'Discuss');
  talk.type = 'button';
  talk.addEventListener('click', () => discuss(card));
  const id = node('span', 'id', card.id);
  const planned = card.isPlanned ? [node('span', 'planned', 'This week')] : [];
  const made = node('li', 'item', node('p', 'line', id, ...planned), node('p', 'title', card.title), node('p', 'about', about), node('div', 'row', where, talk));
  made.dataset.card = card.id;
  return made;
}

async function move({ id, column }, select) {
  const body = JSON.stringify({ id, column: select.value });
  const moved = await fetch('move', { method: 'POST', body }).catch(() => undefined);
  if (!moved?.ok) select.value = column;
}

/** Hands text to the chat's composer; the person changes it, sends it or drops it. */
async function discuss({ id, title }) {
  chat.open = true;
  await chat.appendMessage(`What should we do about ${id} “${title}”?`);
}

const source = new EventSource('cards');
source.addEventListener('message', ({ data }) => {
  byId('live').textContent = 'Live';
  draw(JSON.parse(data));
});
source.addEventListener('error', () => { byId('live').textContent = 'Connecting'; });

/** Shows the last replies of every conversation of the person. */
function seen(event) {
  if (event.type !== 'message.committed' || !event.text) return;
  const list = byId('seen');
  list.prepend(node('li', '', event.text));
  while (list.children.length > SEEN) list.lastElementChild.remove();
}
agent.observe({ all: true }, { onEvent: seen }).then(
  ({ reason }) => { byId('watching').textContent = `The board observes no more (${reason}).`; },
  (error) => { byId('watching').textContent = `The board cannot observe: ${error.message}`; },
);
