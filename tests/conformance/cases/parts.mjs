// Single parts: patterns, safe bins, code on command lines, variables, raw commands, prompts, what is shown.

import { PAYLOADS, anyList, interpreter, shell, wrapped } from './lists.mjs';
import { CODE_FLAGS, INTERPRETERS, LISTS, PLAIN, SAFE, SHELLS, WORDS } from './words.mjs';

const HASH = 'sha256:cwd-argv:v1:';

const PATTERNS = [
  '*', ' * ', '**', '?', '?*', '*?', '/*', '/**', '~', '~/*', '~/**', '*/scan', '/opt/*/scan', '/opt/**', '/opt/acme/bin/*', '/opt/acme/bin/scan',
  'scan', 'sc*', 'SCAN', 'scan ', '', ' ', './scan', '\\opt\\acme', '/opt\\\\acme', '/opt/acme/bin/sc?n', '/opt/acme/bin/[s]can', '/opt/acme/../acme/bin/scan',
  '/opt/acme/bin/./scan', '/opt//acme/bin/scan', '/OPT/acme/bin/scan', '/opt/acme/bin/scan*', '/opt/acme/bin/scan/', '=command:aeeea9528b56de06',
  '~/bin/scan', '/opt/**/scan', '/opt/**/**', '*\n', '/opt/acme/bin/s{c,d}an', '/opt/acme/bin/(scan)', '.', '/opt/acme/bin/scan.', 'sc**n',
];

const TARGETS = [
  ['scan', 'scan', '/opt/acme/bin/scan', '/opt/acme/bin/scan'], ['scan', 'scan', '/opt/acme/bin/scan', null], ['scan', 'scan', null, null],
  ['/opt/acme/bin/scan', 'scan', '/opt/acme/bin/scan', '/opt/acme/bin/scan'], ['./scan', 'scan', '/opt/acme/bin/scan', '/srv/scan'],
  ['scan', 'scan', '/opt/acme/bin/scan', '/opt/acme/lib/tool'], ['link', 'link', '/opt/acme/bin/link', '/opt/acme/bin/scan'], ['', '', null, null],
  ['~/bin/scan', 'scan', '$FX/home/bin/scan', '$FX/home/bin/scan'], ['Scan', 'Scan', '/opt/acme/bin/Scan', '/opt/acme/bin/Scan'],
  ['scan', 'scan', '/opt/acme/bin/../bin/scan', null], ['scan\n', 'scan\n', '/opt/acme/bin/scan\n', null], ['nosuch', 'nosuch', null, null],
  ['scan', 'scan', '', ''], ['scan', 'scan', '/opt/acme/bin/scan', ' '], ['scan', 'scan', '/opt\\acme\\scan', null], ['a/scan', 'scan', null, null],
];

function ruleEntry(random) {
  const pattern = random.pick(PATTERNS);
  if (random.chance(55)) return pattern;
  const one = { pattern };
  if (random.chance(55)) one.argPattern = random.pick(['', ' ', '^a$', '^a b$', 'a', '.*', '^$', '^a\u0000$', '^\u0000\u0000$', '(', '^a\u0000b\u0000$', '[', '^(?!x)', `${HASH}00`, 'sha256:argv:00', '\\ba\\b', '^a', '$']);
  if (random.chance(45)) one.source = random.pick(['allow-always', 'allow-always', 'manual', '']);
  return one;
}

export function pattern(random) {
  const input = { entries: random.chance(4) ? [] : Array.from({ length: 1 + random.below(3) }, () => ruleEntry(random)), target: null };
  if (random.chance(90)) {
    const [typed, name, path, realPath] = random.pick(TARGETS);
    input.target = { typed, name, path, realPath };
  }
  if (random.chance(60)) input.argv = ['scan', ...random.some(['a', 'b', 'x y', ''], 0, 2)];
  if (random.chance(40)) input.cwd = random.pick(['/srv', '/srv/', '/', '/srv/./a', '']);
  return input;
}

const BIN_FLAGS = [
  '-n', '-n5', '-5', '+5', '--lines=5', '--lines', '--lin=5', '--l', '-c', '-c5', '--bytes', '-q', '-v', '-z', '-qv', '-qn', '-qn5', '-f', '-F', '--follow',
  '--fol', '--retry', '--pid=1', '-d', '-d,', '-f1', '-b', '-s', '--output-delimiter=x', '--complement', '-u', '-i', '-w', '-w3', '--group', '--group=x', '--gro',
  '-C', '-t', '-l', '-L', '-m', '--files0-from=x', '--files0-from', '--zero-terminated', '-r', '-R', '-e', '-E', '-P', '-o', '-A', '-H', '-h', '-k', '-k1', '-t:',
  '-T', '-S', '--compress-program=x', '--random-source', '--output', '-ofile', '--file', '--regexp=x', '-x', '--', '-', '--help', '--version', '-nr', '-Z',
];

