// What an installed OpenClaw release says about cases, in the form of the vectors.
//
// A case has "id", "op", "class" and "input", with paths below a placeholder. `check.mjs` answers the stored vectors
// once more with it, which shows that it asks the release what those were asked.

import { rmSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { PLACEHOLDER, fixture } from './fixture.mjs';
import { functions, version } from './package.mjs';

const NAMES = [
  'analyzeArgvCommand',
  'analyzeWindowsShellCommand',
  'buildCwdBoundHashedArgPattern',
  'buildDurableCommandApprovalPattern',
  'createExecApprovalPolicySnapshot',
  'detectInlineEvalArgv',
  'evaluateExecAllowlist',
  'evaluateShellAllowlistWithAuthorization',
  'hasDurableExecApproval',
  'hasExactCommandDurableExecApproval',
  'inspectHostExecEnvOverrides',
  'isExecApprovalPolicySnapshotCurrent',
  'isInterpreterLikeAllowlistPattern',
  'isSafeBinUsage',
  'matchAllowlist',
  'maxAsk',
  'mergeExecApprovalsSocketDefaults',
  'minSecurity',
  'normalizeExecApprovals',
  'parsePersistedExecApprovals',
  'planShellAuthorization',
  'redactExecApprovals',
  'requiresExecApproval',
  'resolveAllowAlwaysPersistenceDecision',
  'resolveExecApprovalAllowedDecisions',
  'resolveExecApprovalCommandDisplay',
  'resolveExecApprovalsFromFile',
  'resolveSafeBinProfiles',
  'resolveSafeBins',
  'resolveSystemRunCommandRequest',
  'sanitizeExecApprovalDisplayTextWithStatus',
  'sanitizeExecApprovalWarningTextWithStatus',
  'sanitizeHostExecEnvWithDiagnostics',
  'sanitizeSystemRunEnvOverrides',
  'serializeExecApprovals',
  'snapshotFromExecApprovalsRow',
  'windowsEscapeArg',
];

// How the vectors name reasons that the release has as sentences.
const REASONS = { 'Shell command is too large to explain': 'too-large' };

const PLATFORM = 'linux';

// Answers cases with the release in `folder`, in the tree at `root`.
export class Oracle {
  static async of(folder, root) {
    process.env.HOME = path.join(root, 'home');
    delete process.env.OPENCLAW_HOME;
    delete process.env.OPENCLAW_STATE_DIR;
    process.umask(0o022);
    return new Oracle(await functions(folder, NAMES), root);
  }

  constructor(peer, root) {
    this.peer = peer;
    this.root = root;
  }

  async answer(op, input) {
    const answer = {
      'allow-always': () => this.always(input),
      'analyze-shell': () => this.analyze(input),
      display: () => this.display(input),
      document: () => this.document(input),
      'env-override': () => this.environment(input),
      evaluate: () => this.evaluate(input),
      'evaluate-argv': () => this.evaluate(input),
      hash: () => this.hash(input),
      'inline-eval': () => this.inlineEval(input),
      'match-pattern': () => this.matching(input),
      policy: () => this.policy(input),
      'raw-command': () => this.rawCommand(input),
      'requires-approval': () => this.approval(input),
      'safe-bin': () => this.safeBin(input),
      windows: () => this.windows(input),
      wrapper: () => this.evaluate(input),
    }[op];
    return answer();
  }

  surroundings(input) {
    return {
      cwd: input.cwd ?? path.join(this.root, 'work'),
      env: { PATH: input.path ?? `${this.root}/bin:${this.root}/safe` },
      platform: input.platform ?? PLATFORM,
    };
  }

  trust(input) {
    return {
      safeBins: this.peer.resolveSafeBins(input.safeBins),
      safeBinProfiles: this.peer.resolveSafeBinProfiles(input.safeBinProfiles),
      trustedSafeBinDirs: new Set(input.trustedDirs ?? [path.join(this.root, 'safe')]),
    };
  }

  async evaluate(input) {
    const context = {
      ...this.surroundings(input),
      ...this.trust(input),
      allowlist: (input.allowlist ?? []).map(entry),
      autoAllowSkills: input.autoAllowSkills ?? false,
      skillBins: input.skillBins,
    };
    let result, ok;
    if (input.command === undefined) {
      const analysis = this.peer.analyzeArgvCommand({ argv: input.argv, ...this.surroundings(input) });
      result = this.peer.evaluateExecAllowlist({ analysis, ...context });
      ok = analysis.ok;
      result.reason = analysis.reason;
    } else {
      result = await this.peer.evaluateShellAllowlistWithAuthorization({ command: input.command, ...context });
      ok = result.analysisOk;
      result.reason = result.authorizationPlan?.reason;
    }
    return {
      satisfied: ok && result.allowlistSatisfied,
      analysisOk: ok,
      satisfiedBy: result.segmentSatisfiedBy,
      reason: result.reason ?? null,
    };
  }

  async analyze(input) {
    const plan = await this.peer.planShellAuthorization({ command: input.command, ...this.surroundings(input) });
    const candidates = plan.groups.flatMap((group) => group.candidates);
    const operators = plan.groups.flatMap((group, at) => [
      ...group.candidates.slice(1).map(() => '|'),
      ...(at + 1 < plan.groups.length ? [group.opToNext] : []),
    ]);
    return {
      ok: plan.ok,
      reason: plan.ok ? null : (REASONS[plan.reason] ?? plan.reason),
      segments: candidates.map((candidate) => {
        const execution = candidate.sourceSegment.resolution?.execution;
        return {
          argv: candidate.sourceSegment.argv,
          path: execution?.resolvedRealPath ?? execution?.resolvedPath ?? null,
          mode: candidate.trustMode,
          reusable: candidate.allowAlways,
          transport: candidate.transport.kind,
        };
      }),
      operators,
    };
  }

  async always(input) {
    const surroundings = this.surroundings(input);
    const result = await this.peer.evaluateShellAllowlistWithAuthorization({
      command: input.command,
      ...surroundings,
      ...this.trust(input),
      allowlist: [],
    });
    const decision = this.peer.resolveAllowAlwaysPersistenceDecision({
      segments: result.segments,
      authorizationPlan: result.authorizationPlan,
      commandText: input.command,
      strictInlineEval: input.strictInlineEval ?? false,
      ...surroundings,
    });
    const offered = decision.kind !== 'one-shot';
    return {
      offered,
      kind: decision.kind,
      reasons: decision.reasons ?? [],
      entries: (decision.patterns ?? []).map(({ pattern, argPattern }) => ({ pattern, argPattern })),
      marker: offered && decision.commandText !== undefined,
    };
  }

  matching(input) {
    const entries = input.entries.map(entry);
    const target = input.target && {
      kind: 'executable',
      rawExecutable: input.target.typed,
      executableName: input.target.name,
      resolvedPath: input.target.path ?? undefined,
      resolvedRealPath: input.target.realPath ?? undefined,
    };
    const found = this.peer.matchAllowlist(entries, target, input.argv, PLATFORM, input.cwd);
    return { matches: found !== null, index: found === null ? null : entries.indexOf(found) };
  }

  safeBin(input) {
    const resolvedPath = input.resolvedPath ?? undefined;
    return {
      satisfied: this.peer.isSafeBinUsage({
        argv: input.argv,
        resolution: {
          kind: 'executable',
          rawExecutable: input.argv[0] ?? '',
          resolvedPath,
          executableName: resolvedPath === undefined ? (input.argv[0] ?? '') : path.basename(resolvedPath),
        },
        platform: input.platform ?? PLATFORM,
        ...this.trust(input),
      }),
    };
  }

  inlineEval(input) {
    if (input.pattern !== undefined) {
      return { interpreterLike: this.peer.isInterpreterLikeAllowlistPattern(input.pattern) };
    }
    const hit = this.peer.detectInlineEvalArgv(input.argv);
    const label = (flag) => ({ '<command>': 'inline command', '<program>': 'inline program' })[flag] ?? flag;
    return {
      hit: hit !== null,
      executable: hit?.normalizedExecutable ?? null,
      flag: hit?.flag ?? null,
      label: hit && `${hit.normalizedExecutable} ${label(hit.flag)}`,
    };
  }

  environment({ key, value, scope, shellWrapper }) {
    if (scope === 'inherited') {
      const { env } = this.peer.sanitizeHostExecEnvWithDiagnostics({ baseEnv: { [key]: value } });
      const kept = Object.entries(env).find(([name]) => name === key.trim());
      return kept
        ? { verdict: 'kept', key: kept[0], value: kept[1] }
        : { verdict: 'removed', key: null, value: null };
    }
    if (shellWrapper) {
      const passed = this.peer.sanitizeSystemRunEnvOverrides({ overrides: { [key]: value }, shellWrapper });
      const [kept] = Object.entries(passed ?? {});
      return kept
        ? { verdict: 'kept', key: kept[0], value: kept[1] }
        : { verdict: 'dropped', key: null, value: null };
    }
    const { rejectedOverrideBlockedKeys: [blocked], rejectedOverrideInvalidKeys: [invalid], env } =
      this.peer.sanitizeHostExecEnvWithDiagnostics({ baseEnv: {}, overrides: { [key]: value } });
    if (blocked !== undefined) return { verdict: 'blocked', key: blocked, value: null };
    if (invalid !== undefined) return { verdict: 'invalid', key: invalid, value: null };
    return { verdict: 'accepted', key: key.trim(), value: env[key.trim()] };
  }

  rawCommand(input) {
    const answer = this.peer.resolveSystemRunCommandRequest({ command: input.argv, rawCommand: input.rawCommand });
    return {
      ok: answer.ok,
      commandText: answer.ok ? answer.commandText : null,
      shellPayload: answer.ok ? answer.shellPayload : null,
      preview: answer.ok ? answer.previewText : null,
      code: answer.ok ? null : answer.details.code,
      message: answer.ok ? null : answer.message,
    };
  }

  approval(input) {
    switch (input.kind) {
      case 'decisions': {
        const allowAlwaysPersistence = input.oneShot ? { kind: 'one-shot' } : undefined;
        return {
          decisions: this.peer.resolveExecApprovalAllowedDecisions({ ask: input.ask, allowAlwaysPersistence }),
        };
      }
      case 'exact-command':
        return { durable: this.peer.hasExactCommandDurableExecApproval(input) };
      case 'durable':
        return {
          durable: this.peer.hasDurableExecApproval({ ...input, segmentAllowlistEntries: input.segmentEntries }),
        };
      default:
        return {
          required: this.peer.requiresExecApproval({
            ...input,
            allowlistSatisfied: input.satisfied,
            durableApprovalSatisfied: input.durable ?? false,
          }),
        };
    }
  }

  policy({ fn, a, b }) {
    return { value: fn === 'min-security' ? this.peer.minSecurity(a, b) : this.peer.maxAsk(a, b) };
  }

  hash(input) {
    if (input.fn === 'command') return { value: this.peer.buildDurableCommandApprovalPattern(input.text.trim()) };
    return { value: this.peer.buildCwdBoundHashedArgPattern(input.argv, input.cwd, input.platform ?? PLATFORM) };
  }

  document(input) {
    const loaded = (text) =>
      this.peer.snapshotFromExecApprovalsRow({ path: '', row: text === null ? undefined : { raw_json: text } });
    const plain = (value) => JSON.parse(JSON.stringify(value));
    switch (input.action) {
      case 'load': {
        const { exists, file, hash } = loaded(input.text);
        const parsed = input.text === null ? { ok: true } : this.peer.parsePersistedExecApprovals(input.text);
        return { exists, valid: parsed.ok, error: parsed.error ?? null, hash, document: plain(file) };
      }
      case 'normalise':
        return { document: plain(this.peer.normalizeExecApprovals(input.document)) };
      case 'redact': {
        const file = this.peer.normalizeExecApprovals(input.document);
        return { document: plain(this.peer.redactExecApprovals({ file }).file) };
      }
      case 'serialise':
        return { text: this.peer.serializeExecApprovals(this.peer.normalizeExecApprovals(input.document)) };
      case 'resolve': {
        const { file } = loaded(input.text);
        const { agentId, overrides } = input;
        const { agent, defaults, allowlist } = this.peer.resolveExecApprovalsFromFile({ file, agentId, overrides });
        return { agent: plain(agent), defaults: plain(defaults), patterns: allowlist.map(({ pattern }) => pattern) };
      }
      case 'merge-socket': {
        const normalized = this.peer.normalizeExecApprovals(input.incoming);
        return { socket: plain(this.peer.mergeExecApprovalsSocketDefaults({ normalized, current: input.current }).socket) };
      }
      case 'snapshot':
        return { snapshot: plain(this.snapshot(input.document, input.agentId)) };
      case 'snapshot-current': {
        const before = this.snapshot(input.before, input.agentId);
        const after = this.snapshot(input.after, input.agentId);
        return { current: this.peer.isExecApprovalPolicySnapshotCurrent(before, after) };
      }
    }
    throw new Error(`unknown action ${input.action}`);
  }

  snapshot(file, agentId) {
    return this.peer.createExecApprovalPolicySnapshot({ file, agentId });
  }

  display(input) {
    switch (input.kind) {
      case 'command':
        return painted(this.peer.sanitizeExecApprovalDisplayTextWithStatus(input.text));
      case 'warning':
        return painted(this.peer.sanitizeExecApprovalWarningTextWithStatus(input.text));
      default: {
        const { commandText, commandPreview } = this.peer.resolveExecApprovalCommandDisplay(input.request);
        return { commandText, commandPreview };
      }
    }
  }

  windows(input) {
    if (input.kind === 'escape') {
      const { ok, escaped } = this.peer.windowsEscapeArg(input.value);
      return { ok, escaped: ok ? escaped : null };
    }
    const { ok, reason, segments } = this.peer.analyzeWindowsShellCommand({ command: input.command, platform: 'win32' });
    return { ok, argv: ok ? segments[0].argv : null, reason: reason ?? null };
  }
}

function entry(entry) {
  return typeof entry === 'string' ? { pattern: entry } : { ...entry };
}

function painted({ text, truncated, oversized }) {
  return { text, truncated, oversized };
}

// A result as it is stored: what the peer made up on the way is named instead.
function stored(value, key) {
  if (Array.isArray(value)) return value.map((inner) => stored(inner));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, stored(inner, name)]));
  }
  if (key === 'id' && UUID.test(value)) return '<uuid>';
  if (key === 'token' && TOKEN.test(value)) return '<generated>';
  return value;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TOKEN = /^[A-Za-z0-9_-]{32}$/;

// Answers each case of `cases`, whose paths have the placeholder. Cases that make the release fail, and those that it
// answers otherwise in another tree, have no verdict.
export async function verdicts(folder, cases) {
  const first = await answers(folder, cases);
  const second = await answers(folder, cases);
  return cases.flatMap((one, at) => (first[at] !== null && first[at] === second[at] ? [{ ...one, expect: JSON.parse(first[at]) }] : []));
}

async function answers(folder, cases) {
  const root = fixture();
  try {
    const oracle = await Oracle.of(folder, root);
    const answers = [];
    for (const { op, input } of cases) {
      const there = JSON.parse(JSON.stringify(input).replaceAll(PLACEHOLDER, root));
      try {
        const answer = JSON.stringify(stored(await oracle.answer(op, there)));
        answers.push(answer.replaceAll(root, PLACEHOLDER));
      } catch {
        answers.push(null);
      }
    }
    return answers;
  } finally {
    rmSync(root, { recursive: true });
  }
}

// A line of a file of vectors: ASCII only.
export function line(value) {
  const code = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${JSON.stringify(value).replace(/[^\x20-\x7e]/g, code)}\n`;
}

export { version };
