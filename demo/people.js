// An HR dashboard whose agent knows the page: the five integration points, each one call.

const agent = document.getElementById('agent');
/** Where the agent runtime is: it serves the script. */
const RUNTIME = new URL(document.querySelector('script[src$="mindset-agent.js"]').src).origin;

const LABELS = {
  role: 'Role',
  department: 'Department',
  location: 'Location',
  manager: 'Manager',
  rating: 'Last rating',
  goals: 'Goals',
};
const people = [
  {
    id: 'EMP-4821',
    name: 'Sarah Chen',
    role: 'Data analyst',
    department: 'Finance',
    location: 'Munich',
    manager: 'Jonas Weber',
    rating: '4',
    since: '2021-03-01',
    goals: 'Quarterly report in half the time; train two colleagues.',
  },
  {
    id: 'EMP-5107',
    name: 'Amadou Diallo',
    role: 'Account manager',
    department: 'Sales',
    location: 'Lyon',
    manager: 'Claire Petit',
    rating: '3',
    since: '2023-09-15',
    goals: 'Open the Iberian market; ten new accounts.',
  },
  {
    id: 'EMP-3390',
    name: 'Ingrid Solberg',
    role: 'Platform engineer',
    department: 'Engineering',
    location: 'Oslo',
    manager: 'Priya Nair',
    rating: '5',
    since: '2018-06-01',
    goals: 'Move the billing service; halve the time of a release.',
  },
];
let current = people[0];
let token;

// 1. Agent session parameters: the backend says who this is. The model never learns it.
mindset.init({ appUid: 'demo', getSession: session }).catch((error) => console.error(error));

async function session() {
  const answer = await fetch('session', { method: 'POST' });
  if (!answer.ok) throw new Error(`the backend answers ${answer.status}: is the runtime up?`);
  const given = await answer.json();
  token = given.token;
  return given;
}

function open(person) {
  current = person;
  draw();
  tell();
}

/** Tells the agent what is on the screen, whenever that changes. */
function tell() {
  const { name, role, department, location: place, rating } = current;
  // 2. Situational awareness: what the person is looking at, for the model to reason with.
  const seen = { page: 'Employee profile', employee: name, role, department, location: place, rating };
  agent.setSituationalAwareness(seen);
  // 3. Pass-through: the whole profile for the HR system, and whose rating it is, not for the model.
  const supplied = { 'file_review.profile': JSON.stringify(current), 'change_rating.employee_id': current.id };
  agent.setPassthroughParams(supplied);
  showGiven(seen, supplied);
}

// 4. Page tools: what the agent may do in this page.
agent.setPageTools([
  {
    name: 'update_profile',
    description: 'Changes one field of the employee profile that is open in the page.',
    runningDescription: 'Updating the profile…',
    completedDescription: 'Profile updated',
    parameters: {
      type: 'object',
      properties: {
        field: { type: 'string', enum: ['role', 'department', 'location', 'manager', 'goals'] },
        value: { type: 'string', description: 'The new text of the field.' },
      },
      required: ['field', 'value'],
    },
    handler: ({ field, value }) => change(current, field, value),
  },
  {
    name: 'change_rating',
    description: 'Changes the performance rating of the employee, from 1 to 5.',
    runningDescription: 'Changing the rating…',
    completedDescription: 'Rating changed',
    // Another profile may be open by the time somebody answers.
    confirm: ({ employee_id: id, rating }) => `Set the rating of ${person(id).name} to ${rating}?`,
    parameters: {
      type: 'object',
      properties: { rating: { type: 'integer', minimum: 1, maximum: 5 }, employee_id: { type: 'string' } },
      required: ['rating', 'employee_id'],
    },
    handler: ({ employee_id: id, rating }) => change(person(id), 'rating', String(rating)),
  },
]);

function person(id) {
  return people.find((each) => each.id === id);
}

function change(whose, field, value) {
  const before = whose[field];
  whose[field] = value;
  draw(whose === current && field);
  tell();
  return { employee: whose.name, field, before, now: value };
}

// 5. sendMessage: the page speaks for the person, aloud or silently.
on('review', () => show(agent.sendWhenIdle('File a performance review. Summary: “A strong half-year; both goals are met.”')));
on('greet', () => show(agent.sendWhenIdle('What can you do here?', { silent: true })));
on('refresh', showSeen);
agent.addEventListener('mindset:agent-idle', showSeen);