const BIN_WORDS = ['5', 'a', 'a-z', 'A-Z', 'x', '', '-', 'notes.txt', './x', '../x', '~/x', '/etc/x', 'a*', 'a?', '[a]', '$HOME', '${x}', '$(x)', 'C:\\x', 'a/b', '-a', '.', '~', 'a b', '`x`', '$', '\u0000'];

const FOLDERS = [
  '$FX/safe', '$FX/safe/', '$FX/safe//', '$FX//safe', '$FX/./safe', '$FX/bin/../safe', '$FX/bin', '$FX/bin/', ' $FX/safe', '$FX/safe ', 'safe', './safe', '../safe', '',
  '$FX/SAFE', '/', '$FX/alt', '~/safe', '$FX/safe/.', '$FX',
];

const PROFILES = {
  scan: { minPositional: 0, maxPositional: 1, allowedValueFlags: ['-n', '--lines'], deniedFlags: ['-x', '--exec'] },
  head: { maxPositional: 2 },
  ' Probe ': { minPositional: 1, allowedValueFlags: [' -o ', ''] },
  jq: { maxPositional: 3 },
};

export function safeBin(random) {
  const name = random.pick([...SAFE, ...SAFE, 'scan', 'probe', 'evilhead', 'HEAD', 'nosuch', 'head.exe']);
  const typed = random.pick([name, name, name, `$FX/safe/${name}`, `./${name}`]);
  const argv = [typed];
  for (let words = random.below(4); words > 0; words -= 1) argv.push(random.pick(random.chance(60) ? BIN_FLAGS : BIN_WORDS));
  const found = [`$FX/safe/${name}`, `$FX/safe/${name}`, `$FX/safe/${name}`, `$FX/bin/${name}`, `$FX/alt/${name}`, `$FX/safe/../bin/${name}`, `$FX/safe//${name}`];
  const input = { argv, resolvedPath: random.chance(10) ? null : random.pick(found) };
  if (random.chance(50)) input.safeBins = random.chance(75) ? [...SAFE, 'scan', 'probe', 'evilhead'] : random.some([...SAFE, ' head ', 'HEAD', 'scan', '', '$FX/safe/head'], 0, 3);
  if (random.chance(40)) input.trustedDirs = random.some(FOLDERS, 0, 2);
  if (random.chance(20)) input.safeBinProfiles = PROFILES;
  if (random.chance(4)) input.platform = 'win32';
  return input;
}

export function safeBinText(random) {
  const { argv, safeBins, trustedDirs } = safeBin(random);
  const text = argv.map((word) => (/^[A-Za-z0-9_./=+,:~$*?-]+$/.test(word) ? word : `'${word.replaceAll('\u0000', '')}'`)).join(' ');
  const input = { command: random.chance(60) ? text : `${random.pick(['scan', 'true', 'head'])} ${random.pick(['|', '&&', ';', '||'])} ${text}`, allowlist: random.pick(LISTS) };
  return { ...input, ...(safeBins && { safeBins }), ...(trustedDirs && { trustedDirs }) };
}

export function codeList(random) {
  return { argv: random.chance(65) ? interpreter(random) : random.chance(50) ? wrapped(random) : shell(random) };
}

// One interpreter with one option, so that every spelling is met.
export function codeFlag(random) {
  return { argv: [random.pick(INTERPRETERS), random.pick(CODE_FLAGS), ...random.some(['x', '--', '-e', 'tool.py'], 0, 2)] };
}

export function codePattern(random) {
  const name = random.pick([...INTERPRETERS, ...SHELLS, ...PLAIN, 'head', 'env', 'npx']);
  const forms = [name, `/usr/bin/${name}`, `**/${name}`, `${name}*`, `*${name}`, `${name}-3.1`, `${name}3`, `${name}.exe`, `/opt/${name}/bin/x`, name.toUpperCase(), ` ${name} `, `${name}?`, `[${name}]`, `${name}-`, `${name}.`, `c:\\bin\\${name}.exe`, `${name}.cmd`, `{${name}}`, `${name}-dbg`, `x${name}`, `${name}/`, `${name}[0-9]*`, `${name}1.`, `${name}.1-2`];
  return { pattern: random.pick(forms) };
}

