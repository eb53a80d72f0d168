//! Every program and builtin that starts another program, evaluates a text, or gives other rights: the one
//! table from which wrappers, carriers, refusals, elevation, inline evaluation and the facts of a prompt are
//! derived. From the programs' manuals. A name that is missing here is a program of which nothing is known.

use crate::programs::Name;
use std::collections::HashMap;
use std::sync::LazyLock;

/// One program, or several that read their arguments alike.
#[derive(Debug)]
pub struct Carrier {
    /// Its names, with blanks between them.
    pub names: &'static str,
    /// Where what it starts is named.
    pub starts: Starts,
    /// Options whose value is the next word.
    pub values: &'static str,
    /// Options whose value is a program or a text for a shell that it runs.
    pub runs: &'static str,
    /// How far the peers look through it.
    pub through: Through,
    /// Whose rights what it starts has.
    pub rights: Rights,
    /// Whether it talks to other machines by itself.
    pub network: Network,
    /// What a rule for the program says.
    judged: Judged,
}

/// Where a carried command stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Starts {
    /// Behind the options and so many operands.
    Words(usize),
    /// The same, and assignments may stand in front of it.
    Assigned,
    /// Behind one of these subcommands, its options, and so many operands.
    Behind(&'static str, usize),
    /// Behind one of these flags, wherever that is.
    After(&'static str),
    /// Each operand is a text for a shell.
    Texts,
    /// Only in values of its options.
    Options,
    /// In its input, a file or another service.
    Elsewhere,
}

/// How far the peers look through a wrapper, and with them a rule that allows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Through {
    /// To what it starts, with options that are understood.
    Transparent,
    /// To what it starts, as a builtin of the shell.
    Builtin,
    /// They know it and look no further.
    Blocked,
    /// The same, but they look behind it for a program on the command line.
    Searched,
    /// It is a program like any other to them.
    Never,
}

/// Whose rights a carried command has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rights {
    /// Those of who starts it.
    Own,
    /// Another user's.
    Others,
    /// Another user's, unless this flag is there.
    OthersWithout(&'static str),
}

/// Whether a program talks to other machines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Network {
    /// It may or may not.
    Unsaid,
    /// That is what it is for.
    Talks,
}

/// What a rule that allows the program says about what it starts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Judged {
    /// Nothing: it is there to start other programs.
    Carrier,
    /// Nothing to be remembered: its arguments or files are a program.
    Interpreter,
    /// Neither.
    Both,
    /// It does other things too, and starts programs only when it is told so.
    Program,
}

impl Carrier {
    /// Its names one by one.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }

    /// Whether `option` takes the next word as its value.
    pub fn takes_next(&self, option: &str) -> bool {
        self.values.split(' ').chain(self.runs.split(' ')).any(|known| !known.is_empty() && known == option)
    }

    /// Whether a rule for the program says nothing about what it starts.
    pub fn is_carrier(&self) -> bool {
        match self.judged {
            Judged::Carrier | Judged::Both => true,
            Judged::Interpreter | Judged::Program => false,
        }
    }

    /// Whether its arguments or files are a program.
    pub(crate) fn is_interpreter(&self) -> bool {
        match self.judged {
            Judged::Interpreter | Judged::Both => true,
            Judged::Carrier | Judged::Program => false,
        }
    }

    const fn values(self, values: &'static str) -> Self {
        Self { values, ..self }
    }

    const fn runs(self, runs: &'static str) -> Self {
        Self { runs, ..self }
    }

    const fn through(self, through: Through) -> Self {
        Self { through, ..self }
    }

    const fn elevates(self) -> Self {
        Self { rights: Rights::Others, ..self }
    }

    const fn elevates_without(self, flag: &'static str) -> Self {
        Self { rights: Rights::OthersWithout(flag), ..self }
    }

    const fn talks(self) -> Self {
        Self { network: Network::Talks, ..self }
    }

    const fn judged(self, judged: Judged) -> Self {
        Self { judged, ..self }
    }
}