// On a phone the chat stands behind a round button; what is asked from the page opens it.
const narrow = matchMedia('(max-width: 48rem)');
const place = () => agent.setAttribute('layout', narrow.matches ? 'bubble' : 'inline');
narrow.addEventListener('change', place);
place();

function show(turn) {
  agent.toggleAttribute('open', true);
  return turn;
}

function on(id, act) {
  document.getElementById(id).addEventListener('click', act);
}

function node(tag, text, className = '') {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  made.className = className;
  return made;
}

function pair(label, value, className) {
  const group = node('div', undefined, className);
  group.append(node('dt', label), node('dd', value));
  return group;
}

function draw(changed) {
  document.getElementById('people').replaceChildren(
    ...people.map((person) => {
      const item = node('li');
      const button = node('button', person.name);
      button.type = 'button';
      button.append(node('small', person.role));
      if (person === current) button.setAttribute('aria-current', 'true');
      button.addEventListener('click', () => open(person));
      item.append(button);
      return item;
    }),
  );
  document.getElementById('face').textContent = current.name.replace(/(\p{L})\p{L}*\s*/gu, '$1');
  document.getElementById('name').textContent = current.name;
  document.getElementById('since').textContent = `${current.id} · since ${current.since}`;
  document.getElementById('fields').replaceChildren(
    ...Object.entries(LABELS).map(([field, label]) =>
      pair(label, current[field], [field === 'goals' && 'wide', field === changed && 'changed'].filter(Boolean).join(' ')),
    ),
  );
}

/** A name and what belongs to it, in a scrolling box. */
function block(label, text) {
  const group = node('div');
  group.append(node('dt', label));
  const value = node('dd');
  value.append(node('pre', text));
  group.append(value);
  return group;
}

function list(target, blocks, empty) {
  const made = node('dl');
  made.append(...blocks);
  document.getElementById(target).replaceChildren(blocks.length ? made : node('p', empty, 'empty'));
}

function showGiven(seen, supplied) {
  document.getElementById('given').replaceChildren(
    block('setSituationalAwareness', JSON.stringify(seen, null, 1)),
    block('setPassthroughParams', Object.entries(supplied).map(([key, value]) => `${key} = ${value}`).join('\n')),
    block('setPageTools', 'update_profile, change_rating'),
    block('agent session', 'externalUserId, tags: see the headers at the HR server'),
  );
}

async function showSeen() {
  await Promise.allSettled([showModel(), showReceived()]);
}

async function showModel() {
  const id = conversation;
  if (!id || !token) return;
  const answer = await fetch(`${RUNTIME}/v1/dev/conversations/${encodeURIComponent(id)}`, { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) return list('model', [], 'The runtime shows this with --dev only.');
  const { entries } = await answer.json();
  const request = entries.filter((entry) => entry.kind === 'model').pop();
  if (!request) return;
  const calls = entries.filter((entry) => entry.kind === 'tool').slice(-3);
  list('model', [
    block('System prompt', request.system),
    block('Tools', request.tools.map((tool) => `${tool.name}(${Object.keys(tool.parameters.properties).join(', ')})`).join('\n')),
    ...calls.map((call) => block(`Call of ${call.toolName}`, callText(call))),
  ]);
}

/** What the model wrote, and of what the page supplied no more than a fingerprint. */
function callText({ arguments: written, supplied }) {
  const lines = supplied.map(({ name, length, sha256 }) => `${name}: ${length} bytes from the page, sha256 ${sha256}…`);
  return [JSON.stringify(written, null, 1), ...lines].join('\n');
}

async function showReceived() {
  const received = await (await fetch('received')).json();
  list(
    'received',
    received.slice(-2).reverse().flatMap((review) => [
      block(`Review ${review.number}`, review.summary),
      block('profile', review.profile),
      block('Headers', Object.entries(review.headers).map(([name, value]) => `${name}: ${value}`).join('\n')),
    ]),
    'Nothing yet. Let the agent file a review.',
  );
}

let conversation;
agent.addEventListener('mindset:runtime-event', ({ detail }) => {
  if (detail.type === 'run_started') conversation = detail.conversationId;
});

open(current);
