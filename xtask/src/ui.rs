//! The UI's dependencies and its build, each done only when something it depends on changed.

use crate::process;
use crate::workspace::{npm, root, state_dir};
use anyhow::{Context, Result, bail};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// `npm ci`, when the lock file differs from the one that was installed last.
pub(crate) fn ensure_dependencies() -> Result<()> {
    let lock = root().join("ui/package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = state_dir().join("ui-dependencies.stamp");
    let is_current = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
    if is_current && root().join("ui/node_modules").is_dir() {
        return Ok(());
    }
    process::run(&mut npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    write_stamp(&stamp, &wanted)
}

/// `npm run build`, when a source of the UI differs from the ones that were built last.
pub(crate) fn ensure_built() -> Result<()> {
    ensure_dependencies()?;
    let wanted = fingerprint(&root().join("ui"))?;
    let stamp = state_dir().join("ui-build.stamp");
    let is_current = fs::read_to_string(&stamp).is_ok_and(|built| built == wanted);
    if is_current && root().join("ui/dist").is_dir() {
        return Ok(());
    }
    process::run(&mut npm(["run", "--silent", "build"]))?;
    if !root().join("ui/dist").is_dir() {
        bail!("`npm run build` left no ui/dist");
    }
    write_stamp(&stamp, &wanted)
}

fn write_stamp(stamp: &Path, content: &str) -> Result<()> {
    fs::create_dir_all(state_dir())?;
    fs::write(stamp, content).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Names and content of every source file, as one number: times would change with each checkout.
fn fingerprint(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect_files(folder, &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in &files {
        file.strip_prefix(folder).unwrap_or(file).hash(&mut hasher);
        fs::read(file).with_context(|| format!("cannot read {}", file.display()))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_SOURCES.contains(&entry.file_name().to_string_lossy().as_ref()) {
            collect_files(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Folders below `ui/` that tools fill.
const NOT_SOURCES: [&str; 4] = ["node_modules", "dist", "test-results", ".svelte-kit"];

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint_of(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fingerprint(folder.path()).unwrap()
    }

    #[test]
    fn the_fingerprint_changes_with_names_and_content_of_sources() {
        let before = fingerprint_of(&[("src/a.ts", "1")]);
        assert_eq!(before, fingerprint_of(&[("src/a.ts", "1")]));
        assert_ne!(before, fingerprint_of(&[("src/a.ts", "2")]));
        assert_ne!(before, fingerprint_of(&[("src/b.ts", "1")]));
        assert_ne!(before, fingerprint_of(&[("src/a.ts", "1"), ("src/b.ts", "")]));
    }

    #[test]
    fn the_fingerprint_ignores_what_tools_write() {
        let before = fingerprint_of(&[("src/a.ts", "1")]);
        assert_eq!(
            before,
            fingerprint_of(&[("src/a.ts", "1"), ("dist/index.html", "x"), ("node_modules/p/i.js", "x")])
        );
    }
}