/// The row of a program, by its name with or without a version.
pub fn carrier(name: &Name) -> Option<&'static Carrier> {
    let full = name.as_str();
    if is_loader(full) {
        return Some(&LOADER);
    }
    if is_emulator(full) {
        return Some(&EMULATOR);
    }
    ROWS.get(full).or_else(|| ROWS.get(name.unversioned())).copied()
}

/// The row of this very name, as the peers compare it.
pub fn by_exact_name(name: &str) -> Option<&'static Carrier> {
    ROWS.get(name).copied()
}

/// All rows by each of their names.
static ROWS: LazyLock<HashMap<&'static str, &'static Carrier>> =
    LazyLock::new(|| CARRIERS.iter().flat_map(|row| row.names().map(move |name| (name, row))).collect());

/// The dynamic loader runs a file that it is given: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`, `ld.so`.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld") && (name == "ld.so" || (name.starts_with("ld-") && name.contains(".so")))
}

/// `qemu-x86_64`, `qemu-arm-static`; machines of their own start no program of this one.
fn is_emulator(name: &str) -> bool {
    name.strip_prefix("qemu-").is_some_and(|rest| {
        !["edid", "ga", "img", "io", "nbd", "pr-helper", "storage-daemon", "system"]
            .iter()
            .any(|other| rest.starts_with(other))
    })
}

const LOADER: Carrier =
    words("ld.so", 0).values("--argv0 --audit --inhibit-rpath --library-path --preload --glibc-hwcaps-mask");

const EMULATOR: Carrier =
    words("qemu", 0).values("-0 -B -D -E -L -R -U -cpu -d -dfilter -g -p -plugin -r -s -seed");

/// Programs that only start what stands behind them.
const fn words(names: &'static str, operands: usize) -> Carrier {
    row(names, Starts::Words(operands))
}

/// Programs that start something with some of their subcommands.
const fn behind(names: &'static str, subcommands: &'static str, operands: usize) -> Carrier {
    row(names, Starts::Behind(subcommands, operands)).judged(Judged::Program)
}

/// Programs that start something when a flag says so.
const fn after(names: &'static str, flags: &'static str) -> Carrier {
    row(names, Starts::After(flags)).judged(Judged::Program)
}

/// Programs that start only what their options name.
const fn options(names: &'static str, runs: &'static str) -> Carrier {
    row(names, Starts::Options).runs(runs).judged(Judged::Program)
}

const fn row(names: &'static str, starts: Starts) -> Carrier {
    Carrier {
        names,
        starts,
        values: "",
        runs: "",
        through: Through::Never,
        rights: Rights::Own,
        network: Network::Unsaid,
        judged: Judged::Carrier,
    }
}

/// Actions of `find` that run a program.
pub(crate) const FIND_ACTIONS: &str = "-exec -execdir -ok -okdir";

/// Whether a word of a `find` is one of them.
pub fn is_find_action(word: &str) -> bool {
    FIND_ACTIONS.split(' ').any(|action| action == word)
}

const CONTAINER_VALUES: &str = "-H -c -l -e -v -w -u -p -m -h --host --context --config --log-level --env --env-file --volume --workdir --user --publish --memory --hostname --name --network --net --platform --mount --cpus --label --add-host --cap-add --cap-drop --device --dns --expose --gpus --ip --link --pid --restart --runtime --security-opt --shm-size --stop-signal --tmpfs --ulimit --volumes-from";

