// The pages in an ordinary browser, on the backend of the tests. What is saved is seen at once: node tests/live.mjs
// [--port N] [--open]
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from 'vite';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '5180' },
    open: { type: 'boolean', default: false },
    // For whoever starts this and may end in any way: the pipe that it holds is closed with it.
    'until-input-ends': { type: 'boolean', default: false },
  },
});

/** As each page is called, and what it is. */
const PAGES = [
  ['', 'main window'],
  ['prompt.html', 'prompt'],
  ['gallery.html', 'every component in every state'],
];

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

const port = Number(values.port);
if (!Number.isInteger(port) || port < 1 || port > 65_535) fail(`--port: expected 1 to 65535, got ${values.port}`);

const server = await createServer({
  configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
  mode: 'mock',
  clearScreen: false,
  server: { port, strictPort: true },
});

async function end() {
  await server.close();
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, end);
if (values['until-input-ends']) process.stdin.on('end', end).resume();

try {
  await server.listen();
} catch (error) {
  await server.close();
  const isTaken = error.message.includes('already in use');
  fail(isTaken ? `port ${port} is taken; --port chooses another` : error.message);
}

const base = `http://127.0.0.1:${port}/`;
for (const [page, about] of PAGES) console.log(`${base}${page}  ${about}`);
console.log('Ctrl-C ends it.');
if (values.open) {
  spawn('xdg-open', [base], { stdio: 'ignore' }).on('error', (error) => console.error(`xdg-open: ${error.message}`));
}
