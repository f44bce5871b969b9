// What the user lets the application do: a switch for running and one for reading, at the end of the
// drawer of conversations.

import css from 'mindset-styles/settings.css';

const GEAR = 'M4 7h9m4 0h3M4 17h3m4 0h9M15 4.5v5M9 14.5v5';
/** The switches: what the runtime calls it, its words, and what it does beside. */
const SWITCHES = [['run', 'appRuns', 'appRunsOff'], ['read', 'appReads']];
let ids = 0;

/** Adds the view to a sheet, for the switches that the application has declared. */
export default function settings(kit, sheet, permissions) {
  const { add, icon, tell, text } = kit;
  kit.style(css);
  const box = add(sheet, 'section|part=settings|class=settings');
  const button = add(box, 'button|type=button|part=settings__button|class=settings-open|aria-expanded=false');
  icon(button, GEAR);
  add(button, 'span', text('settings'));
  const list = add(box, 'div|part=settings__list|class=settings-list|hidden');
  button.addEventListener('click', () => {
    list.hidden = !list.hidden;
    button.setAttribute('aria-expanded', !list.hidden);
  });
  let now = permissions;
  const inputs = new Map();
  const show = () => inputs.forEach((input, name) => (input.checked = Boolean(now[name])));
  for (const [name, words, more] of SWITCHES) {
    if (!permissions.declared[name]) continue;
    const row = add(list, 'label|part=settings__switch|class=settings-switch');
    const said = add(row, 'span|class=settings-words');
    add(said, 'span', text(words));
    const input = add(row, 'input|type=checkbox|role=switch');
    if (more) {
      const hint = add(said, 'span|class=settings-hint', text(more));
      hint.id = `settings-${(ids += 1)}`;
      input.setAttribute('aria-describedby', hint.id);
      input.setAttribute('aria-label', text(words));
    }
    inputs.set(name, input);
    input.addEventListener('change', () => change({ ...now, [name]: input.checked }));
  }
  const error = add(list, 'p|part=settings__error|class=settings-error|role=alert|hidden');
  /** One change after the other; what is shown is what holds. */
  const change = (wanted) => {
    error.hidden = true;
    now = wanted;
    tell(`permit-${Number(Boolean(wanted.run))}${Number(Boolean(wanted.read))}`, (value, failed) => {
      if (value) now = { ...now, run: value.run, read: value.read };
      else now = permissions;
      permissions = now;
      show();
      if (!failed) return;
      error.hidden = false;
      error.textContent = text('notChanged');
    });
  };
  show();
}