const VARIABLES = [
  'PATH', 'HOME', 'LANG', 'LC_ALL', 'LC_', 'TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'LD_PRELOAD', 'LD_', 'DYLD_X', 'BASH_ENV', 'ENV', 'BASH_FUNC_x', 'IFS', 'PS4', 'SHELLOPTS',
  'NODE_OPTIONS', 'PYTHONPATH', 'PERL5LIB', 'RUBYOPT', 'GIT_DIR', 'GIT_PAGER', 'PAGER', 'GIT_SSH_COMMAND', 'GIT_ALLOW_PROTOCOL', 'GIT_PROTOCOL_FROM_USER', 'GIT_CONFIG_COUNT', 'GIT_X',
  'EDITOR', 'VISUAL', 'BROWSER', 'CARGO_TARGET_X_RUNNER', 'CARGO_TARGET_X_LINKER', 'CARGO_TARGET__RUNNER', 'CARGO_X', 'RUSTC_WRAPPER', 'GOFLAGS', 'JAVA_TOOL_OPTIONS', 'MAVEN_OPTS', 'CC',
  'MAKEFLAGS', 'npm_config_x', 'NPM_CONFIG_X', 'AWS_CONFIG_FILE', 'SSL_CERT_FILE', 'HTTP_PROXY', 'LEVEL', 'ProgramFiles(x86)', 'A B', 'A-B', '1A', '', ' ', 'A=B', ' LEVEL ', 'ld_preload', 'Path',
  'OPENCLAW_X', 'XDG_CONFIG_HOME', 'TMPDIR', 'SSH_AUTH_SOCK', 'KUBECONFIG', 'DOCKER_HOST', 'LESSOPEN', 'MANPAGER', 'GCONV_PATH', 'TERMINFO', 'HISTFILE', 'PROMPT_COMMAND', 'CDPATH', 'GLOBIGNORE', 'é',
];

const VALUES = ['', '1', 'cat', 'x', '0', 'true', 'yes', '-1', 'git:http:file', 'https', 'ext:ssh', ' cat ', 'less', '+0', '00', 'ON'];

export function variable(random) {
  const input = { key: random.pick(VARIABLES), value: random.pick(VALUES) };
  if (random.chance(30)) input.scope = 'inherited';
  else if (random.chance(40)) input.shellWrapper = true;
  return input;
}

