// Texts for a shell: what grammars read in different ways, around programs that lists cover.

import { PAYLOADS, anyList, interpreter, plain, runner, shell, wrapped } from './lists.mjs';
import { PLAIN, quoted } from './words.mjs';

const JOINS = [' && ', ' || ', '; ', ' | ', ' |& ', '\n', ' & ', '&&', '|', ';', ' ; ; ', ' && \n', ' |\n', '||', ' && && '];

// A command list written down.
export function written(argv) {
  return argv.map(quoted).join(' ');
}

function command(random) {
  return written(random.chance(70) ? plain(random) : anyList(random));
}

// `!`, more than one at times, at any place of pipelines and chains.
export function negation(random) {
  const bang = () => random.pick(['', '', '! ', '! ! ', '!! ', '!', '!\t', '! ! ! ', '! time ', 'time ! ', '! -- ', "'!' ", '\\! ', '!(', '! ( ']);
  let text = bang() + written(plain(random));
  for (let more = random.below(3); more > 0; more -= 1) text += random.pick(JOINS) + bang() + written(plain(random));
  return text + random.pick(['', '', '', ' !', ' ! !', ')', ' )']);
}

// Here-documents: one or several, quoted and not, ended and not.
export function hereDocument(random) {
  const names = ['A', 'B', 'EOF', "'A'", '"B"', '\\A', '-', 'A-', '"A B"', '$A', ''];
  const operator = () => random.pick(['<<', '<<', '<<-', '<<<', '<< ', '<<- ', '0<<', '3<<', '<<~', '<']);
  const delimiters = random.some(names, 1, 3);
  const bare = (name) => name.replaceAll(/['"\\]/g, '');
  const uses = delimiters.map((name) => operator() + name).join(random.pick([' ', '', ' x ', ' | lint ', ' && deploy ', ' ']));
  const body = () => random.pick(['x\n', '', 'scan\n', '$(wipe)\n', '`wipe`\n', '\tx\n', '$HOME\n', "'\n", 'A\n']);
  const ends = random.chance(70) ? delimiters : random.some(names, 0, 2);
  const bodies = ends.map((name) => `${body()}${random.pick(['', '', '', ' ', '\t'])}${bare(name)}`).join('\n');
  const after = random.pick(['', '', '\n', '\ndeploy', ' x', '\n\n', '\n# x']);
  return `${random.pick(PLAIN)} ${uses}${random.pick(['\n', '\n', ' alpha\n', ''])}${bodies}${after}`;
}

// A shell's own text, by any shell and with any options.
export function shellText(random) {
  const text = written(shell(random));
  return random.chance(75) ? text : text + random.pick(JOINS) + command(random);
}

// `"$0" "$@"` and its relatives, which run what stands behind the text.
export function carrier(random) {
  const zero = ['$0', '"$0"', '${0}', '"${0}"', "'$0'", '\\$0', '"$1"', '$@', '"$@"', '$*', '"$0"x', '$00', '${0:-x}', 'scan'];
  const rest = ['', ' "$@"', ' $@', ' "$*"', ' $1', ' "$1" "$2"', ' ${@}', ' "${@}"', ' $*', '\t"$@"', '\n"$@"', ' "$@" ', ' "$@" x', ' $10'];
  const prefix = ['', '', '', 'exec ', 'exec -- ', 'exec -a x ', 'command ', ' ', 'nice ', '! ', 'A=1 '];
  const argv = [random.pick(['bash', 'sh', 'dash', 'zsh', 'fish', 'ksh', 'mksh', 'yash', 'csh', 'ash', 'nu', '$FX/bin/sh'])];
  argv.push(...random.some(['-e', '-x', '-o', 'pipefail', '--norc'], 0, 1), random.pick(['-c', '-c', '-c', '-lc', '-ec', '-ic', '--command', '-cx']));
  argv.push(random.pick(prefix) + random.pick(zero) + random.pick(rest));
  const carried = [...PLAIN, '$FX/bin/scan', './scan', 'nosuch', 'nice', 'env', 'sh', 'bash', 'find', 'xargs', 'tool-wrapper', '', ' ', 'wipe', '$FX/nowhere/x'];
  argv.push(...random.some(carried, 0, 1), ...random.some([...carried, 'alpha', '-n'], 0, 2));
  return written(argv);
}

export function wrapper(random) {
  return written(wrapped(random));
}

export function packageRunner(random) {
  return written(runner(random));
}

export function inlineCode(random) {
  return written(interpreter(random));
}

const PIECES = [
  'scan', 'deploy', 'alpha', '"a b"', "'x'", '$x', '$(scan)', '`scan`', '${x}', '*', '?', '[a]', '{a,b}', '~', '~/scan', '$?', '$#', '\\', '\\ ',
  '\\\n', '"', "'", '(', ')', '((', '))', '{', '}', '[', ']', '[[', ']]', '&&', '||', '|', '|&', ';', ';;', '&', '>', '>>', '<', '2>&1', '>&2',
  '>/dev/null', '2>/dev/null', '<(scan)', '>(scan)', '<<<x', '#', '#x', '\n', '\r\n', '\t', 'A=1', 'A+=1', 'A=(x)', 'A[0]=1', '1A=2', 'if', 'then',
  'else', 'fi', 'for', 'in', 'do', 'done', 'while', 'case', 'esac', 'function', 'f()', 'select', 'time', 'coproc', '!', '==', '=', '=~', '-eq',
  '-d', 'test', 'true', 'false', ':', 'cd', 'pwd', 'CD', 'export', 'unset', 'declare', 'local', 'readonly', 'eval', 'source', '.', 'alias', 'exec',
  'command', 'builtin', 'trap', 'set', 'shopt', 'echo', 'printf', 'read', 'let', "$'x'", "$'\\n'", '$"x"', '$((1+1))', '$[1]', 'é', '\u00a0',
  '\u2028', '\ufeff', '\u0000', '\u000b', '\r', '[ -d x ]', '[[ -d x ]]', '[ a = b ]', '-', '--', '-c', 'sh', 'bash', '%', '^', '@', '+', ',', '=x',
];

// Anything, side by side.
export function pieces(random) {
  const glue = () => random.pick([' ', ' ', ' ', ' ', '', '  ']);
  let text = random.chance(70) ? `${random.pick(PLAIN)} ` : '';
  for (const piece of random.some(PIECES, 1, 7)) text += piece + glue();
  return random.chance(50) ? text.trim() : text;
}

// Sound commands in one of many grammatical forms.
export function form(random) {
  const [a, b] = [command(random), command(random)];
  const forms = [
    `(${a})`, `( ${a}; ${b} )`, `{ ${a}; }`, `{ ${a}; ${b}; } | head`, `if ${a}; then ${b}; fi`, `for x in a b; do ${a}; done`,
    `while ${a}; do ${b}; done`, `case x in x) ${a};; esac`, `f() { ${a}; }; f`, `function f { ${a}; }`, `${a} & ${b}`, `${a} &`, `[ -d x ] && ${a}`,
    `[[ -d x ]] && ${a}`, `[[ a == b* ]] || ${a}`, `[ a != b ] && ${a}`, `test -d x && ${a}`, `cd sub && ${a}`, `cd && ${a}`, `pwd; ${a}`, `true && ${a}`,
    `: ; ${a}`, `${a} # x`, `# x\n${a}`, `${a} > x`, `${a} 2>&1`, `${a} < x`, `${a} >/dev/null`, `${a} &>/dev/null`, `A=1 ${a}`, `A=1; ${a}`, `A=$x ${a}`,
    `A=1 B=2 ${a}`, `export A=1; ${a}`, `export A && ${a}`, `unset A; ${a}`, `${a} "$x"`, `${a} $(${b})`, `${a} \`${b}\``, `${a} <(${b})`, `eval ${a}`,
    `. ./x; ${a}`, `source x && ${a}`, `alias a=${a}`, `${a} *.txt`, `${a} {a,b}`, `${a} ~/x`, `${a} $'x'`, `${a} "a\\$b"`, `${a} \\\n${b}`, `time ${a}`,
    `coproc ${a}`, `${a} && exit`, `exit; ${a}`, `trap ${b} EXIT; ${a}`, `set -e; ${a}`, `declare x=1; ${a}`, `readonly x; ${a}`, `local x; ${a}`,
    `${a} "$'x'"`, `((1)); ${a}`, `let x=1; ${a}`, `$((1)) ${a}`, `[ ]; ${a}`, `[ ${a} ]`, `test; ${a}`, `FALSE; ${a}`, `Test x; ${a}`, `"[" x ]; ${a}`,
    `select x in a; do ${a}; done`, `until ${a}; do ${b}; done`, `${a} |& ${b}`, `${a} | ${b} | head -n 3`, `head -n 3 | ${a}`, `cat | ${a}`,
  ];
  return random.pick(forms);
}

export function nested(random) {
  const inner = random.pick([negation, hereDocument, form, pieces, carrier, wrapper])(random);
  return written([random.pick(['sh', 'bash', 'zsh', 'dash', 'fish', 'csh']), '-c', inner, ...random.some(['x', ''], 0, 1)]);
}

export function payload(random) {
  return random.pick(PAYLOADS);
}

export const ALL = [negation, hereDocument, shellText, carrier, wrapper, packageRunner, inlineCode, pieces, form, nested];
