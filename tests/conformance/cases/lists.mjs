// Argument lists of programs that start others: shells, carriers, wrappers, runners of packages, interpreters.

import { CODE, CODE_FLAGS, INTERPRETERS, PLAIN, SHELLS, WORDS } from './words.mjs';

export const PAYLOADS = [
  'scan', 'scan alpha', 'scan && deploy', 'scan; wipe', 'scan | head', '"$0"', '$0', '"$0" "$@"', '"$0" $1', '${0} "${@}"',
  'exec "$0" "$@"', 'exec -- "$0" "$@"', '"$@"', '"$0" "$*"', '$0 $@', '"$0"  "$@"', ' "$0" "$@" ', '$1', '', ' ', '-x scan',
  '--', 'echo $0', 'scan $1', 'scan *', 'cd sub', 'true', ':', 'sh -c scan', 'sudo scan', 'nice scan', 'scan\ndeploy', 'LEVEL=1 scan',
  '$FX/bin/scan', './scan', 'eval scan', '. ./x', 'scan > x', '(scan)', '{ scan; }', 'if scan; then deploy; fi', 'scan &',
  'tool-wrapper', 'find . -exec wipe {} +', "awk 'BEGIN{x}'", 'echo "a', '`wipe`', '! scan', '! ! scan', 'python3 -c 1', 'test -v x',
];

const SHELL_FLAGS = [
  '-c', '-lc', '-ec', '-cx', '-xc', '-ic', '-l', '-i', '-e', '-o', '-O', '+o', '+O', 'pipefail', 'extglob', '-oc', '--', '-',
  '--norc', '--noprofile', '--posix', '--login', '--rcfile', '--init-file', '--rcfile=x', '--command', '--command=scan', '--commands',
  '--cmdline', '-C', '--init-command', '--init-command=x', '-s', '-cs', '-sc', '/c', '/C', '/k', '/d', '/s', '-Command', '-command',
  '-NoProfile', '-File', '-f', '-EncodedCommand', '-enc', '-e', '--execute', '--config', 'x', '-n', '-ce', '-cscan', '-c=scan', '-ceu',
  '', ' -c', '-c ',
];

// A shell with its options, usually with a text.
export function shell(random) {
  const name = random.pick(SHELLS);
  const argv = [random.chance(85) ? name : `${random.pick(['$FX/bin/', './', '/bin/'])}${name}`];
  if (/^(busybox|toybox)$/.test(name)) argv.push(...random.some(['--', 'sh', 'ash', 'bash', 'csh', 'sed', 'sh.exe'], 1, 2));
  if (random.chance(45)) argv.push(...random.some(SHELL_FLAGS, 0, 2));
  if (random.chance(85)) argv.push(random.chance(75) ? '-c' : random.pick(SHELL_FLAGS));
  if (random.chance(12)) argv.push('--');
  argv.push(random.pick(PAYLOADS));
  if (random.chance(45)) argv.push(...random.some([...PLAIN, 'sh', 'bash', 'nice', 'find', 'xargs', 'nosuch', '', ' ', ...WORDS], 1, 3));
  return argv;
}

