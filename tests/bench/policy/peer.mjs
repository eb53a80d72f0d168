// Times a published OpenClaw release's own decision on the cases that come as JSON on standard input, and answers with
// one line of JSON. Nothing of the release is changed; its function is found in the bundle, whose file names change
// with every release.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Newest first: a release that has the first keeps the second for another system.
const FUNCTIONS = ["evaluateShellAllowlistWithAuthorization", "evaluateShellAllowlist"];

const input = JSON.parse(readFileSync(0, "utf8"));

function params(command, entries) {
  return {
    command,
    allowlist: input.documents[entries],
    safeBins: new Set(),
    cwd: input.cwd,
    env: input.env,
    platform: "linux",
  };
}

/** Modules of the bundle that declare `name`. */
function modulesWith(name) {
  const folder = join(input.package, "dist");
  const declares = new RegExp(`\\bfunction ${name}\\b`);
  return readdirSync(folder)
    .filter((file) => /\.m?js$/.test(file))
    .map((file) => join(folder, file))
    .filter((file) => declares.test(readFileSync(file, "utf8")));
}

/** Whether it tells the covered command from the other one, as a decision must. */
async function decides(evaluate) {
  const [covered, missed] = [input.covered, input.missed];
  const yes = await evaluate(params(covered.command, covered.entries));
  const no = await evaluate(params(missed.command, missed.entries));
  return yes?.analysisOk === true && yes.allowlistSatisfied === true && no?.allowlistSatisfied === false;
}

async function findDecision() {
  const problems = [];
  for (const name of FUNCTIONS) {
    for (const file of modulesWith(name)) {
      try {
        const exported = Object.values(await import(pathToFileURL(file).href));
        const found = exported.find((value) => typeof value === "function" && value.name === name);
        if (found && (await decides(found))) return found;
        problems.push(`${file}: ${found ? `${name} does not decide as expected` : `${name} is not exported`}`);
      } catch (error) {
        problems.push(`${file}: ${error.message}`);
      }
    }
  }
  throw new Error(
    [`no module of this release exports a usable ${FUNCTIONS.join(" or ")}`, ...problems].join("\n"),
  );
}

/** Microseconds of up to `most` decisions, but at least `fewest` and no more than `budgetMs` allows. */
async function time(decide, most, fewest, budgetMs) {
  const micros = [];
  const until = performance.now() + budgetMs;
  while (micros.length < fewest || (micros.length < most && performance.now() < until)) {
    const started = process.hrtime.bigint();
    await decide();
    micros.push(Number(process.hrtime.bigint() - started) / 1e3);
  }
  return micros;
}

async function measure(evaluate, { command, entries }) {
  const asked = params(command, entries);
  const { analysisOk, allowlistSatisfied } = await evaluate(asked);
  const decide = () => evaluate(asked);
  await time(decide, input.warmUp, 1, input.budgetMs / 5);
  const micros = await time(decide, input.samples, input.fewest, input.budgetMs);
  return { covered: analysisOk === true && allowlistSatisfied === true, micros };
}

async function main() {
  const evaluate = await findDecision();
  const cases = [];
  for (const one of input.cases) cases.push(await measure(evaluate, one));
  return { cases };
}

const answer = await main().catch((error) => ({ problem: error.message }));
// The release's modules may hold timers: nothing is left to wait for.
process.stdout.write(`\n${JSON.stringify(answer)}\n`, () => process.exit(0));
