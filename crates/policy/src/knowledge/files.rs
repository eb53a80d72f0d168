//! Programs that look at files and at the machine (GNU coreutils, grep, sed, gawk, findutils, diffutils,
//! procps, util-linux, file, jq, ripgrep, fd, tree). Left out on purpose: `find` actions, `sed -e`, `-f` and
//! the script commands `w`, `e`, `r`; `sort -o`, `-T`, `--compress-program`; `uniq` and `xxd` with an output
//! file; `rg --pre` and `-z`; `fd -x`; `tree -o`; `date -s`; `file -C`; `diff -l`; `ps e`; `tail -f`;
//! `sha256sum -c`, which opens what a file lists; every `--files0-from`.

use super::{Command, Nature, Operands, Program, Script};
use countersign_protocol::rules::FlagStyle;

const fn only(nature: Nature, flags: &'static str, operands: Operands) -> Command {
    Command { words: "", nature, flags, operands }
}

const fn plain(names: &'static [&'static str], commands: &'static [Command]) -> Program {
    Program { names, style: FlagStyle::Clustered, leading: "", commands }
}

pub(crate) const PROGRAMS: &[Program] = &[
    plain(
        &["ls"],
        &[only(
            Nature::Reads,
            "-a,--all -A,--almost-all -b,--escape -B,--ignore-backups -c -C -d,--directory -f -F -g -G,--no-group -h,--human-readable -H -i,--inode -k -l -L,--dereference -m -n,--numeric-uid-gid -N,--literal -o -p -q -Q,--quote-name -r,--reverse -R,--recursive -s,--size -S -t -u -U -v -w= -x -X -Z -1 --author --block-size= --color[=] --file-type --format= --full-time --group-directories-first --ignore= --indicator-style= --quoting-style= --si --sort= --time= --time-style= --",
            Operands::Paths,
        )],
    ),
    plain(
        &["cat"],
        &[only(
            Nature::Reads,
            "-A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t -T,--show-tabs -u -v,--show-nonprinting --",
            Operands::Paths,
        )],
    ),
    plain(&["tac"], &[only(Nature::Reads, "-b,--before -s,--separator= --", Operands::Paths)]),
    plain(
        &["head"],
        &[only(
            Nature::Reads,
            "-c,--bytes= -n,--lines=# -q,--quiet,--silent -v,--verbose -z,--zero-terminated -# --",
            Operands::Paths,
        )],
    ),
    plain(
        &["tail"],
        &[only(
            Nature::Reads,
            "-c,--bytes= -n,--lines=# -q,--quiet,--silent -r -v,--verbose -z,--zero-terminated -# --",
            Operands::Paths,
        )],
    ),
    plain(
        &["nl"],
        &[only(
            Nature::Reads,
            "-b,--body-numbering= -d,--section-delimiter= -f,--footer-numbering= -h,--header-numbering= -i,--line-increment=# -l,--join-blank-lines=# -n,--number-format= -p,--no-renumber -s,--number-separator= -v,--starting-line-number=# -w,--number-width=# --",
            Operands::Paths,
        )],
    ),
    plain(
        &["wc"],
        &[only(
            Nature::Reads,
            "-c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words --",
            Operands::Paths,
        )],
    ),
    plain(
        &["cut"],
        &[only(
            Nature::Reads,
            "-b,--bytes= -c,--characters= -d,--delimiter= -f,--fields= -n --complement -s,--only-delimited --output-delimiter= -z,--zero-terminated --",
            Operands::Paths,
        )],
    ),
    plain(
        &["sort"],
        &[only(
            Nature::Reads,
            "-b,--ignore-leading-blanks -c,--check[=] -C -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort -h,--human-numeric-sort -i,--ignore-nonprinting -k,--key= -m,--merge -M,--month-sort -n,--numeric-sort -r,--reverse -R,--random-sort -s,--stable -t,--field-separator= -u,--unique -V,--version-sort -z,--zero-terminated --sort= --parallel=# --",
            Operands::Paths,
        )],
    ),
    // Where nobody watches it prints as `cat` does. Its one subcommand writes.
    plain(
        &["bat", "batcat"],
        &[only(
            Nature::Reads,
            "-n,--number -p,--plain -A,--show-all -l,--language= -r,--line-range= -H,--highlight-line= --style= --color= --decorations= --theme= --wrap= --tabs=#",
            Operands::File,
        )],
    ),
    // A second operand would be written to.
    plain(
        &["uniq"],
        &[only(
            Nature::Reads,
            "-c,--count -d,--repeated -D -f,--skip-fields=# -i,--ignore-case -s,--skip-chars=# -u,--unique -w,--check-chars=# -z,--zero-terminated --group[=]",
            Operands::None,
        )],
    ),
    plain(
        &["tr"],
        &[only(
            Nature::Reads,
            "-c,-C,--complement -d,--delete -s,--squeeze-repeats -t,--truncate-set1 --",
            Operands::Text,
        )],
    ),
    plain(
        &["paste"],
        &[only(Nature::Reads, "-d,--delimiters= -s,--serial -z,--zero-terminated --", Operands::Paths)],
    ),
    plain(
        &["comm"],
        &[only(
            Nature::Reads,
            "-1 -2 -3 --check-order --nocheck-order --output-delimiter= --total -#",
            Operands::Paths,
        )],
    ),
    plain(
        &["join"],
        &[only(
            Nature::Reads,
            "-a= -e= -i,--ignore-case -j= -o= -t= -v= -1= -2= --header --",
            Operands::Paths,
        )],
    ),
    plain(
        &["rev", "strings", "fold", "expand", "unexpand"],
        &[only(Nature::Reads, "-a -n=# -w=# -s -t= --", Operands::Paths)],
    ),
    plain(
        &["column"],
        &[only(
            Nature::Reads,
            "-t,--table -s,--separator= -o,--output-separator= -c,--output-width=# -x -n -e -N= -R= -l=#",
            Operands::Paths,
        )],
    ),
    plain(
        &["grep", "egrep", "fgrep"],
        &[only(
            Nature::ReadsTrees,
            "-a,--text -A,--after-context=# -b,--byte-offset -B,--before-context=# -c,--count -C,--context=# -e,--regexp= -E,--extended-regexp -f,--file= -F,--fixed-strings -G,--basic-regexp -h,--no-filename -H,--with-filename -i,--ignore-case,--no-ignore-case -I -l,--files-with-matches -L,--files-without-match -m,--max-count=# -n,--line-number -o,--only-matching -P,--perl-regexp -q,--quiet,--silent -r,--recursive -R,--dereference-recursive -s,--no-messages -T,--initial-tab -v,--invert-match -w,--word-regexp -x,--line-regexp -y -z,--null-data -Z,--null -# --binary-files= --color[=] --colour[=] --exclude= --exclude-dir= --include= --label= --line-buffered --",
            Operands::Search,
        )],
    ),
    plain(
        &["rg"],
        &[only(
            Nature::ReadsTrees,
            "-a,--text -A,--after-context=# -b,--byte-offset -B,--before-context=# -c,--count --count-matches -C,--context=# -e,--regexp= -F,--fixed-strings --files -g,--glob= --iglob= --heading --no-heading -h -H,--with-filename -I,--no-filename -i,--ignore-case -j,--threads=# --json -l,--files-with-matches --files-without-match -L,--follow -m,--max-count=# -M,--max-columns=# --max-depth=# --max-filesize= -n,--line-number -N,--no-line-number --no-messages -o,--only-matching --passthru -P,--pcre2 -p,--pretty -q,--quiet -r,--replace= -s,--case-sensitive -S,--smart-case --sort= --sortr= --stats --color= --colors= --trim -t,--type= -T,--type-not= --type-list -U,--multiline --multiline-dotall -v,--invert-match --vimgrep -w,--word-regexp -x,--line-regexp -0,--null --column --no-config --hidden --no-ignore --no-ignore-vcs --",
            Operands::Search,
        )],
    ),
    Program {
        names: &["find", "gfind"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[only(
            Nature::Reads,
            "-H -L -P -a -and -o -or -not -amin=# -atime=# -cmin=# -ctime=# -mmin=# -mtime=# -daystart -depth -d -empty -executable -false -true -fstype= -gid=# -group= -ilname= -iname= -inum=# -ipath= -iregex= -iwholename= -links=# -lname= -ls -maxdepth=# -mindepth=# -mount -name= -newer= -newermt= -nogroup -noleaf -nouser -path= -perm= -print -print0 -printf= -prune -quit -readable -regex= -regextype= -size= -type= -uid=# -user= -wholename= -writable -xdev -xtype=",
            Operands::Paths,
        )],
    },
    plain(
        &["fd", "fdfind"],
        &[only(
            Nature::Reads,
            "-H,--hidden -I,--no-ignore -s,--case-sensitive -i,--ignore-case -g,--glob -F,--fixed-strings -a,--absolute-path -L,--follow -p,--full-path -d,--max-depth=# --min-depth=# -E,--exclude= -t,--type= -e,--extension= -S,--size= --changed-within= --changed-before= -o,--owner= -c,--color= -j,--threads=# -0,--print0 -1 -q,--quiet --max-results=# --",
            Operands::Search,
        )],
    ),
    plain(
        &["sed", "gsed"],
        &[
            Command {
                words: "-i",
                nature: Nature::Adds,
                flags: "-E,-r,--regexp-extended -s,--separate -z,--null-data",
                operands: Operands::Script(Script::SedInPlace),
            },
            only(
                Nature::Reads,
                "-n,--quiet,--silent -E,-r,--regexp-extended -s,--separate -u,--unbuffered -z,--null-data --sandbox --",
                Operands::Script(Script::Sed),
            ),
        ],
    ),
    plain(&["awk", "gawk", "mawk", "nawk"], &[only(Nature::Reads, "-F= -v=", Operands::Script(Script::Awk))]),
    plain(
        &["jq"],
        &[only(
            Nature::Reads,
            "-r,--raw-output -c,--compact-output -s,--slurp -n,--null-input -e,--exit-status -S,--sort-keys -M,--monochrome-output -C,--color-output -j,--join-output -a,--ascii-output -R,--raw-input --tab --indent=# --arg=2 --argjson=2 --unbuffered",
            Operands::Script(Script::Jq),
        )],
    ),
    plain(&["zcat", "bzcat", "xzcat"], &[only(Nature::Reads, "--", Operands::Paths)]),
    Program {
        names: &["gzip"],
        style: FlagStyle::Clustered,
        leading: "",
        commands: &[
            Command { words: "-dc", nature: Nature::Reads, flags: "--", operands: Operands::Paths },
            Command { words: "-cd", nature: Nature::Reads, flags: "--", operands: Operands::Paths },
            Command { words: "-l", nature: Nature::Reads, flags: "-v --", operands: Operands::Paths },
        ],
    },
    plain(
        &["diff"],
        &[only(
            Nature::ReadsTrees,
            "-a,--text -b,--ignore-space-change -B,--ignore-blank-lines -c -C,--context=# -d,--minimal -e,--ed -E,--ignore-tab-expansion -i,--ignore-case -I,--ignore-matching-lines= -n,--rcs -N,--new-file -p,--show-c-function -q,--brief -r,--recursive -s,--report-identical-files -t,--expand-tabs -u -U,--unified=# -w,--ignore-all-space -W,--width=# -x,--exclude= -y,--side-by-side --color[=] --label= --normal --strip-trailing-cr --suppress-common-lines --",
            Operands::Paths,
        )],
    ),
    plain(
        &["cmp"],
        &[only(
            Nature::Reads,
            "-b,--print-bytes -i,--ignore-initial= -l,--verbose -n,--bytes= -s,--quiet,--silent",
            Operands::Paths,
        )],
    ),
    plain(
        &["file"],
        &[only(
            Nature::Reads,
            "-b,--brief -h,--no-dereference -i,--mime -I -k,--keep-going -L,--dereference -r,--raw --mime-type --mime-encoding --",
            Operands::Paths,
        )],
    ),
    plain(
        &["stat"],
        &[only(
            Nature::Reads,
            "-c,--format= -f -L,--dereference -t,--terse -x --printf= --",
            Operands::Paths,
        )],
    ),
    plain(
        &["du"],
        &[only(
            Nature::Reads,
            "-a,--all -b,--bytes -B,--block-size= -c,--total -d,--max-depth=# -D -h,--human-readable -H -k -l -L -m -P -s,--summarize -S -t= -x,--one-file-system --apparent-size --exclude= --inodes --si --time[=] --",
            Operands::Paths,
        )],
    ),
    plain(
        &["df"],
        &[only(
            Nature::Reads,
            "-a,--all -B,--block-size= -h,--human-readable -H -i,--inodes -k -l,--local -m -P,--portability -t,--type= -T,--print-type -x= --output[=] --total",
            Operands::Paths,
        )],
    ),
    plain(
        &["tree"],
        &[only(
            Nature::Reads,
            "-a -d -f -l -x -L=# -P= -I= -i -q -N -Q -p -u -g -s -h -D -F -t -v -r -U -C -n -J -X --dirsfirst --noreport --prune --gitignore --filelimit=# --du --si --matchdirs --ignore-case",
            Operands::Paths,
        )],
    ),
    plain(&["pwd"], &[only(Nature::Reads, "-L -P", Operands::None)]),
    plain(&["echo"], &[only(Nature::Prints, "", Operands::Anything)]),
    plain(&["printf"], &[only(Nature::Prints, "--", Operands::Text)]),
    plain(
        &["true", "false", "sync", "tty", "nproc", "logname", "uptime"],
        &[only(Nature::Prints, "", Operands::None)],
    ),
    plain(&["sleep", "seq", "expr", "factor"], &[only(Nature::Prints, "-w -s= -f=", Operands::Text)]),
    plain(
        &["test", "["],
        &[only(
            Nature::Prints,
            "-b -c -d -e -f -g -G -h -k -L -n -N -O -p -r -s -S -t -u -w -x -z -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o",
            Operands::Paths,
        )],
    ),
    plain(&["which", "type"], &[only(Nature::Reads, "-a -s -p -t", Operands::Text)]),
    plain(
        &["basename", "dirname"],
        &[only(Nature::Prints, "-a,--multiple -s,--suffix= -z,--zero --", Operands::Paths)],
    ),
    plain(
        &["realpath", "readlink"],
        &[only(
            Nature::Reads,
            "-e,--canonicalize-existing -f,--canonicalize -m,--canonicalize-missing -n,--no-newline -L,--logical -P,--physical -q,--quiet -s,--strip,--no-symlinks -v,--verbose -z,--zero --relative-to= --relative-base= --",
            Operands::Paths,
        )],
    ),
    plain(
        &["date"],
        &[only(
            Nature::Reads,
            "-d,--date= -I[=] -R,--rfc-email -u,--utc,--universal --iso-8601[=] --rfc-3339= -r,--reference=",
            Operands::Prefixed(&["+"]),
        )],
    ),
    plain(&["cal", "ncal"], &[only(Nature::Reads, "-1 -3 -h -j -m= -y", Operands::Text)]),
    plain(
        &["uname"],
        &[only(
            Nature::Reads,
            "-a,--all -i -m,--machine -n,--nodename -o,--operating-system -p -r,--kernel-release -s,--kernel-name -v,--kernel-version",
            Operands::None,
        )],
    ),
    plain(&["whoami", "hostname", "groups", "users"], &[only(Nature::Reads, "", Operands::None)]),
    plain(
        &["id"],
        &[only(Nature::Reads, "-g,--group -G,--groups -n,--name -r,--real -u,--user", Operands::None)],
    ),
    plain(
        &["free", "vmstat", "lscpu", "lsblk"],
        &[only(Nature::Reads, "-h -m -g -k -b -w -t", Operands::None)],
    ),
    // Without a dash `e` shows the environment of every process. Names are no values here: with one that
    // nobody has, the whole line is read once more, without the dashes.
    plain(
        &["ps"],
        &[only(
            Nature::Reads,
            "-a -A -C= -d -e -f -F -H -j -l -p=# -u= -U= -w -aux -o= --sort= --no-headers --forest",
            Operands::Words(&["a", "ax", "aux", "auxw", "auxww", "axu", "axuf", "axo", "x", "u"]),
        )],
    ),
    plain(
        &["pgrep"],
        &[only(
            Nature::Reads,
            "-a,--list-full -c,--count -f,--full -i,--ignore-case -l,--list-name -n,--newest -o,--oldest -P= -u= -v -x,--exact",
            Operands::Text,
        )],
    ),
    plain(&["lsof"], &[only(Nature::Reads, "-i[=] -n -P -p= -t -a -c= -u= -s[=]", Operands::Text)]),
    plain(
        &[
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "shasum",
            "md5",
            "sum",
        ],
        &[only(Nature::Reads, "-a= -b,--binary -q -r -t,--text -z,--zero --tag", Operands::Paths)],
    ),
    plain(
        &["base64", "base32"],
        &[only(Nature::Reads, "-d,-D,--decode -i,--ignore-garbage -w,--wrap=#", Operands::Paths)],
    ),
    plain(
        &["od", "hexdump", "hd"],
        &[only(
            Nature::Reads,
            "-A,--address-radix= -a -b -c -C -d -e= -f -i -j,--skip-bytes= -l -n= -N,--read-bytes= -o -s= -S= -t,--format= -v,--output-duplicates -w[=] -x",
            Operands::Paths,
        )],
    ),
    // A second operand would be written to.
    plain(&["xxd"], &[only(Nature::Reads, "-a -b -c=# -d -e -g=# -i -l=# -p -s=# -u", Operands::File)]),
    // The letters alone say that an archive is listed. Left out are those that start a program of their own
    // (`-I`, `--to-command`, `--checkpoint-action`) or read names from a file (`-T`).
    Program {
        names: &["tar", "gtar", "bsdtar"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[
            lists("tf"),
            lists("-tf"),
            lists("tvf"),
            lists("-tvf"),
            lists("tzf"),
            lists("-tzf"),
            lists("tvzf"),
            lists("-tvzf"),
            lists("tzvf"),
            lists("-tzvf"),
            lists("ztf"),
            lists("-ztf"),
            lists("ztvf"),
            lists("-ztvf"),
            lists("tjf"),
            lists("-tjf"),
            lists("tjvf"),
            lists("-tjvf"),
            lists("tvjf"),
            lists("-tvjf"),
            lists("tJf"),
            lists("-tJf"),
            lists("tJvf"),
            lists("-tJvf"),
            lists("tvJf"),
            lists("-tvJf"),
            lists("--list -f"),
            lists("--list --file"),
            lists("-t -f"),
            lists("-t -v -f"),
        ],
    },
    Program {
        names: &["unzip"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[
            lists("-l"),
            lists("-v"),
            lists("-lv"),
            lists("-vl"),
            lists("-lq"),
            lists("-Z1"),
            lists("-Z -1"),
            lists("-Z"),
        ],
    },
    plain(&["zipinfo"], &[only(Nature::Reads, "-1 -2 -s -m -l -v -h -t -z", Operands::File)]),
    // What is printed is a page of the system, by its name; a path would be read as one.
    Program {
        names: &["man"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[only(
            Nature::Reads,
            "-a,--all -f,--whatis -k,--apropos -w,--where,--path,--location",
            Operands::Text,
        )],
    },
    plain(
        &["whatis", "apropos"],
        &[only(
            Nature::Reads,
            "-s,--sections= -l,--long -e,--exact -r,--regex -w,--wildcard",
            Operands::Text,
        )],
    ),
    plain(&["whereis"], &[only(Nature::Reads, "-b -m -s -u", Operands::Text)]),
    plain(&["locale"], &[only(Nature::Reads, "-a,--all-locales -m,--charmaps -c -k", Operands::Text)]),
    plain(&["getconf"], &[only(Nature::Reads, "-a", Operands::Text)]),
    plain(
        &["who"],
        &[only(Nature::Reads, "-a -b -d -H -l -m -p -q -r -s -t -T -u", Operands::Words(&["am", "i"]))],
    ),
    plain(&["w"], &[only(Nature::Reads, "-h -s -f -i", Operands::None)]),
    plain(&["lsmod", "clear"], &[only(Nature::Reads, "", Operands::None)]),
    plain(&["tput"], &[only(Nature::Reads, "", Operands::Words(&["cols", "lines", "colors"]))]),
    plain(
        &["printenv"],
        &[Command {
            words: "",
            nature: Nature::Reads,
            flags: "",
            operands: Operands::Named(countersign_commands::environment::TOLD),
        }],
    ),
    // Without `-r` it looks no names up.
    plain(
        &["ss"],
        &[only(
            Nature::Reads,
            "-t,--tcp -u,--udp -w -x,--unix -l,--listening -a,--all -n,--numeric -p,--processes -4 -6 -s,--summary -H,--no-header -O -e -m -o -i",
            Operands::None,
        )],
    ),
    Program {
        names: &["dpkg"],
        style: FlagStyle::Words,
        leading: "",
        commands: &[
            told("-l"),
            told("--list"),
            told("-L"),
            told("--listfiles"),
            told("-s"),
            told("--status"),
            told("-S"),
            told("--search"),
        ],
    },
];

/// An archive's list: one file, then names of what is in it.
const fn lists(words: &'static str) -> Command {
    Command { words, nature: Nature::Reads, flags: "", operands: Operands::Archive }
}

/// What the system's own records say of names.
const fn told(words: &'static str) -> Command {
    Command { words, nature: Nature::Reads, flags: "", operands: Operands::Text }
}
