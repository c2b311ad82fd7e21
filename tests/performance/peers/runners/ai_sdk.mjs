// The Vercel AI SDK: generateText with tools, up to five steps. Speaks the protocol of protocol.py.
// PEER_PACKAGES is the folder that has node_modules.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';

const packages = `${process.env.PEER_PACKAGES}/node_modules`;

/** The address of a package's ES module, which a script outside of its folder cannot import by name. */
function locate(name) {
  const { exports } = JSON.parse(fs.readFileSync(`${packages}/${name}/package.json`));
  const pick = (entry) => (typeof entry === 'string' ? entry : pick(entry.import ?? entry.node ?? entry.default));
  return pathToFileURL(`${packages}/${name}/${pick(exports['.'])}`);
}

const SYSTEM = ('You are a careful research assistant. Read the files, search the web when needed, and answer in' +
  ' markdown with sources. ').repeat(100);
const REPORT_LENGTH = 6144;
const TOTALS = { common: [126000, 2080], pause: [126000, 2050] };

const given = {};
for (let i = 2; i < process.argv.length; i += 2) given[process.argv[i].slice(2)] = process.argv[i + 1];
const totals = TOTALS[given.scenario ?? 'common'];
const values = {};
const monotonic = () => Number(process.hrtime.bigint()) / 1e9;
const cpuSeconds = () => { const used = process.cpuUsage(); return (used.user + used.system) / 1e6; };
const mark = (name) => { values[`${name}_mono`] = monotonic(); values[`${name}_cpu`] = cpuSeconds(); };
const peakKilobytes = () => Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]);
const newName = () => `EXP-${randomBytes(8).toString('hex')}`;
globalThis.AI_SDK_LOG_WARNINGS = false;

const { generateText, stepCountIs, tool } = await import(locate('ai'));
const { createAnthropic } = await import(locate('@ai-sdk/anthropic'));
const { z } = await import(locate('zod'));

const anthropic = createAnthropic({ apiKey: 'k', baseURL: `${given.base}/v1` });
const model = anthropic('claude-sonnet-4-5');
const tools = {
  web_search: anthropic.tools.webSearch_20250305({ maxUses: 5 }),
  read_research: tool({
    description: 'Read one research file from the repository and return its text.',
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => {
      const response = await fetch(`${given.base}/repos/acme/lab/contents/${path}`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      return Buffer.from((await response.json()).content, 'base64').toString('utf8');
    },
  }),
};

async function explore() {
  const ended = await generateText({
    model, tools, system: SYSTEM, maxOutputTokens: 8192, stopWhen: stepCountIs(5), maxRetries: 2,
    prompt: `Exploration ${newName()}: summarise what research/ says about canopy density.`,
  });
  const { inputTokens, outputTokens } = ended.totalUsage;
  const found = [ended.text.length, inputTokens, outputTokens, ended.steps.length];
  if (found.join() !== [REPORT_LENGTH, ...totals, 5].join()) throw new Error(`wrong result: ${found}`);
}

async function oneAfterTheOther(count) {
  for (let i = 0; i < count; i++) await explore();
}

mark('ready');
await oneAfterTheOther(1);
mark('first');
values.first_hwm_kb = peakKilobytes();
if (given.mode === 'warm') {
  await oneAfterTheOther(Number(given.warmup));
  mark('w0');
  await oneAfterTheOther(Number(given.count));
  mark('w1');
} else if (given.mode === 'conc') {
  const took = [];
  for (let round = 0; round <= Number(given.rounds); round++) {
    const began = monotonic(), used = cpuSeconds();
    await Promise.all(Array.from({ length: Number(given.width) }, explore));
    took.push([monotonic() - began, cpuSeconds() - used]);
  }
  values.conc = took.slice(1);
}
values.hwm_kb = peakKilobytes();
process.stdout.write(`${JSON.stringify(values)}\n`);
process.exit(0);
