//! The machine that attackers prepared: homes, projects and hostile clones as `machine.jsonl` describes them, in a folder of
//! their own. Its programs do nothing.

use anyhow::{Context, Result};
use countersign_tests::process::{command, countersign};
use serde::Deserialize;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folder, removed when dropped.
pub(crate) struct Machine {
    folder: TempDir,
    /// Whether its own programs count as nobody's to change: only root can make such.
    pub(crate) is_whole: bool,
}

/// One thing in it, below the folder; `$R` in texts and targets is the folder itself.
#[derive(Deserialize)]
#[serde(untagged)]
enum Thing {
    Programs {
        programs: Vec<String>,
    },
    Copy {
        copy: PathBuf,
        of: String,
    },
    File {
        file: PathBuf,
        text: String,
        #[serde(default)]
        runs: bool,
    },
    Link {
        link: PathBuf,
        to: String,
    },
    Hard {
        hard: PathBuf,
        to: PathBuf,
    },
    Folder {
        folder: PathBuf,
    },
}

impl Machine {
    /// Builds it, and gives all but programs to [`NOBODY`] when root builds it.
    pub(crate) fn build() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("countersign-redteam-").tempdir()?;
        let machine = Self { folder, is_whole: rustix::process::geteuid().is_root() };
        fs::set_permissions(machine.root(), Permissions::from_mode(0o755))?;
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("redteam/machine.jsonl"))?;
        for line in text.lines() {
            let thing: Thing = serde_json::from_str(line).with_context(|| line.to_owned())?;
            machine.put(thing).with_context(|| line.to_owned())?;
        }
        for outer in 0..60 {
            for inner in 0..40 {
                machine.file(Path::new(&format!("w/big/a{outer}/b{inner}/c")), "", 0o644)?;
            }
        }
        // Wherever the program lies, the user that it is run as can read it here.
        fs::copy(countersign()?, machine.parent(Path::new("countersign"))?)?;
        for own in ["w", "home", "run", "outside", "states"] {
            fs::create_dir_all(machine.root().join(own))?;
            machine.give(&machine.root().join(own))?;
        }
        Ok(machine)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A program to start as whoever the cases are judged as.
    pub(crate) fn start(&self) -> std::process::Command {
        let mut program = command(self.root().join("countersign"));
        if self.is_whole {
            use std::os::unix::process::CommandExt;
            program.uid(NOBODY).gid(NOBODY);
        }
        program
    }

    /// The search path of its programs, or of the real ones where its own would count as the user's to change.
    pub(crate) fn search_path(&self, own: bool) -> OsString {
        if self.is_whole || own { self.root().join("bin").into_os_string() } else { SYSTEM.into() }
    }

    /// Gives everything at or below a path to the user that cases are judged as.
    pub(crate) fn give(&self, path: &Path) -> Result<()> {
        if !self.is_whole {
            return Ok(());
        }
        lchown(path, Some(NOBODY), Some(NOBODY))?;
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path)? {
                self.give(&entry?.path())?;
            }
        }
        Ok(())
    }

    fn put(&self, thing: Thing) -> Result<()> {
        let whole = |text: &str| text.replace("$R", &self.root().to_string_lossy());
        match thing {
            Thing::Programs { programs } => {
                for name in programs {
                    self.copy(&Path::new("bin").join(name), "true")?;
                }
            }
            Thing::Copy { copy, of } => self.copy(&copy, &of)?,
            Thing::File { file, text, runs } => {
                self.file(&file, &whole(&text), if runs { 0o755 } else { 0o644 })?;
            }
            Thing::Link { link, to } => symlink(whole(&to), self.parent(&link)?)?,
            Thing::Hard { hard, to } => fs::hard_link(self.root().join(to), self.parent(&hard)?)?,
            Thing::Folder { folder } => fs::create_dir_all(self.root().join(folder))?,
        }
        Ok(())
    }

    fn file(&self, name: &Path, text: &str, mode: u32) -> Result<()> {
        let path = self.parent(name)?;
        fs::write(&path, text)?;
        Ok(fs::set_permissions(&path, Permissions::from_mode(mode))?)
    }

    fn copy(&self, name: &Path, of: &str) -> Result<()> {
        let model = SYSTEM.split(':').map(|folder| Path::new(folder).join(of)).find(|path| path.is_file());
        let path = self.parent(name)?;
        fs::copy(model.with_context(|| format!("{of} is not installed"))?, &path)?;
        Ok(fs::set_permissions(&path, Permissions::from_mode(0o755))?)
    }

    /// The path of a name, whose folder is there.
    fn parent(&self, name: &Path) -> Result<PathBuf> {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().context("a name has a folder")?)?;
        Ok(path)
    }
}

/// The user that root judges as.
pub(crate) const NOBODY: u32 = 65_534;

/// Where systems keep programs.
pub(crate) const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
