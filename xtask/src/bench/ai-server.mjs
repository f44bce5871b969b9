// A chat route as the documentation of the Vercel AI SDK writes it, with its mock model: a
// word of the asked text at every pace, and the end after one more. No users, no log. Prints
// its port.
import { createServer } from 'node:http';
import { streamText } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks));
}

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: 20, reasoning: undefined },
};

function model({ text, pace }) {
  const parts = async function* parts() {
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: '1' };
    for (const delta of text.split(/(?<= )/)) {
      await pause(pace);
      yield { type: 'text-delta', id: '1', delta };
    }
    await pause(pace);
    yield { type: 'text-end', id: '1' };
    yield { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
  };
  return new MockLanguageModelV4({ doStream: async () => ({ stream: ReadableStream.from(parts()) }) });
}

const server = createServer(async (request, response) => {
  const asked = await body(request);
  const result = streamText({ model: model(asked), prompt: 'What do you see?' });
  result.pipeUIMessageStreamToResponse(response);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => console.log(server.address().port));