/// Sorted by the first name of each.
pub(crate) const CARRIERS: &[Carrier] = &[
    row(".", Starts::Elsewhere),
    options("7z rar zip", "-TT --unzip-command"),
    words("aarch64 alpha armv7l armv8l i386 i486 i586 i686 ia64 mips mips32 mips64 parisc parisc32 parisc64 ppc ppc32 ppc64 s390 s390x sparc sparc32 sparc64 uname26 x86_64", 0),
    words("abduco dtach", 1).values("-e -r"),
    after("alacritty foot footclient ghostty konsole lxterminal mate-terminal mlterm qterminal rxvt st stterm terminator terminology tilix urxvt xfce4-terminal xterm", "-e -x --command --execute"),
    row("alias", Starts::Elsewhere),
    options("ansible ansible-console", "-a --args").talks(),
    words("aoss gamemoderun mangohud optirun padsp pasuspender prime-run primusrun", 0),
    behind("apptainer singularity udocker", "exec run", 1).values("-B -H -W --bind --env --home --pwd").judged(Judged::Interpreter),
    words("arch", 0).through(Through::Blocked).values("-arch -d -e"),
    behind("asdf fnm mise nodenv nvm pyenv rbenv rtx volta", "exec run x", 0).values("-C --cd --using"),
    row("at batch", Starts::Elsewhere).judged(Judged::Interpreter),
    after("austin memray py-spy scalene", "--").values("-o -r"),
    words("autossh", 1).values(SSH_VALUES).talks(),
    behind("aws-vault", "exec", 1).values("-d -r --duration --region"),
    words("bear", 0).values("-o --append --output"),
    words("box64 box86 fex fexinterpreter mono wine wine64", 0).judged(Judged::Program),
    words("bpftrace sysdig xtrace", 0).runs("-c").judged(Judged::Program),
    options("bsdtar gtar tar", "-I -F --use-compress-program --to-command --rsh-command --rmt-command --info-script --new-volume-script --checkpoint-action"),
    words("bubblewrap", 0),
    words("builtin", 0).through(Through::Builtin),
    behind("bun", "x exec run", 0).judged(Judged::Both),
    behind("bundle bundler", "exec", 0),
    words("bunx", 0).through(Through::Blocked).talks(),
    words("bwrap", 0).through(Through::Blocked).values("--args --bind --chdir --dev --dir --hostname --proc --ro-bind --setenv --symlink --tmpfs --uid --gid --unsetenv"),
    after("c++ cc clang g++ gcc", "-wrapper").judged(Judged::Program),
    words("cachegrind callgrind massif valgrind", 0),
    words("caffeinate", 0).through(Through::Transparent).values("-t -w"),
    words("calife dzdo gksu gksudo kdesu kdesudo ksu pfexec", 0).values("-u").elevates(),
    words("capsh", 0).runs("-c"),
    options("cargo-watch", "-x -s --exec --shell"),
    words("catatonit tini tini-static", 0).values("-e -p"),
    words("catchsegv", 0).through(Through::Blocked),
    words("ccache distcc icecc sccache", 0).judged(Judged::Program),
    words("cgexec", 0).values("-g"),
    options("chokidar nodemon onchange watchman-make", "-x --exec -c --command --run"),
    words("choom", 0).values("-n -p --adjust --pid"),
    words("chpst envuidgid setuidgid", 0).values("-u -U -e -d -o -p -f -c -t -m -r -C -b -n -/"),
    words("chronic ifne mispipe", 0),
    words("chroot", 1).through(Through::Blocked).values("--groups --userspec").elevates(),
    words("chrt", 1).through(Through::Blocked).values("-D -P -T"),
    words("clush dsh parallel-ssh pdsh pssh", 0).values("-w -g -h -H -l -t -x").talks(),
    words("command", 0).through(Through::Builtin),
    row("concurrently npm-run-all run-p run-s", Starts::Texts).values("-c -k -n -p -t"),
    behind("conda mamba micromamba", "run", 0).values("-n -p --cwd --name --prefix"),
    words("coproc", 0),
    behind("coresched", "exec new", 0).values("-d -s -t --dest --dest-type --source").judged(Judged::Carrier),
    words("cpulimit", 0).through(Through::Blocked).values("-e -l -p --exe --limit --pid"),
    words("criu daemonize", 0).values("-E -a -c -e -l -o -p -u").judged(Judged::Program),
    words("cross-env cross-env-shell dotenv env-cmd", 0).values("-e -f -p -v"),
    behind("ctr", "exec run", 2).values("-n --address --namespace"),
    words("dbus-launch dbus-run-session", 0).values("--config-file --dbus-daemon"),
    behind("deno", "task run x", 0).judged(Judged::Both),
    behind("devbox devenv flox pixi", "exec run shell", 0),
    behind("direnv", "exec", 1),
    behind("distrobox toolbox", "enter run", 0).values("-c -n --container --name").judged(Judged::Interpreter),
    words("doas", 0).through(Through::Searched).values("-C -a -u").elevates(),
    behind("docker nerdctl podman", "exec run create", 1).values(CONTAINER_VALUES).judged(Judged::Interpreter),
    behind("docker-compose podman-compose", "exec run", 1).values("-e -f -p -u -w --file --project-name --user --workdir"),
    behind("doppler infisical op teller", "run", 0).values("-c -p --command --config --env --env-file --project"),
    behind("dotenvx", "run", 0).values("-e -f --env --env-file"),
    words("dumb-init", 0).values("-r --rewrite"),
    words("eatmydata", 0).through(Through::Blocked),
    options("emacs ex gvim nvim vi view vim", "-c --cmd -S --eval -l --load +! +:").judged(Judged::Interpreter),
    row("entr", Starts::Words(0)),
    row("env", Starts::Assigned).through(Through::Transparent).values("-C --chdir -u --unset").runs("-S --split-string"),
    words("envdir", 1),
    row("eval", Starts::Texts),
    words("exec", 0).through(Through::Builtin).values("-a"),
    words("execlineb s6-applyuidgid s6-envdir s6-setlock s6-setsid s6-setuidgid s6-softlimit setlock with-contenv", 0).values("-a -d -f -m -n -o -p -r -t -u -g -G -c"),
    options("expect", "-c").judged(Judged::Interpreter),
    words("fakechroot fakeroot fakeroot-sysv fakeroot-tcp pseudo", 0).values("-b -c -e -i -l -s --base --lib --faked"),
    words("faketime", 1).values("-p --date-prog"),
    after("fd fdfind", "-x -X --exec --exec-batch"),
    after("find gfind", FIND_ACTIONS).judged(Judged::Interpreter),
    words("firejail", 0).through(Through::Blocked),
    behind("flatpak", "run enter", 1).runs("--command").judged(Judged::Interpreter),
    words("flatpak-spawn", 0),
    words("flock", 1).through(Through::Transparent).values("-E --conflict-exit-code -w --timeout --wait").runs("-c --command"),
    behind("foreman honcho", "run", 0).values("-d -e -f"),
    words("forever", 0).judged(Judged::Program),
    options("fzf sk skim", "--bind --preview -c --cmd"),
    after("gdb", "--args -args").runs("-ex -iex --eval-command --init-eval-command").judged(Judged::Both),
    behind("git", "bisect submodule rebase filter-branch difftool mergetool for-each-repo config", 0).runs("--exec --extcmd --open-files-in-pager --receive-pack --upload-pack --tree-filter --index-filter --msg-filter --env-filter --parent-filter --commit-filter --tag-name-filter --tool-cmd -x"),
    after("gnome-terminal kgx ptyxis", "-- -e -x --command"),
    words("gosu", 1).through(Through::Blocked).elevates(),
    words("gotty ttyd", 0).values("-p -i -c -t -w -u -g").judged(Judged::Program),
    words("gtime", 0).values("-f --format -o --output"),
    words("gtimeout", 1).values("--kill-after --signal -k -s"),
    row("gunicorn monit supervisord uwsgi", Starts::Options).runs("--exec-asap --exec-pre-jail --exec-post-jail --exec-pre-app --exec-as-root --exec-as-user --attach-daemon --attach-daemon2 --smart-attach-daemon --cron --mule --hook-asap").judged(Judged::Program),
    words("gxargs xargs", 0).values("-E -I -L -P -a -d -n -s --arg-file --delimiter --max-args --max-procs --max-lines --replace").judged(Judged::Both),
    behind("hatch pdm pipenv poetry rye uv", "run", 0).values("--directory --extra --group --project --python --with -p -C"),
    words("heaptrack", 0).values("-o -p --output --pid"),
    words("hwatch viddy", 0).values("--interval -n"),
    row("hyperfine", Starts::Texts).values("-L -P -D -M -N -m -n -r -w -S -u --export-asciidoc --export-csv --export-json --export-markdown --export-orgmode --input --max-runs --min-runs --output --parameter-list --parameter-scan --runs --shell --style --time-unit --warmup -i").runs("-p -c -C -s --cleanup --conclude --prepare --reference --setup"),
    behind("incus lxc", "exec", 1).elevates().judged(Judged::Program),
    words("inetd tcpserver tcpsvd udpsvd", 2).values("-c -u -l -p"),
    words("intercept-build scan-build", 0).values("-o"),
    words("ionice", 0).through(Through::Blocked).values("--class --classdata -c -n -p -P -u"),
    words("jexec", 1).elevates(),
    after("just", "-c --command").values("-d -f --dotenv-path --justfile --set --shell --working-directory").judged(Judged::Program),
    words("keep-one-running run-one run-one-constantly run-one-until-failure run-one-until-success run-this-one", 0),
    words("kitty wezterm", 0).values("-1 -d -o").judged(Judged::Program),
    after("kubectl oc", "--").talks(),
    options("less more most pg", "+! +| +:").judged(Judged::Program),
    words("linux-user-chroot schroot", 0).values("-b -c -r -w"),
    words("linux32 linux64", 0).through(Through::Blocked),
    after("lldb", "--").runs("-o -O --one-line --one-line-before-file").judged(Judged::Both),
    words("logsave", 1),
    words("ltrace", 0).values("-a -A -D -e -F -l -n -o -p -s -u -w -x --align --config --indent --library --output"),
    after("lxc-attach lxc-execute", "--").elevates(),
    behind("machinectl", "shell", 1).elevates().judged(Judged::Interpreter),
    options("man", "-P --pager -H --html"),
    words("modd reflex watchexec when-changed", 0).values("-d -e -f -g -i -r -s -w --exts --filter --ignore --regex --watch"),
    words("mosh", 1).values("-p --port --ssh").talks(),
    options("mysql psql sqlite3", "-c -e --command --execute -cmd"),
    options("nc ncat netcat", "-c -e --exec --sh-exec --lua-exec").talks(),
    words("newgrp", 1).runs("-c"),
    words("nice", 0).through(Through::Transparent).values("-n --adjustment --priority"),
    row("nix", Starts::After("-c --command --")).judged(Judged::Program),
    options("nix-build nix-shell", "--command --run").judged(Judged::Carrier),
    words("nocache", 0),
    words("nohup", 0).through(Through::Transparent),
    behind("npm", "exec x", 0).runs("-c --call").judged(Judged::Carrier),
    words("npx", 0).runs("-c --call").values("-p --package -w --workspace").talks(),
    words("nsenter", 0).through(Through::Blocked).values("--target -t -S -G --setgid --setuid").elevates(),
    words("numactl", 0).through(Through::Blocked).values("-C -N -P -m -p --cpunodebind --membind --physcpubind --preferred"),
    words("parallel sem", 0).values("--jobs -j -n -N -L -S -a -I -d --arg-file --colsep --delay --joblog --retries --sshlogin --tagstring --timeout --results --workdir"),
    behind("perf rr samply trace-cmd uftrace", "record stat trace live kmem lock mem sched replay c2c start ftrace", 0).values("-C -F -G -I -M -N -P -T -c -d -e -f -g -m -o -p -r -s -t -u -x --event --output --freq --count"),
    words("pipesz", 0).values("-f -n -s --file --set --fd"),
    behind("pipx", "run", 0).values("--spec --index-url").judged(Judged::Carrier),
    words("pkexec", 0).through(Through::Blocked).values("--user").elevates(),
    behind("pnpm", "exec dlx node x", 0).runs("-c --shell-mode").values("-C -F --dir --filter").judged(Judged::Carrier),
    words("pnpx", 0).talks(),
    words("prlimit", 0).values("--pid -p -o --output"),
    words("proot", 0).through(Through::Blocked).values("-b -r -w"),
    words("proxychains proxychains4", 0).through(Through::Blocked).values("-f"),
    words("proxychains-ng proxychains3", 0).values("-f"),
    options("rclone restic", "-o --password-command"),
    words("remsh rexec rsh", 1).values("-l").talks(),
    options("rg", "--pre --hostname-bin"),
    words("rlwrap", 0).values("-C -D -H -P -S -b -f -l -m -q -s -t -w -z"),
    options("rsync", "-e --rsh --rsync-path").talks(),
    words("rtprio schedtool", 0).values("-n -p -a"),
    row("run-parts", Starts::Elsewhere),
    words("run0", 0).values("-u -g -D -p --user --group --nice --chdir --property --setenv --slice --unit --background").elevates(),
    words("runcon", 1).values("-t -u -r -l"),
    words("runsocks socksify tsocks", 0),
    row("runsvdir supervise svc", Starts::Elsewhere).judged(Judged::Program),
    words("runuser", 0).through(Through::Blocked).values("--user -g -G -u -s -w --group --shell").runs("-c --command --session-command").elevates(),
    behind("rustup", "run", 1).judged(Judged::Program),
    words("sandbox-exec", 0).through(Through::Transparent).values("-D -d -f -n -p"),
    options("scp sftp", "-S -o -D").talks(),
    row("screen", Starts::Words(0)).values("-S -T -c -h -p -s -t").judged(Judged::Interpreter),
    words("script", 0).through(Through::Blocked).values("-E -I -O -B -T -m -o -t").runs("-c --command"),
    row("scriptlive", Starts::Elsewhere),
    words("setarch", 0).through(Through::Blocked),
    words("setpriv", 0).through(Through::Blocked).values("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile"),
    words("setsid", 0).through(Through::Blocked),
    words("sg", 1).runs("-c"),
    words("slogin ssh tsh", 1).values(SSH_VALUES).talks(),
    behind("snap", "run", 0).runs("--shell"),
    row("socat", Starts::Words(0)).values("-L -l -lf -t -T").talks().judged(Judged::Program),
    words("softlimit", 0).values("-a -c -d -f -l -m -o -p -r -s -t"),
    words("solo", 0),
    options("sops", "--editor"),
    options("sort", "--compress-program"),
    row("source", Starts::Elsewhere),
    options("split", "--filter"),
    words("ssh-agent", 0).values("-O -P -a -E -t"),
    words("sshpass", 0).values("-P -d -f -p"),
    after("start-stop-daemon", "--").runs("-x -a --exec --startas").values("-n -p -u -g -c -d -k -r -s -R -N -P -I --name --pidfile --user --group --chuid --chdir").judged(Judged::Carrier),
    words("stdbuf", 0).through(Through::Transparent).values("-e --error -i --input -o --output"),
    words("strace", 0).values("-E -I -O -P -S -U -X -a -b -e -o -p -s -u --attach --env --output --trace --user"),
    words("su", 1).through(Through::Blocked).values("-g -G -s -w --group --shell").runs("-c --command --session-command").elevates(),
    words("su-exec", 1).elevates(),
    row("sudo", Starts::Assigned).through(Through::Searched).values("-C --close-from -D --chdir -R --chroot -T --command-timeout -U --other-user -g --group -h --host -p --prompt -r --role -t --type -u --user").elevates(),
    row("sudoedit vipw visudo", Starts::Elsewhere).elevates(),
    words("systemd-cat", 0).values("-p -t --identifier --priority --stderr-priority --level-prefix --namespace"),
    words("systemd-inhibit", 0),
    words("systemd-nspawn", 0).values("-D -M -b -i -u --bind --directory --image --machine --user").elevates(),
    words("systemd-run", 0).through(Through::Blocked).values("--machine --property --slice --uid --unit -M -p -u -t --gid --nice --setenv -E --working-directory --description").elevates_without("--user"),
    words("taskset", 1).through(Through::Blocked).values("-p"),
    words("time", 0).through(Through::Transparent).values("-f --format -o --output"),
    words("timeout", 1).through(Through::Transparent).values("-k --kill-after -s --signal"),
    behind("tmux", "new new-session neww new-window splitw split-window respawn-pane respawn-window run run-shell if-shell pipe-pane popup display-popup send-keys send", 0).values("-L -S -c -e -f -n -s -t -x -y").judged(Judged::Interpreter),
    words("torify torsocks", 0).through(Through::Blocked),
    row("trap", Starts::Texts),
    words("trickle", 0).values("-d -u -w -t -l -n"),
    words("ts tsp", 0).values("-D -L -N -S"),
    words("uclampset", 0).values("-m -M -p"),
    words("unbuffer", 0).through(Through::Blocked),
    words("unshare", 0).through(Through::Blocked).values("-R -w -S -G --root --wd --setuid --setgid --map-user --map-group --propagation"),
    words("uvx", 0).values("--from --with --python -p").talks(),
    behind("vagrant", "ssh", 1).runs("-c --command"),
    words("watch", 0).through(Through::Blocked).values("--interval -n -q --equexit"),
    words("xcrun", 0).through(Through::Blocked).values("--sdk --toolchain"),
    words("xvfb-run", 0).through(Through::Blocked).values("-e -f -n -p -s -w --auth-file --error-file --server-args --server-num --wait"),
    behind("yarn yarnpkg", "exec dlx", 0).judged(Judged::Carrier),
];

