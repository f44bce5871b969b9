// Reads an AG-UI event stream with the public client, as its HttpAgent does: bytes to
// frames to JSON to events. Prints the events in the stream and the nanoseconds per event of
// the best round.
import { readFileSync } from 'node:fs';
import { transformHttpEventStream } from '@ag-ui/client';
import { Subject } from 'rxjs';

const ROUNDS = 30;
const CHUNK = 16 * 1024;

const stream = readFileSync(process.argv[2]);
const chunks = [];
for (let at = 0; at < stream.length; at += CHUNK) chunks.push(stream.subarray(at, at + CHUNK));
const headers = new Headers({ 'content-type': 'text/event-stream' });
const response = [{ type: 'headers', status: 200, headers }, ...chunks.map((data) => ({ type: 'data', data }))];

function read() {
  return new Promise((resolve, reject) => {
    let events = 0;
    const source = new Subject();
    transformHttpEventStream(source).subscribe({
      next: () => (events += 1),
      error: reject,
      complete: () => resolve(events),
    });
    // Only now: it hears nothing that was said before somebody listened.
    for (const part of response) source.next(part);
    source.complete();
  });
}

let best = Infinity;
let events = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const started = process.hrtime.bigint();
  events = await read();
  best = Math.min(best, Number(process.hrtime.bigint() - started));
}
console.log(`${events} ${Math.round(best / events)}`);
