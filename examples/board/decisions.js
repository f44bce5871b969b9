// What people decide at the desk: whether a tool may run, and answers to questions.

function part(name, className, content = '') {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(content);
  return made;
}

function button(text, className, type = 'button') {
  const made = part('button', className, text);
  made.type = type;
  return made;
}

/** A card for one call of a tool; `decide` gets `allowOnce` or `deny`. */
export function approval({ toolName, reason, toolInput }, decide) {
  const card = part('div', 'decision');
  card.append(part('strong', '', `May the agent use ${toolName}?`));
  if (reason) card.append(part('p', '', reason));
  const list = part('dl', '');
  for (const [name, value] of Object.entries(toolInput ?? {})) {
    list.append(part('dt', '', name), part('dd', '', typeof value === 'string' ? value : JSON.stringify(value)));
  }
  const row = part('div', 'row');
  const buttons = [['Allow once', 'allowOnce', ''], ['Deny', 'deny', 'quiet']].map(([text, decision, className]) => {
    const made = button(text, className);
    made.addEventListener('click', async () => {
      for (const other of buttons) other.disabled = true;
      // Somebody else was faster, or the turn is gone: the card goes with it.
      await decide(decision).catch(() => card.remove());
    });
    return made;
  });
  row.append(...buttons);
  card.append(list, row);
  return card;
}

/** A form for a questionnaire; `done` gets the answers, or nothing if it is dismissed. */
export function questionnaire({ title, steps }, done) {
  const form = part('form', 'decision');
  if (title) form.append(part('strong', '', title));
  for (const step of steps) form.append(question(step));
  const row = part('div', 'row');
  const dismiss = button('Not now', 'quiet');
  row.append(button('Answer', '', 'submit'), dismiss);
  form.append(row);
  const close = (answers) => {
    form.remove();
    done(answers);
  };
  dismiss.addEventListener('click', () => close());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    close(steps.map((step) => answer(step, new FormData(form))));
  });
  return form;
}

function question({ id, question: text, description, selectionMode, options = [], allowOther, required }) {
  const box = part('fieldset', '');
  box.append(part('legend', '', text));
  if (description) box.append(part('p', '', description));
  for (const { id: option, label, description: more, recommended } of options) {
    const input = document.createElement('input');
    input.type = selectionMode === 'multiple' ? 'checkbox' : 'radio';
    input.name = id;
    input.value = option;
    input.required = required && selectionMode !== 'multiple' && !allowOther;
    input.checked = Boolean(recommended);
    const line = part('label', '');
    line.append(input, part('span', '', more ? `${label}: ${more}` : label));
    box.append(line);
  }
  if (allowOther || options.length === 0) {
    const other = document.createElement('input');
    other.name = `${id}.other`;
    other.required = required && options.length === 0;
    other.setAttribute('aria-label', options.length ? 'Something else' : text);
    other.placeholder = options.length ? 'Something else' : '';
    box.append(other);
  }
  return box;
}

function answer({ id }, form) {
  const selectedOptionIds = form.getAll(id);
  const otherText = String(form.get(`${id}.other`) ?? '').trim();
  if (selectedOptionIds.length === 0 && !otherText) return { stepId: id, skipped: true };
  return { stepId: id, ...(selectedOptionIds.length && { selectedOptionIds }), ...(otherText && { otherText }) };
}