const WRAPPERS = [
  ['env'], ['env', '-'], ['env', '--'], ['env', '-i'], ['env', 'A=1'], ['env', '-u', 'A'], ['env', '-S'], ['env', '-S', 'scan alpha'],
  ['env', '--split-string=scan alpha'], ['env', '-iS', 'scan'], ['env', '-0'], ['env', '-x'], ['env', ''], ['env', '--argv0', 'x'],
  ['env', '--chdir=x'], ['env', '-C', 'sub'], ['env', '- -'], ['nice'], ['nice', '-n', '5'], ['nice', '-n5'], ['nice', '-5'],
  ['nice', '--adjustment=5'], ['nice', '--adjustment', '5'], ['nice', '-x'], ['nice', '--'], ['nice', '-N', '5'], ['nohup'],
  ['nohup', '--'], ['nohup', '--help'], ['nohup', '-p'], ['timeout', '5'], ['timeout'], ['timeout', '-k', '1', '5'],
  ['timeout', '-s', 'KILL', '5'], ['timeout', '--signal=KILL', '5'], ['timeout', '-v', '5'], ['timeout', '--foreground', '5s'],
  ['timeout', '-k1', '5'], ['timeout', '-sKILL', '5'], ['timeout', '--', '5'], ['timeout', '-K', '1', '5'], ['stdbuf', '-o', 'L'],
  ['stdbuf', '-oL'], ['stdbuf', '--output=L'], ['stdbuf', '-O', 'L'], ['stdbuf'], ['time'], ['time', '-p'], ['time', '-v'],
  ['time', '-o', 'x'], ['time', '--output=x'], ['time', '-f', '%e'], ['time', '-ao', 'x'], ['time', '-h'], ['time', '--format=%e'],
  ['flock', 'x'], ['flock', '-n', 'x'], ['flock', '-nx', 'x'], ['flock', '-w', '1', 'x'], ['flock', '-w1', 'x'], ['flock', 'x', '-c'],
  ['flock', '--timeout=1', 'x'], ['flock', '-E', '2', 'x'], ['flock', '-u', 'x'], ['flock', '--', 'x'], ['flock', '--nb', 'x'],
  ['caffeinate'], ['caffeinate', '-d'], ['caffeinate', '-t', '5'], ['caffeinate', '-t5'], ['caffeinate', '-di'],
  ['sandbox-exec', '-p', 'x'], ['sandbox-exec', '-f', 'x'], ['sandbox-exec'], ['setsid'], ['setsid', '-w'], ['ionice', '-c3'],
  ['taskset', '1'], ['chrt', '1'], ['sudo'], ['sudo', '-n'], ['sudo', '-u', 'x'], ['doas'], ['doas', '-n'], ['su', '-c'], ['watch'],
  ['script', '-q'], ['script', '-c'], ['strace', '-f'], ['unshare', '-r'], ['nsenter'], ['systemd-run', '--user'], ['setpriv'], ['xargs'],
  ['xargs', '-n', '1'], ['parallel'], ['find', '.', '-exec'], ['find', '.', '-name'], ['command'], ['command', '-p'], ['command', '--'],
  ['command', '-v'], ['command', '-V'], ['builtin'], ['builtin', '--'], ['exec'], ['exec', '-a', 'x'], ['exec', '--'], ['exec', '-c'],
  ['exec', '-cl'], ['arch'], ['arch', '-x86_64'], ['xcrun'], ['xvfb-run'], ['eatmydata'], ['firejail'], ['linux32'], ['runuser', '-u', 'x'],
  ['ltrace'], ['chroot', '/'], ['pkexec'], ['torify'], ['unbuffer'], ['numactl'], ['cpulimit'], ['proxychains4'], ['NICE'], ['nice.exe'],
  ['./nice'], ['$FX/bin/env'], ['Env'], ['-'], ['noglob'], ['nocorrect'], ['coproc'], ['!'], ['!', '!'],
];

// Wrappers, several at times, in front of something.
export function wrapped(random) {
  const wrappers = random.some(WRAPPERS, 1, random.chance(15) ? 6 : 2).flat();
  const inner = random.chance(60) ? plain(random) : random.chance(60) ? shell(random) : interpreter(random);
  return [...wrappers, ...inner];
}

const RUNNERS = ['npx', 'npm', 'pnpm', 'yarn', 'bunx', 'bun', 'uvx', 'uv', 'pipx', 'npx.js', 'npm.cmd', 'pnpm.cjs', 'yarn.js', 'cargo', 'go'];

const RUNNER_WORDS = [
  'exec', 'x', 'dlx', 'run', 'node', 'test', 'install', 'EXEC', 'create', 'tool', '--', '-y', '--yes', '-q', '--quiet', '-p', '--package',
  '--package=x', '-w', '-C', '--prefix', '--prefix=x', '--call', '-c', '--shell-mode', '--silent', '-s', '-r', '--recursive', '--dir',
  '--filter', '--cwd', '--workspace', '--ws', '--loglevel', '--loglevel=silent', '--cache', '--no', '--immutable', '--parallel',
  '--reporter', '--config', '-Y', '--userconfig', '--script-shell',
];

// A package manager that starts a program.
export function runner(random) {
  const argv = [random.pick(RUNNERS), ...random.some(RUNNER_WORDS, 0, 3)];
  return [...argv, ...(random.chance(80) ? plain(random) : shell(random))];
}

// An interpreter with code or a file.
export function interpreter(random) {
  const name = random.pick(INTERPRETERS);
  const argv = [random.chance(80) ? name : `${random.pick(['$FX/bin/', './', '/opt/x/', '~/', '../'])}${name}`];
  for (const flag of random.some(CODE_FLAGS, 0, 2)) {
    argv.push(flag);
    if (random.chance(60)) argv.push(random.pick(CODE));
  }
  if (random.chance(70)) argv.push(...random.some([...CODE, 'tool.py', 'app.js', '.', ...WORDS], 1, 2));
  return argv;
}

// A program with arguments.
export function plain(random) {
  const places = ['', '', '', '', '$FX/bin/', './', '$FX/work/bin/', '~/', '../bin/', '$FX/bin/../bin/', '$FX//bin/', '$FX/nowhere/'];
  return [random.pick(places) + random.pick([...PLAIN, 'nosuch', 'linked', 'wipe']), ...random.some(WORDS, 0, 2)];
}

export function anyList(random) {
  return random.pick([shell, shell, wrapped, wrapped, runner, interpreter, plain])(random);
}
