// A client of the Model Context Protocol, by the official SDK, for stories that tell it what to do.
//
//     node client.mjs SDK COMMAND [ARGUMENT…]    starts a server and speaks to it over standard input and output
//     node client.mjs SDK http://…               speaks to one that runs; TOKEN names its token
//
// SDK is a folder in which the package is installed. Each line of standard input is a command, each line of standard
// output something that happened, both JSON objects:
//
//     {"do":"list"}                                       {"event":"listed","tools":[…]}
//     {"do":"call","id":"a","tool":"exec","arguments":{}}  {"event":"answered","id":"a","result":{…}}
//                                                         {"event":"report","id":"a","progress":1,"message":"…"}
//     {"do":"cancel","id":"a"}                            {"event":"failed","id":"a","code":…,"message":"…"}
//
// It starts with {"event":"connected","server":{…}}, or {"event":"failed",…}, and ends with its input.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import path from 'node:path';
import process from 'node:process';

const [sdk, target, ...rest] = process.argv.slice(2);
const load = createRequire(path.join(path.resolve(sdk), 'package.json'));
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');

// Milliseconds that a call may take: a story that fails ends sooner.
const CALL_TIMEOUT = 10 * 60 * 1000;

const client = new Client({ name: process.env.CLIENT_NAME ?? 'story', version: '1' });
const transport = open();
const running = new Map();

await main();
// The SDK may still mean to listen again for what was cancelled.
process.exit(0);

async function main() {
  try {
    await client.connect(transport);
  } catch (error) {
    failed({}, error);
    process.exit(1);
  }
  client.onclose = () => say({ event: 'closed' });
  say({ event: 'connected', server: client.getServerVersion() });
  for await (const line of createInterface({ input: process.stdin })) {
    // Not waited for: a call goes on while others are made, or until it is cancelled.
    perform(JSON.parse(line));
  }
  client.onclose = undefined;
  await transport.terminateSession?.();
  await client.close();
}

function open() {
  if (target.startsWith('http://')) {
    const headers = { Authorization: `Bearer ${process.env.TOKEN}` };
    return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } });
  }
  return new StdioClientTransport({ command: target, args: rest, env: process.env });
}

async function perform(command) {
  const { id } = command;
  try {
    switch (command.do) {
      case 'list':
        say({ event: 'listed', tools: (await client.listTools()).tools });
        break;
      case 'call':
        say({ event: 'answered', id, result: await call(command) });
        break;
      case 'cancel':
        running.get(id)?.abort('cancelled by the story');
        break;
      default:
        throw new Error(`expected list, call or cancel, got ${command.do}`);
    }
  } catch (error) {
    failed({ id }, error);
  }
}

async function call({ id, tool, arguments: given }) {
  const abort = new AbortController();
  running.set(id, abort);
  try {
    return await client.callTool({ name: tool, arguments: given }, undefined, {
      signal: abort.signal,
      timeout: CALL_TIMEOUT,
      onprogress: (report) => say({ event: 'report', id, ...report }),
    });
  } finally {
    running.delete(id);
  }
}

function failed(about, error) {
  say({ event: 'failed', ...about, code: error?.code, message: String(error?.message ?? error) });
}

function say(event) {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
