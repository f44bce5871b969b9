// The desk: turns that the board runs in a session of its own, what they say, what they ask.

import { approval, questionnaire } from './decisions.js';

const STATES = {
  finished: 'Finished',
  aborted: 'Stopped',
  steered: 'Read by the turn above',
};

export class Desk {
  #agent;
  #turns;
  #form;
  #stop;
  #sessionId;
  /** The one that is being made. */
  #opening;
  /** Names of the calls under way. */
  #calls = new Set();

  constructor(agent, { turns, form, stop, tasks }) {
    this.#agent = agent;
    this.#turns = turns;
    this.#form = form;
    this.#stop = stop;
    for (const task of tasks) task.addEventListener('click', () => this.#ask(task.dataset.task, 'queue'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const { text } = form.elements;
      const asked = text.value.trim() || text.placeholder;
      text.value = '';
      this.#ask(asked, event.submitter?.value || (this.#calls.size ? 'queue' : undefined));
    });
    stop.addEventListener('click', () => {
      for (const requestId of this.#calls) agent.cancel(requestId).catch(() => {});
    });
    this.#busy();
  }

  /** Hands the agent a task; while it works, in the way that is wished for. */
  async #ask(text, whenBusy) {
    const turn = new Turn(this.#agent, text);
    this.#turns.append(turn.element);
    turn.element.scrollIntoView({ block: 'nearest' });
    const begun = this.#sessionId ?? (await this.#open(turn));
    if (!begun) return;
    await this.#follow(turn, (requestId, onEvent) => this.#agent.run({ text, sessionId: begun, whenBusy, requestId }, { onEvent }));
  }

  /** One session for everything on this page. */
  async #open(turn) {
    try {
      this.#opening ??= this.#agent.create();
      ({ sessionId: this.#sessionId } = await this.#opening);
      return this.#sessionId;
    } catch (error) {
      this.#opening = undefined;
      turn.ended(error.message);
      return undefined;
    }
  }

  async #follow(turn, call) {
    const requestId = crypto.randomUUID();
    this.#calls.add(requestId);
    this.#busy();
    try {
      const result = await call(requestId, turn.hear);
      turn.ended(result.error?.message ?? STATES[result.status] ?? result.status);
      if (result.pendingQuestion) this.#question(turn, result);
    } catch (error) {
      turn.ended(error.code === 'cancelled' ? 'Taken back' : error.message);
    } finally {
      turn.close();
      this.#calls.delete(requestId);
      this.#busy();
    }
  }

  /** The turn has ended with questions; their answers begin its continuation. */
  #question(turn, { sessionId, pendingQuestion: { questionId, request } }) {
    turn.ended('Waits for your answer');
    turn.decide(questionnaire(request, (answers) => {
      const given = answers ? { answers } : { answers: [], dismissed: true };
      return this.#follow(turn, (requestId, onEvent) => this.#agent.answer({ sessionId, questionId, ...given }, { onEvent, requestId }));
    }));
  }

  /** While a turn runs, follow-ups wait or steer. */
  #busy() {
    const isBusy = this.#calls.size > 0;
    for (const button of this.#form.querySelectorAll('button[type=submit]')) button.hidden = isBusy === (button.value === '');
    this.#stop.hidden = !isBusy;
  }
}

/** One turn as people see it. */
class Turn {
  element = document.createElement('li');
  #agent;
  #state;
  #said;
  #approvals = new Map();

  constructor(agent, text) {
    this.#agent = agent;
    this.element.className = 'turn';
    const part = (name, className, content = '') => {
      const made = document.createElement(name);
      made.className = className;
      made.textContent = content;
      this.element.append(made);
      return made;
    };
    part('p', 'asked', text);
    this.#state = part('p', 'state', 'Sent');
    this.#said = part('p', 'said');
  }

  hear = (event) => {
    switch (event.type) {
      case 'run.queued': return this.ended(`Waits, place ${event.position}`);
      case 'turn.started': return this.ended('Works');
      case 'tool.started': return this.ended(`Uses ${event.toolName}`);
      case 'text.delta': {
        this.#said.append(event.text);
        return this.ended('Answers');
      }
      case 'permission.requested': {
        const card = approval(event, (decision) => this.#agent.reply({ sessionId: event.sessionId, requestId: event.requestId, decision }));
        this.#approvals.set(event.requestId, card);
        this.decide(card);
        return this.ended('Waits for your word');
      }
      case 'permission.resolved': {
        this.#approvals.get(event.requestId)?.remove();
        return this.ended(event.decision === 'allowOnce' ? 'Allowed' : 'Denied');
      }
      // What is new is not for this page.
      default: return undefined;
    }
  };

  /** Shows something to decide. */
  decide(card) {
    this.element.append(card);
    this.element.scrollIntoView({ block: 'nearest' });
  }

  /** Nothing of it is to decide any more: a turn that is stopped says so of none of its approvals. */
  close() {
    for (const card of this.#approvals.values()) card.remove();
    this.#approvals.clear();
  }

  /** Says how it stands. */
  ended(state) {
    this.#state.textContent = state;
  }
}
