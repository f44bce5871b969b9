// Files that people attach, kept in an S3-compatible bucket and read by an MCP server that nobody in
// this project wrote the HTTP of.

import assert from 'node:assert/strict';
import { randomBytes, createHash } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';

import { looking } from '../support/mcp.mjs';
import { Runtime } from '../support/runtime.mjs';
import { s3Service } from '../support/s3.mjs';
import { callingModel, turnOf } from '../support/turns.mjs';
import { until } from '../support/wait.mjs';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

let bucket;
let models;
let eye;
let runtime;
let token;

before(async () => {
  [bucket, models, eye] = await Promise.all([s3Service('files'), callingModel(() => [['eye__look', {}]]), looking()]);
  runtime = await Runtime.start({
    config: `
[server]
log = "trace"

[uploads.s3]
bucket = "files"
region = "eu-central-1"
endpoint = "${bucket.url}"
prefix = "people"
access_key_id = "env:BUCKET_ID"
secret_access_key = "env:BUCKET_KEY"

[models.calling]
provider = "openai"
model = "test"
base_url = "${models.url}/v1"

[[apps]]
uid = "demo"
origins = ["loopback"]
allow_no_origin = true

[[apps.mcp_servers]]
uid = "eye"
url = "${eye.url}"
allow_private = true

[[apps.agents]]
uid = "demo"
model = "calling"
anonymous = true
uploads = true
mcp_servers = ["eye"]
`,
    env: { BUCKET_ID: 'bucket-id-canary', BUCKET_KEY: 'bucket-key-canary' },
  });
  token = await runtime.token();
});
after(async () => {
  await runtime?.stop();
  await Promise.all([bucket, models, eye].map((peer) => peer?.stop()));
});

async function upload(bytes, name) {
  const form = new FormData();
  form.append('file', new Blob([bytes]), name);
  const answer = await fetch(`${runtime.origin}/v1/uploads`, {
    method: 'POST', headers: { authorization: `Bearer ${token}` }, body: form,
  });
  return { status: answer.status, ...await answer.json() };
}

test('small and large files reach a tool byte for byte, and go with their conversation', async () => {
  // In one piece, and in parts.
  const files = [PNG, Buffer.concat([PNG, randomBytes(12_000_000)])];
  const kept = [];
  for (const [i, bytes] of files.entries()) {
    const { status, uploadId, size, mimeType } = await upload(bytes, `picture ${i}.png`);
    assert.deepEqual([status, size, mimeType], [201, bytes.length, 'image/png']);
    kept.push(uploadId);
  }
  assert.deepEqual((await bucket.list()).sort(), kept.map((id) => `people/${id}`).sort());
  assert.deepEqual(await bucket.open(), []);
  const { results, conversation } = await turnOf(runtime, token, 'demo', 'Look at these', { uploads: kept });
  assert.deepEqual(JSON.parse(results[0]), files.map((bytes) => ({ status: 200, type: 'image/png', hash: hash(bytes) })));
  const gone = await fetch(`${runtime.origin}/v1/conversations/${conversation}`, {
    method: 'DELETE', headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(gone.status, 204);
  await until(async () => (await bucket.list()).length === 0, 'the bucket to be empty');
  const again = await fetch(eye.seen[0]);
  assert.equal(again.status, 410);
});

test('what is refused or breaks off leaves nothing in the bucket', async () => {
  const large = await upload(Buffer.concat([PNG, Buffer.alloc(20 * 1024 * 1024)]), 'large.png');
  assert.deepEqual([large.status, large.error.code, large.error.context.limit], [413, 'too-large', 20 * 1024 * 1024]);
  const page = await upload(Buffer.from('<script>'), 'page.png');
  assert.equal(page.status, 415);
  // Six megabytes of ten: a part is in the bucket already.
  const { port } = new URL(runtime.origin);
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST /v1/uploads HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 10000000\r\n`
    + 'content-type: multipart/form-data; boundary=edge\r\n\r\n'
    + '--edge\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n');
  socket.write(Buffer.concat([PNG, Buffer.alloc(6_000_000)]));
  await until(async () => (await bucket.open()).length === 1, 'a part to be in the bucket');
  socket.destroy();
  await until(async () => (await bucket.open()).length === 0, 'the parts to be given up');
  assert.deepEqual(await bucket.list(), []);
});

test('a bucket that is gone is an error that can be tried again, and keys are in no log', async () => {
  await bucket.stop();
  const { status, error } = await upload(PNG, 'a.png');
  assert.deepEqual([status, error.code, error.retryable], [500, 'server-error', true]);
  assert.doesNotMatch(error.message, /127\.0\.0\.1|bucket-/);
  assert.doesNotMatch(runtime.output, /bucket-key-canary|signature=|picture 0/);
});
