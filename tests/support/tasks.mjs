// How long the tasks of a page take, in processor time: a busy machine makes none longer.

const CATEGORIES = ['disabled-by-default-devtools.timeline', '__metadata'];

/** The longest task of the page's main threads while `work` goes on, in milliseconds. */
export async function longest(page, work) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: CATEGORIES });
  await work();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const tasks = traceEvents.filter(({ name, pid, tid }) => name === 'RunTask' && main.has(`${pid}/${tid}`));
  if (!tasks.length) throw new Error('the trace has no task: the browser names them otherwise');
  return Math.max(...tasks.map(({ tdur, dur }) => tdur ?? dur)) / 1000;
}
