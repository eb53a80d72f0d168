//! The machine that attackers prepared: homes, projects and hostile clones as `machine.jsonl` describes them,
//! in a folder of their own. Its programs do nothing. The cases here are judged on it, and what the
//! ready-made groups allow runs on it (`tests/harmless`).

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folder, removed when dropped.
pub(crate) struct Machine {
    folder: TempDir,
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
    /// Builds it. All of it belongs to who builds it.
    pub(crate) fn build() -> Result<Self> {
        let machine = Self { folder: tempfile::Builder::new().prefix("countersign-redteam-").tempdir()? };
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
        for own in OWN {
            fs::create_dir_all(machine.root().join(own))?;
        }
        Ok(machine)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
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

/// What belongs to the user of the machine.
pub(crate) const OWN: &[&str] = &["w", "home", "run", "outside", "states"];

/// Where systems keep programs.
pub(crate) const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
