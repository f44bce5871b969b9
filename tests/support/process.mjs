// Programs the tests start, and end, by themselves.

import { spawn } from 'node:child_process';

import { until, within } from './wait.mjs';

/** A running program whose output is kept for failure messages. */
export class Program {
  /** Starts `command`; it gets these variables on top of a bare environment. */
  constructor(command, args, { env = {}, cwd } = {}) {
    const { PATH, HOME, TMPDIR } = process.env;
    this.name = command.split('/').at(-1);
    this.output = '';
    this.child = spawn(command, args, {
      cwd,
      env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on('data', (bytes) => { this.output += bytes; });
    }
    /** Settles with the exit code, or the signal that ended it. */
    this.ended = new Promise((resolve) => {
      this.child.on('exit', (code, signal) => resolve(code ?? signal));
      this.child.on('error', (error) => {
        this.output += String(error);
        resolve('not started');
      });
    });
    this.ended.then((how) => { this.how = how; });
  }

  /** Waits until a GET of `url` is answered, whatever the status. */
  async answers(url) {
    await until(async () => {
      if (this.how !== undefined) throw new Error(`${this.name} ended (${this.how}): ${this.output}`);
      try {
        await (await fetch(url)).arrayBuffer();
        return true;
      } catch {
        return false;
      }
    }, `${this.name} to answer at ${url}`, 30_000);
    return this;
  }

  /** Sends a signal and waits for the end. */
  async stop(signal = 'SIGINT', patience = 10_000) {
    if (this.how === undefined) this.child.kill(signal);
    try {
      return await within(this.ended, `${this.name} to end after ${signal}`, patience);
    } catch (error) {
      this.child.kill('SIGKILL');
      throw error;
    }
  }
}