// An argument list with a text that stands for it, for a part of it, or for something else.
export function rawCommand(random) {
  const argv = random.pick([shell, shell, shell, windowsShell, wrapped, anyList, carried])(random);
  const canonical = argv.map((word) => (word === '' || /[\s"]/.test(word) ? `"${word.replaceAll('"', '\\"')}"` : word)).join(' ');
  const last = argv.at(-1) ?? '';
  const texts = [canonical, canonical, last, last, last.trim(), argv.slice(-2).join(' '), argv.join(' '), ` ${canonical} `, null, '', 'scan', random.pick(PAYLOADS), argv.slice(1).join(' '), argv.find((word) => PAYLOADS.includes(word)) ?? 'scan', argv.slice(2).join(' ')];
  return { version: '2026.9.6', argv: random.chance(2) ? [] : argv, rawCommand: random.pick(texts) };
}

function windowsShell(random) {
  const cmd = ['cmd', 'cmd.exe', 'CMD.EXE', 'c:\\windows\\system32\\cmd.exe', './cmd'];
  const power = ['powershell', 'pwsh', 'powershell.exe', 'PowerShell', 'pwsh.exe', 'pwsh-preview'];
  const isCmd = random.chance(45);
  const argv = [...random.some([['nice'], ['env'], ['env', 'A=1'], ['timeout', '5']], 0, random.chance(25) ? 1 : 0).flat(), random.pick(isCmd ? cmd : power)];
  const flags = isCmd
    ? ['/c', '/C', '/d', '/s', '/k', '-c', '-k', '/q', '/v:on', '/e:off', '', 'x', '/K', '-C', '/t:0f']
    : ['-c', '-Command', '-command', '--command', '/c', '/command', '-com', '-e', '-enc', '-EncodedCommand', '-ec', '-f', '-File', '-NoProfile', '-nop', '-NoExit', '-ExecutionPolicy', 'Bypass', '-ex', '-cwa', '-CommandWithArgs', '-w', 'hidden', '-', '--', '-Interactive', '-sta', '-c:', '-v', '2', '/f'];
  argv.push(...random.some(flags, 0, 2));
  if (random.chance(75)) argv.push(isCmd ? '/c' : random.pick(['-c', '-Command']));
  return [...argv, ...random.some(['scan', 'scan alpha', 'echo x', '', 'x', '"$0"', '-', '%PATH%', '&', 'wipe'], 0, 3)];
}

function carried(random) {
  const argv = [...random.some([['env'], ['nice'], ['env', '-i'], ['busybox'], ['time', '-p'], ['stdbuf', '-oL'], ['nohup'], ['toybox', '--']], 0, 2).flat()];
  argv.push(random.pick(['sh', 'bash', 'zsh', 'fish', 'csh', 'nu', 'elvish', 'xonsh', 'osh', 'tcsh']));
  argv.push(...random.some(['--', '-c', '-lc', '-ic', '-l', '-i', '-o', 'x', '-e', '--command', '-C', '--login', '--execute', '--commands', '--commands=scan', '--config', '-cscan'], 1, 3));
  return [...argv, ...random.some(['scan', 'scan alpha', '', ' ', 'x'], 1, 2)];
}

const ASK = ['off', 'on-miss', 'always'];

export function approval(random) {
  const yes = () => random.chance(50);
  const entries = () => Array.from({ length: random.below(3) }, () => random.pick([null, { pattern: 'x', source: 'allow-always' }, { pattern: 'y' }, { pattern: 'z', source: 'manual' }]));
  const commandText = random.pick(['scan', ' scan ', 'scan --now', '', ' ']);
  const allowlist = random.some([{ pattern: '=command:aeeea9528b56de06', source: 'allow-always' }, { pattern: '=command:aeeea9528b56de06' }, { pattern: 'x', source: 'allow-always', commandText: 'scan' }, { pattern: 'x', commandText: 'scan' }, { pattern: 'x', source: 'allow-always', commandText: ' scan --now ' }], 0, 2);
  return random.pick([
    () => ({ version: '2026.9.6', ask: random.pick(ASK), security: random.pick(['deny', 'allowlist', 'full']), analysisOk: yes(), satisfied: yes(), durable: yes() }),
    () => ({ version: '2026.9.6', kind: 'decisions', ask: random.pick([...ASK, null, ' ALWAYS ', 'x', '']), oneShot: yes() }),
    () => ({ version: '2026.9.6', kind: 'durable', analysisOk: yes(), segmentEntries: entries(), allowlist, commandText }),
    () => ({ version: '2026.9.6', kind: 'exact-command', commandText, allowlist }),
  ])();
}

const CHARACTERS = ['a', ' ', '\n', '\r', '\r\n', '\t', '\u0000', '\u001b[31m', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u034f', '\u061c', '\u115f', '\u1680', '\u180e', '\u2000', '\u200b', '\u200d', '\u200e', '\u2028', '\u2029', '\u202e', '\u202f', '\u2060', '\u2066', '\u2800', '\u3000', '\u3164', '\ufe0f', '\ufeff', '\uffa0', '\ufff9', '\u{e0001}', '\u{e0100}', '\u{1f600}', '\u{1d173}', 'é', '\\u{202E}', '$x', '\u05d0', '\ue000', '\u0301'];

export function shown(random) {
  const text = `scan ${random.some(CHARACTERS, 1, 6).join(random.pick(['', 'b']))}`;
  return { kind: random.pick(['command', 'warning']), text };
}

export function windowsText(random) {
  const words = ['scan', 'scan.exe', '"scan x"', "'x'", 'alpha', '&', '|', '>', '%PATH%', '^', '$x', '$(x)', '`', '!x!', '"', "'", '\\', '&&', ';', '@', '#', '(', ')', '{', '[', ',', 'powershell -c', 'pwsh -Command', 'powershell -NoProfile -Command "scan"', '& scan', '\n', 'a""b', '%', '-x', '=', '$', '~', '*'];
  if (random.chance(35)) return { kind: 'escape', value: random.some(words, 0, 3).join(random.pick(['', ' '])) };
  return { kind: 'analyze', command: random.some(words, 1, 5).join(' ') };
}

export function hash(random) {
  if (random.chance(40)) return { fn: 'command', text: random.some(['scan', ' ', 'é', '\n', '--now', '\u{1f600}', '"x"'], 1, 4).join(random.pick(['', ' '])) };
  return { fn: 'cwd-argv', argv: random.some(['scan', 'a', '', 'x y', 'é', '\u0000', '\u{1f600}', '-n'], 1, 4), cwd: random.pick(['/srv', '/srv/', '/srv//a', '/srv/./a', '/srv/../x', '/', '', '.', 'a/b', '/srv\\a', '/é']) };
}
