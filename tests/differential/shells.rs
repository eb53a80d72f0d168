//! Shells, and running many texts in one process of each.

use crate::predict::{self, Prediction};
use crate::printer::{self, Record};
use crate::{Case, printer::CASE};
use anyhow::{Context, Result, bail};
use countersign_commands::shell::{Dialect, Script};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A shell and how it is started.
#[derive(Debug)]
pub(crate) struct Shell {
    name: String,
    program: PathBuf,
    arguments: &'static [&'static str],
    is_bash: bool,
    /// Programs that are part of it and come before those of the PATH.
    own: HashSet<String>,
}

impl Shell {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is the shell of this name, with whatever options.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.split(' ').next() == Some(name)
    }

    /// Whether it must read this text as the parser does, and start only what is in the PATH.
    pub(crate) fn reads(&self, script: &Script) -> bool {
        if predict::names(script).any(|name| self.own.contains(name)) {
            return false;
        }
        match script.dialect {
            Dialect::Posix => true,
            Dialect::Bash => self.is_bash,
            Dialect::Divided => false,
        }
    }
}

/// The shells of this machine and `others`, which must exist.
pub(crate) fn installed(others: &[PathBuf]) -> Result<Vec<Shell>> {
    let mut shells = Vec::new();
    for (name, arguments) in KNOWN {
        let found =
            ["/bin", "/usr/bin", "/usr/local/bin"].into_iter().map(|folder| Path::new(folder).join(name));
        let given =
            others.iter().filter(|path| path.file_name().is_some_and(|found| found == *name)).cloned();
        if let Some(program) = given.chain(found).find(|path| path.exists()) {
            let name = [*name].into_iter().chain(arguments.iter().copied()).collect::<Vec<_>>().join(" ");
            let is_bash = name.starts_with("bash");
            let own = if name.starts_with("busybox") { applets(&program)? } else { HashSet::new() };
            shells.push(Shell { name, program, arguments, is_bash, own });
        }
    }
    for path in others {
        if !shells.iter().any(|shell| shell.program == *path) {
            bail!("{} is no shell that is known here", path.display());
        }
    }
    Ok(shells)
}

fn applets(busybox: &Path) -> Result<HashSet<String>> {
    #[expect(clippy::disallowed_methods, reason = "shells are what the parser is compared with")]
    let listed = Command::new(busybox).arg("--list").env_clear().output()?;
    Ok(String::from_utf8(listed.stdout)?.lines().map(str::to_owned).collect())
}

/// Names of programs with what makes them POSIX shells.
const KNOWN: &[(&str, &[&str])] = &[
    ("dash", &[]),
    ("bash", &[]),
    ("bash", &["--posix"]),
    ("busybox", &["sh"]),
    ("ksh93", &[]),
    ("mksh", &[]),
    ("yash", &["-o", "posix"]),
    ("zsh", &["--emulate", "sh", "-f"]),
];

/// Folders in which shells run.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The empty one that is current.
    current: TempDir,
    /// The PATH.
    programs: TempDir,
    logs: TempDir,
}

/// What happened for one text.
#[derive(Debug, Default)]
struct Observed {
    records: Vec<Record>,
    status: Option<i32>,
}

impl Bench {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { current: tempfile::tempdir()?, programs: tempfile::tempdir()?, logs: tempfile::tempdir()? })
    }

    /// Those of `cases` for which `shell` did something else, and what.
    pub(crate) fn differing<'a>(
        &self,
        shell: &Shell,
        cases: &[&'a Case],
        seed: u64,
    ) -> Result<Vec<(&'a Case, String)>> {
        let mut program = String::from("exec 3>>\"$DIFFERENTIAL_STATUS\"\nexport DIFFERENTIAL_CASE\n");
        for (number, case) in cases.iter().enumerate() {
            let text = case.text.replace('\'', "'\\''");
            write!(program, "{CASE}={number}\n(eval '{text}')\necho \"{number} $?\" >&3\n")?;
        }
        let mut observed = self.run(shell, cases, &program, seed)?;
        let mut differing = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            let observed = observed.remove(&number).unwrap_or_default();
            if let Some(why) = compare(&predict::predict(&case.script, seed), &observed) {
                differing.push((*case, why));
            }
        }
        Ok(differing)
    }

    /// What `shell` does otherwise with one text, given to it as `-c` does.
    pub(crate) fn difference(&self, shell: &Shell, case: &Case, seed: u64) -> Result<Option<String>> {
        let mut observed = self.run(shell, &[case], &case.text, seed)?;
        let observed = observed.remove(&0).unwrap_or_default();
        Ok(compare(&predict::predict(&case.script, seed), &observed))
    }

    /// Runs a program text of `shell`; what happened, by number of case.
    fn run(
        &self,
        shell: &Shell,
        cases: &[&Case],
        program: &str,
        seed: u64,
    ) -> Result<BTreeMap<usize, Observed>> {
        for case in cases {
            self.link(case)?;
        }
        let (log, statuses) = (self.logs.path().join("log"), self.logs.path().join("status"));
        for path in [&log, &statuses] {
            std::fs::write(path, "")?;
        }
        // Longer than one argument may be, when there are many texts.
        let single = cases.len() == 1 && program == cases[0].text;
        let file = self.logs.path().join("program");
        std::fs::write(&file, program)?;
        #[expect(clippy::disallowed_methods, reason = "shells are what the parser is compared with")]
        let mut command = Command::new(&shell.program);
        command.args(shell.arguments);
        if single {
            command.arg("-c").arg(program);
        } else {
            command.arg(&file);
        }
        let mut child = command
            .env_clear()
            .env("PATH", self.programs.path())
            .env("HOME", "/nonexistent/home")
            .env("LC_ALL", "C.UTF-8")
            .env(printer::LOG, &log)
            .env(printer::CASE, "0")
            .env(printer::SEED, seed.to_string())
            .env("DIFFERENTIAL_STATUS", &statuses)
            .current_dir(self.current.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", shell.program.display()))?;
        let status = drain(&mut child)?;
        let mut observed: BTreeMap<usize, Observed> = BTreeMap::new();
        for record in printer::records(&std::fs::read(&log)?)? {
            observed.entry(record.case).or_default().records.push(record);
        }
        if single {
            observed.entry(0).or_default().status = status;
        }
        for line in std::fs::read_to_string(&statuses)?.lines() {
            let (number, status) = line.split_once(' ').context("a status without a number")?;
            observed.entry(number.parse()?).or_default().status = Some(status.parse()?);
        }
        if let Some(file) = self.current.path().read_dir()?.next() {
            bail!("{} made a file: {:?} by one of {cases:?}", shell.name, file?.path());
        }
        Ok(observed)
    }

    fn link(&self, case: &Case) -> Result<()> {
        let printer = std::env::current_exe()?;
        for name in predict::names(&case.script) {
            let path = self.programs.path().join(name);
            if !path.is_symlink() {
                symlink(&printer, &path).with_context(|| format!("cannot make a printer named {name:?}"))?;
            }
        }
        Ok(())
    }
}