const SSH_VALUES: &str = "-B -D -E -F -I -J -L -O -Q -R -S -W -b -c -e -i -l -m -o -p -w";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_names_each_program_once() {
        let first: Vec<_> = CARRIERS.iter().filter_map(|row| row.names().next()).collect();
        assert!(first.windows(2).all(|pair| pair[0] < pair[1]), "{first:?}");
        let mut names: Vec<_> = CARRIERS.iter().flat_map(Carrier::names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| !name.is_empty() && *name == name.to_lowercase()));
    }

    #[test]
    fn what_the_peers_block_is_blocked_and_nothing_else() {
        let mut blocked: Vec<_> = CARRIERS
            .iter()
            .filter(|row| matches!(row.through, Through::Blocked | Through::Searched))
            .flat_map(Carrier::names)
            .collect();
        blocked.sort_unstable();
        let known = "arch bunx bwrap catchsegv chroot chrt cpulimit doas eatmydata firejail gosu ionice linux32 linux64 nsenter \
                     numactl pkexec proot proxychains proxychains4 runuser script setarch setpriv setsid su sudo systemd-run taskset torify \
                     torsocks unbuffer unshare watch xcrun xvfb-run";
        assert_eq!(blocked, known.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn every_program_that_starts_others_is_in_the_table() {
        let older = ". abduco alias apptainer arch at batch bubblewrap builtin bun bunx bwrap caffeinate calife catchsegv chroot chrt \
                     command coproc cpulimit dbus-launch deno distrobox doas docker dzdo eatmydata emacs env eval ex exec expect \
                     find firejail flatpak flatpak-spawn gdb gksu gksudo gosu gtimeout ifne incus kdesu kdesudo ksu linux32 \
                     linux64 lldb lxc machinectl nerdctl newgrp nice nohup npm npx nsenter numactl nvim pfexec pipx pkexec pnpm pnpx podman \
                     proot proxychains proxychains4 rsh run-parts runcon sandbox-exec screen scriptlive setarch setpriv sg singularity \
                     source ssh sshpass stdbuf su su-exec sudo sudoedit systemd-inhibit systemd-nspawn tmux toolbox torify trap unshare uvx \
                     vi view vim watchexec xargs xcrun xvfb-run yarn yarnpkg";
        let wanted = "bwrap capsh catchsegv chpst chronic choom chroot coresched cpulimit dbus-run-session direnv dumb-init entr fakechroot \
                      fakeroot faketime flock git hyperfine i386 ionice ld-linux.so.2 ld-linux-x86-64.so.2 ld-musl-x86_64.so.1 logsave ltrace nix \
                      nix-shell parallel perf pipesz prlimit proxychains3 qemu-x86_64 rlwrap run0 runuser script sem setarch setsid softlimit \
                      solo ssh-agent start-stop-daemon strace systemd-cat systemd-run taskset time timeout tini torsocks tsocks uclampset \
                      uftrace uname26 unbuffer uwsgi valgrind watch x86_64 xvfb-run";
        for name in older.split_whitespace().chain(wanted.split_whitespace()) {
            assert!(carrier(&Name::of(name)).is_some(), "{name}");
        }
        for name in ["ls", "cat", "ld", "ldd", "qemu-img", "qemu-system-x86_64", "rm", "grep"] {
            assert!(carrier(&Name::of(name)).is_none(), "{name}");
        }
    }
}
