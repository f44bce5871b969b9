// A wire between a client and a server that a test can cut, or leave standing dead.

import { connect, createServer } from 'node:net';

/** Passes bytes on to `port` on a free loopback port of its own. */
export class Wire {
  static async to(port) {
    const wire = new Wire(port);
    await new Promise((resolve, reject) => wire.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    wire.origin = `http://127.0.0.1:${wire.server.address().port}`;
    return wire;
  }

  constructor(port) {
    /** `up`; `cut`: connections break and new ones too; `dead`: they stand and carry nothing. */
    this.state = 'up';
    this.sockets = new Set();
    this.server = createServer((near) => {
      if (this.state === 'cut') return near.destroy();
      const far = connect(port, '127.0.0.1');
      for (const [from, to] of [[near, far], [far, near]]) {
        this.sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => {
          this.sockets.delete(from);
          to.destroy();
        });
        // What goes by while the wire is dead is lost, as on a real one whose end nobody hears of.
        from.on('data', (bytes) => { if (this.state === 'up' && !from.isDead) to.write(bytes); });
      }
      return undefined;
    });
  }

  /** Breaks every connection, and refuses new ones until `mend`. */
  cut() {
    this.state = 'cut';
    for (const socket of this.sockets) socket.destroy();
  }

  /** Connections stand and carry nothing any more; those that come after `mend` do. */
  kill() {
    this.state = 'dead';
    for (const socket of this.sockets) socket.isDead = true;
  }

  mend() {
    this.state = 'up';
  }

  async stop() {
    this.cut();
    await new Promise((resolve) => { this.server.close(resolve); });
  }
}
