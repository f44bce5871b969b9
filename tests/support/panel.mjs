// The chat panel as a person meets it: by role and name, so that the tests survive
// a change of its markup.

import { until } from './wait.mjs';

/** The panel of one element. */
export class Panel {
  constructor(page, id = 'agent') {
    this.page = page;
    this.host = page.locator(`#${id}`);
  }

  /** The panel of another element of the page. */
  of(id) {
    return new Panel(this.page, id);
  }

  get input() {
    return this.host.getByRole('textbox');
  }

  get sendButton() {
    return this.host.getByRole('button', { name: /^send/i });
  }

  get stopButton() {
    return this.host.getByRole('button', { name: /^stop/i });
  }

  get retryButton() {
    return this.host.getByRole('button', { name: /retry|try again/i });
  }

  /** Lines about tool calls, as they read to everyone. */
  async calls() {
    return this.host.locator('[part~="tool"]').evaluateAll((lines) => lines.map((line) => {
      // Folded details are not read.
      const shown = line.cloneNode(true);
      for (const part of shown.querySelectorAll('[part~="tool__details"], [hidden]')) part.remove();
      return shown.textContent.trim();
    }));
  }

  get question() {
    return this.host.locator('[part~="question"]');
  }

  get allowButton() {
    return this.host.getByRole('button', { name: 'Allow' });
  }

  get denyButton() {
    return this.host.getByRole('button', { name: 'Deny' });
  }

  /** The scrolling list of messages. */
  get log() {
    return this.host.getByRole('log');
  }

  get messages() {
    return this.host.locator('[part~="message"]');
  }

  /** Texts of the messages, as shown. */
  texts() {
    return this.host.locator('[part~="message__body"]').allInnerTexts();
  }

  /** Waits until the messages read like this. */
  async reads(...expected) {
    let texts = [];
    const same = async () => {
      texts = (await this.texts()).map((text) => text.trim());
      return JSON.stringify(texts) === JSON.stringify(expected);
    };
    try {
      await until(same, 'the transcript');
    } catch {
      throw new Error(`the transcript reads ${JSON.stringify(texts)}, expected ${JSON.stringify(expected)}`);
    }
  }

  /** Waits until the panel shows `text` somewhere. */
  shows(text) {
    return this.host.getByText(text).first().waitFor();
  }

  /** Types like a person and presses Enter. */
  async say(text) {
    await this.input.click();
    await this.page.keyboard.type(text);
    await this.page.keyboard.press('Enter');
  }
}
