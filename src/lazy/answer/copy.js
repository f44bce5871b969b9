// Puts text on the clipboard.

/** Whether it worked. Without the clipboard's interface, as on plain http, a text box does it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    let before = document.activeElement;
    while (before?.shadowRoot?.activeElement) before = before.shadowRoot.activeElement;
    const box = document.createElement('textarea');
    box.value = text;
    box.readOnly = true;
    box.style.setProperty('position', 'fixed');
    box.style.setProperty('opacity', '0');
    document.body.append(box);
    box.select();
    const done = document.execCommand('copy');
    box.remove();
    before?.focus?.({ preventScroll: true });
    return done;
  }
}