/// Waits until everything that was started is done, and throws its messages away.
fn drain(child: &mut std::process::Child) -> Result<Option<i32>> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (done, waiting) = std::sync::mpsc::channel();
    let readers: Vec<Box<dyn Read + Send>> =
        vec![Box::new(stdout.context("no pipe")?), Box::new(stderr.context("no pipe")?)];
    let threads: Vec<_> = readers
        .into_iter()
        .map(|mut reader| {
            let done = done.clone();
            std::thread::spawn(move || {
                let copied = std::io::copy(&mut reader, &mut std::io::sink());
                // The other end is gone only when the deadline has passed.
                let _ = done.send(());
                copied
            })
        })
        .collect();
    for _ in 0..threads.len() {
        if waiting.recv_timeout(DEADLINE).is_err() {
            child.kill()?;
            bail!("a shell did not end within {DEADLINE:?}");
        }
    }
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
    }
    Ok(child.wait()?.code())
}

fn compare(prediction: &Prediction<'_>, observed: &Observed) -> Option<String> {
    let records = &observed.records;
    let shown = || {
        let argv = |record: &Record| {
            record.argv.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
        };
        records.iter().map(argv).collect::<Vec<_>>()
    };
    let expected = || {
        let words = |words: &[countersign_commands::shell::Word]| {
            words.iter().map(|word| word.text.clone()).collect::<Vec<_>>()
        };
        prediction.started.iter().map(|command| words(&command.words)).collect::<Vec<_>>()
    };
    let same = if prediction.ordered {
        records.len() == prediction.started.len()
            && records
                .iter()
                .zip(&prediction.started)
                .all(|(record, command)| predict::matches(command, &record.argv))
    } else {
        same_in_any_order(prediction, records)
    };
    let status = observed.status.map(|status| status == 0);
    if same && status == Some(prediction.succeeds) {
        return None;
    }
    Some(format!(
        "started {:?}, status {:?}; expected {:?}, success {}",
        shown(),
        observed.status,
        expected(),
        prediction.succeeds
    ))
}

/// Whether every record can be paired with a command. Words that expand match many records, so a pair may
/// have to be given up for another one.
fn same_in_any_order(prediction: &Prediction<'_>, records: &[Record]) -> bool {
    let mut pairs: Vec<Option<usize>> = vec![None; records.len()];
    let commands = 0..prediction.started.len();
    records.len() == prediction.started.len()
        && commands
            .into_iter()
            .all(|command| pair(prediction, records, command, &mut pairs, &mut HashSet::new()))
}

fn pair(
    prediction: &Prediction<'_>,
    records: &[Record],
    command: usize,
    pairs: &mut Vec<Option<usize>>,
    tried: &mut HashSet<usize>,
) -> bool {
    for (at, record) in records.iter().enumerate() {
        if !predict::matches(prediction.started[command], &record.argv) || !tried.insert(at) {
            continue;
        }
        let free = match pairs[at] {
            None => true,
            Some(other) => pair(prediction, records, other, pairs, tried),
        };
        if free {
            pairs[at] = Some(command);
            return true;
        }
    }
    false
}

/// A round takes seconds; a shell that waits for something waits forever.
const DEADLINE: Duration = Duration::from_secs(300);
