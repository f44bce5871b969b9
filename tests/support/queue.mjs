// What waits at the scripted runtime: taken, listed, changed, and begun when it is posted as a stream.

/** The messages that wait, in order. */
export class Waiting {
  items = [];
  /** `PATCH`, `DELETE` and resumes: `[method, runId, body?]`. */
  changes = [];

  /** A run that is only to be taken; gives the answer. */
  take(input) {
    const { runId, threadId, messages, forwardedProps } = input;
    const { whenBusy, inputType } = forwardedProps.mindset;
    let item = this.find(runId);
    if (!item) {
      const { id, content } = messages.at(-1);
      item = { runId, threadId, messageId: id, text: content, inputType };
      this.items.push(item);
    }
    item.state = whenBusy === 'steer' ? 'steering' : 'queued';
    return { runId, state: 'queued', position: this.of(threadId).findIndex((each) => each.runId === runId) + 1 };
  }

  find(runId) {
    return this.items.find((item) => item.runId === runId);
  }

  /** Its turn begins, or it is gone. */
  remove(runId) {
    this.items = this.items.filter((item) => item.runId !== runId);
  }

  pause() {
    for (const item of this.items) item.state = 'paused';
  }

  /** As the conversation lists it. */
  of(threadId) {
    return this.items.filter((item) => item.threadId === threadId).map(({ threadId: _, ...item }, at) => ({ ...item, position: at + 1 }));
  }

  /** `PATCH` or `DELETE` of a run; gives status and body. */
  change(method, runId, body) {
    this.changes.push([method, runId, ...(body ? [JSON.parse(body)] : [])]);
    const item = this.find(runId);
    if (!item) return [409, { error: { code: 'conflict', message: 'The run does not wait any more.', retryable: false } }];
    if (method === 'DELETE') this.remove(runId);
    else item.text = JSON.parse(body).text;
    return [method === 'DELETE' ? 204 : 200, item];
  }

  resume(threadId) {
    this.changes.push(['RESUME', threadId]);
    for (const item of this.items) if (item.threadId === threadId && item.state === 'paused') item.state = 'queued';
    return { queue: this.of(threadId) };
  }
}
