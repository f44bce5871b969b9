// What the model thought, folded: for whoever wants to look, and gone with the next drawing.

const ARROW = 'M9 6l6 6-6 6';

/** `think(box, text)` adds to a box, `thought(box, seconds)` ends it. */
export function thoughts({ add, icon, text }) {
  const known = new WeakMap();
  const begin = (box) => {
    const button = add(box, 'button|type=button|part=thinking__button|class=fold|aria-expanded=false');
    icon(button, ARROW);
    const title = add(button, 'span', text('thinking'));
    const words = add(box, 'div|part=thinking__text|class=thinking-text|dir=auto|hidden');
    const node = new Text();
    words.append(node);
    button.addEventListener('click', () => {
      words.hidden = !words.hidden;
      button.setAttribute('aria-expanded', !words.hidden);
    });
    known.set(box, { node, title });
    return known.get(box);
  };
  return {
    think(box, words) {
      (known.get(box) ?? begin(box)).node.appendData(words);
    },
    thought(box, seconds) {
      box.classList.add('over');
      const of = known.get(box);
      if (of) of.title.textContent = text('thought', { seconds: seconds.toLocaleString() });
    },
  };
}
