// Words that cases are made of. Programs are files of the tree; nothing of them ever runs.

export const PLAIN = ['scan', 'deploy', 'lint', 'audit', 'ship', 'probe'];
export const SAFE = ['head', 'tail', 'cut', 'uniq', 'tr', 'wc', 'sort', 'grep', 'jq', 'awk', 'sed', 'cat', 'seq'];

// Shells, those without files in the tree too.
export const SHELLS = [
  'sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish', 'csh', 'tcsh', 'mksh', 'yash', 'nu', 'osh', 'elvish', 'xonsh', 'pwsh',
  'powershell', 'cmd', 'cmd.exe', 'sh.exe', 'bash.exe', 'pwsh.exe', 'rbash', 'Bash', 'busybox', 'toybox',
];

// What runs code from its command line or a file. Many are in no usual list.
export const INTERPRETERS = [
  'python3', 'python', 'python2', 'python3.12', 'pypy3', 'node', 'nodejs', 'node22', 'bun', 'deno', 'ruby', 'ruby3.2', 'perl',
  'perl5.38', 'php', 'php8.3', 'lua', 'lua5.4', 'R', 'Rscript', 'julia', 'elixir', 'iex', 'guile', 'guile-3.0', 'groovy',
  'scala', 'scala-cli', 'clojure', 'clj', 'raku', 'perl6', 'ghc', 'ghci', 'erl', 'werl', 'gdb', 'expect', 'osascript',
  'find', 'make', 'gmake', 'sed', 'gsed', 'awk', 'gawk', 'mawk', 'nawk', 'xargs', 'tclsh', 'tclsh8.6', 'vim', 'emacs', 'ed',
  'psql', 'sqlite3', 'gnuplot', 'octave', 'ocaml', 'racket', 'sbcl', 'swift', 'ts-node', 'tsx', 'busybox', 'git', 'tar',
];

// Options by which interpreters are given code, in many spellings.
export const CODE_FLAGS = [
  '-c', '-C', '-Ic', '-bc', '-cx', '-e', '-E', '-ne', '-pe', '-0e', '-W1e', '-l0e', '-ex', '-p', '--eval', '--eval=x', '--print',
  '-r', '-R', '-B', '--source', '--source=x', '--so=x', '--s', '-x', '-f', '-fx', '-F', '--file', '--file=x', '--makefile=x',
  '--ev=x', '-ev', '-eval', '-run', '-s', '-eval-command', '-eval-command=', '-eval-command=x', '--eval-command',
  '--eval-command=', '--eval-command=x', '-ex=', '-ex=x', '-iex', '-iex=x', '-eiex=x', '-init-eval-command=x', '--init-e=x',
  '-early-init-eval-command', '--early-init-e', '--rpc-eval', '--execute-script', '--execute-sc', '--java-snippet', '-exec',
  '-execdir', '-ok', '-okdir', '-encoding=x', '-encoding', '--', '-', '-i', '-n', '-v', '--version', '-h', '-m', '-d', '-l',
];

export const CODE = ['alpha', 'print(1)', 'BEGIN{x}', '1', 'x y', '', '$0', 's/a/b/', '{}', ';', '+'];

export const WORDS = ['alpha', 'north', '--all', '-n', '5', 'notes.txt', '-', '--', 'a=b', 'scripts/run.sh', './tool.py', '-o', 'x y'];

// Lists that commands are held against.
export const LISTS = [
  ['*'],
  ['$FX/bin/scan'],
  ['$FX/bin/scan', '$FX/bin/deploy'],
  ['$FX/bin/*'],
  ['$FX/**'],
  ['scan'],
  ['scan', 'deploy', 'lint'],
  ['$FX/bin/sh', '$FX/bin/bash'],
  ['$FX/bin/scan', '$FX/work/scripts/run.sh'],
  ['**'],
  ['?*'],
  [{ pattern: '$FX/bin/scan', argPattern: '^alpha$' }],
  [{ pattern: '*', argPattern: '^alpha$' }],
  [{ pattern: '$FX/bin/scan', source: 'allow-always' }],
  [{ pattern: '*', source: 'allow-always' }],
  [],
];

// A word as a shell reads it back.
export function quoted(word) {
  return /^[A-Za-z0-9_./=+:@%-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
