// What a workflow must be before it may run with this repository's rights. Keys, events, permissions and expressions
// are judged by the forge's own parser, so that what passes here is read there; the rules about rights are ours.

import { spawnSync } from 'node:child_process';
import { register } from 'node:module';
import type * as WorkflowParser from '@actions/workflow-parser';
import { parse } from 'yaml';

/** A step that may be there with more than is looked at here. */
interface Step {
  uses?: string;
  run?: string;
  shell?: string;
  with?: Record<string, unknown>;
}

interface Job {
  uses?: string;
  'runs-on'?: string;
  'timeout-minutes'?: number;
  permissions?: Permissions;
  container?: string | { image: string };
  services?: Record<string, { image: string }>;
  defaults?: { run?: { shell?: string } };
  steps?: Step[];
}

interface Workflow {
  on: string | string[] | Record<string, unknown>;
  permissions?: Permissions;
  defaults?: { run?: { shell?: string } };
  jobs: Record<string, Job>;
}

type Permissions = string | Record<string, string>;

/** Jobs that may do more than read, and what: no other gets a right without a change of this line. */
const MAY: Record<string, string[]> = {
  'release.yml attest': ['write attestations', 'write id-token'],
  'release.yml draft': ['write contents'],
};

/** The machines that jobs run on: a name that moves, such as one that ends with `latest`, changes under us. */
const MACHINES = ['ubuntu-24.04'];

/** What keeps a workflow from being as it has to be, in sentences that begin with its name. */
export async function faultsOfWorkflow(name: string, text: string): Promise<string[]> {
  const misread = await misreadings(name, text);
  if (misread.length > 0) return misread;
  const workflow = parse(text) as Workflow;
  const jobs = Object.entries(workflow.jobs);
  const faults = [
    ...ofEvents(workflow),
    ...ofPermissions('the workflow', workflow.permissions, []),
    ...ofPins(
      text,
      jobs.map(([, job]) => job),
    ),
    ...jobs.flatMap(([id, job]) => ofJob(name, id, job)),
  ];
  if (workflow.defaults?.run?.shell !== 'bash') {
    faults.push('the default shell is not bash, which ends at the first failure in a pipe');
  }
  const mayMore = jobs.some(([, job]) => wide(job.permissions).length > 0);
  if (mayMore && text.includes('actions/cache')) {
    faults.push('what may more than read uses a cache, into which other runs put what they like');
  }
  return faults.map((fault) => `${name}: ${fault}`);
}

/** What bash says of a script's syntax; nothing runs. */
export function faultsOfScript(name: string, script: string): string[] {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
  return status === 0 ? [] : [`${name}: ${stderr.trim()}`];
}

async function misreadings(name: string, content: string): Promise<string[]> {
  const { NoOperationTraceWriter, convertWorkflowTemplate, parseWorkflow } = await parser();
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  // Adds what only the whole can tell, such as a job that waits for one that is not there.
  if (value) await convertWorkflowTemplate(context, value);
  return context.errors.getErrors().map((error) => error.message);
}

let loaded: Promise<typeof WorkflowParser> | undefined;

function parser() {
  loaded ??= load();
  return loaded;
}

/** The parser imports its schema as bundlers take it. Node does so only when it is told that the import is of JSON. */
function load(): Promise<typeof WorkflowParser> {
  const hook = `export const load = (url, context, next) =>
    next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context);`;
  register(`data:text/javascript,${encodeURIComponent(hook)}`);
  return import('@actions/workflow-parser');
}

function ofEvents({ on }: Workflow): string[] {
  const events = typeof on === 'string' ? [on] : Array.isArray(on) ? on : Object.keys(on);
  const foreign = ['pull_request_target', 'workflow_run', 'issue_comment'];
  return events
    .filter((event) => foreign.includes(event))
    .map((event) => `${event} gives a stranger's change our rights`);
}

/** What permissions give beyond reading one thing or another by its name. */
function wide(permissions: Permissions = {}): string[] {
  if (typeof permissions === 'string') return [permissions];
  const scopes = Object.keys(permissions).filter((scope) => permissions[scope] === 'write');
  return scopes.map((scope) => `write ${scope}`);
}

function ofPermissions(whose: string, permissions: Permissions | undefined, may: string[]): string[] {
  if (permissions === undefined) return [`${whose} has no permissions, so that it has all that the settings give`];
  const more = wide(permissions).filter((right) => !may.includes(right));
  return more.map((right) => `${whose} may ${right}`);
}

/**
 * What is fetched by a name that others can move to other content, as it was read, however it is written. The comment
 * that says the version is in the text alone.
 */
function ofPins(text: string, jobs: Job[]): string[] {
  const used = jobs.flatMap((job) => [job.uses, ...(job.steps ?? []).map((step) => step.uses)]);
  return used.flatMap((named) => {
    if (named === undefined || named.startsWith('./')) return [];
    if (!/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(named)) return [`${named} is not pinned by a whole commit`];
    const lines = text.split('\n').filter((line) => line.includes(named));
    const isTold = lines.length > 0 && lines.every((line) => / # v\d+\.\d+\.\d+$/.test(line));
    return isTold ? [] : [`${named} does not say which version that commit is`];
  });
}

function ofJob(workflow: string, id: string, job: Job): string[] {
  const faults = ofPermissions(`job ${id}`, job.permissions, MAY[`${workflow} ${id}`] ?? []);
  // One that calls another workflow has neither time nor place of its own.
  if (job.uses !== undefined) return faults;
  if (job['timeout-minutes'] === undefined) faults.push(`job ${id} has no timeout-minutes`);
  const machine = job['runs-on'] ?? '';
  if (!MACHINES.includes(machine)) faults.push(`job ${id} runs on ${machine}, not on ${MACHINES.join(' or ')}`);
  const image = typeof job.container === 'object' ? job.container.image : job.container;
  const images = [image, ...Object.values(job.services ?? {}).map((service) => service.image)];
  for (const image of images) {
    if (image !== undefined && !/@sha256:[0-9a-f]{64}$/.test(image)) faults.push(`${image} is not pinned by a digest`);
  }
  if (job.defaults?.run?.shell !== undefined) faults.push(`job ${id} has another shell than the others`);
  return [...faults, ...(job.steps ?? []).flatMap((step) => ofStep(id, step))];
}

function ofStep(job: string, { uses, run, shell, with: inputs }: Step): string[] {
  const faults: string[] = [];
  if (uses?.startsWith('actions/checkout@') === true && inputs?.['persist-credentials'] !== false) {
    faults.push(`job ${job} leaves its token in the checkout`);
  }
  if (run === undefined) return faults;
  if (run.includes('${{'))
    faults.push(`job ${job} puts an expression into a script, where it is code: hand it over by env`);
  if (shell !== undefined) faults.push(`job ${job} has a script for ${shell}`);
  return [...faults, ...faultsOfScript(`job ${job}`, run)];
}
