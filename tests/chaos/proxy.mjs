// A bad line: passes TCP on to a server and breaks some of the exchanges in the ways
// networks do. What happens to one is drawn when it begins, from a seed.

import { connect, createServer } from 'node:net';

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

/** Nothing stays half open for longer: a peer that never gives up would hang a test. */
const HALF_OPEN = 20_000;

/** So many bytes leave in crumbs that are sure to arrive as such; more would take for ever. */
const CRUMBS = 8_192;

/** The ways of a bad line, by how often they come. */
const WAYS = {
  /** Ends after some bytes of the answer: in order, or with a reset. */
  cut: (random) => ({ down: { after: random.size(1, 6_000), ends: random.pick(['fin', 'rst']) } }),
  /** Ends after some bytes of the question. */
  interrupt: (random) => ({ up: { after: random.size(1, 2_000), ends: random.pick(['fin', 'rst']) } }),
  /** Nothing comes for a while. */
  stall: (random) => ({ down: { after: random.size(1, 6_000), pause: random.between(50, 400) } }),
  /** Nothing comes any more, or nothing arrives, and nobody is told. */
  halfOpen: (random) => ({ [random.pick(['down', 'down', 'up'])]: { after: random.size(1, 4_000), ends: 'never' } }),
  /** Later connections overtake it. */
  late: (random) => ({ late: random.between(20, 300) }),
  /** Bytes come in crumbs. */
  split: (random) => ({ crumbs: random.between(1, 40) }),
  refuse: () => ({ refuse: true }),
};

/** A line to a server of this machine. */
export class BadLine {
  /** A line to `port`; `share` of the exchanges break, in one of these `ways`. */
  static async to(port, random, share, ways = Object.keys(WAYS)) {
    const line = new BadLine(port, random, share, ways);
    await new Promise((resolve, reject) => line.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    line.port = line.server.address().port;
    line.origin = `http://127.0.0.1:${line.port}`;
    return line;
  }

  constructor(port, random, share, ways) {
    this.choice = ways;
    this.target = port;
    this.random = random;
    /** Of the exchanges, how many meet a fault; 0 is a good line. */
    this.share = share;
    /** How many exchanges went which way. */
    this.ways = {};
    this.sockets = new Set();
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.#open(socket));
  }

  async stop() {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => { this.server.close(resolve); });
  }

  #draw() {
    const way = this.random.chance(this.share) ? this.random.pick(this.choice) : 'pass';
    this.ways[way] = (this.ways[way] ?? 0) + 1;
    return WAYS[way]?.(this.random) ?? {};
  }

  #open(client) {
    const server = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    client.setNoDelay(true);
    for (const [one, other] of [[client, server], [server, client]]) {
      this.sockets.add(one);
      // What one end does to the connection, the other hears of.
      one.on('error', () => other.resetAndDestroy());
      one.on('close', () => this.sockets.delete(one) && other.destroy());
    }
    const exchange = { plan: this.#draw(), passed: { up: 0, down: 0 }, answered: false };
    this.#pass(client, server, 'up', exchange);
    this.#pass(server, client, 'down', exchange);
  }

  /** Passes one direction on, in its order, until the fault of an exchange comes. */
  #pass(from, to, way, exchange) {
    let before = Promise.resolve();
    const next = (step) => { before = before.then(step); };
    from.on('data', (bytes) => next(() => this.#deliver(bytes, from, to, way, exchange)));
    from.on('end', () => next(() => exchange.plan.over || (to.writable && to.end())));
  }

  async #deliver(bytes, from, to, way, exchange) {
    // Who asks again on a connection that stayed open has no better luck for it.
    if (way === 'up' && exchange.answered && !exchange.plan.over) {
      Object.assign(exchange, { plan: this.#draw(), passed: { up: 0, down: 0 }, answered: false });
    }
    if (way === 'down') exchange.answered = true;
    const { plan, passed } = exchange;
    const write = (piece) => to.writable && to.write(piece);
    if (plan.over) return;
    if (plan.refuse) return void end(plan, 'rst', from, to);
    if (plan.late && passed[way] === 0) await pause(plan.late);
    const fault = plan[way];
    const at = passed[way];
    passed[way] += bytes.length;
    if (fault && at <= fault.after && at + bytes.length > fault.after) {
      write(bytes.subarray(0, fault.after - at));
      if (fault.ends) return void end(plan, fault.ends, from, to);
      await pause(fault.pause);
      write(bytes.subarray(fault.after - at));
    } else if (plan.crumbs) {
      for (let from = 0; from < bytes.length; from += plan.crumbs) {
        write(bytes.subarray(from, from + plan.crumbs));
        if (at + from < CRUMBS && from % (plan.crumbs * 8) === 0) await pause(0);
      }
    } else {
      write(bytes);
    }
  }
}

/** Ends a connection: in order, with a reset, or so that nobody hears of it. */
function end(plan, how, ...sockets) {
  plan.over = true;
  if (how === 'rst') sockets.forEach((socket) => socket.resetAndDestroy());
  else if (how === 'fin') sockets.forEach((socket) => socket.destroySoon());
  else setTimeout(() => sockets.forEach((socket) => socket.destroy()), HALF_OPEN).unref();
}
