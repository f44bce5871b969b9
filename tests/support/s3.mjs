// An S3-compatible service on a free loopback port, with one empty bucket.

import { pythonProgram } from './paths.mjs';
import { freePort } from './ports.mjs';
import { Program } from './process.mjs';

/** Starts it; `list()` gives the keys of the bucket. */
export async function s3Service(bucket) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = await new Program(pythonProgram('moto_server'), ['-H', '127.0.0.1', '-p', String(port)], {
    env: { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
  }).answers(url);
  const made = await fetch(`${url}/${bucket}`, { method: 'PUT' });
  if (!made.ok) throw new Error(`the bucket was not made: ${made.status} ${await made.text()}`);
  const keys = async (query, tag) => {
    const text = await (await fetch(`${url}/${bucket}${query}`)).text();
    return [...text.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map((match) => match[1]);
  };
  return {
    url,
    list: () => keys('?list-type=2', 'Key'),
    /** Uploads in parts that were neither ended nor given up. */
    open: () => keys('?uploads', 'UploadId'),
    stop: () => program.stop('SIGKILL'),
  };
}
