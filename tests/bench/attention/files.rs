//! What the files of the recorded sessions contained: nobody knows, but a command that names a file may
//! have changed it.

use crate::stream::Line;
use countersign_commands::analysis::Analysis;
use countersign_commands::interpreters::script_word;
use countersign_policy::facts::{Facts, FileIdentity, ScriptFacts};
use countersign_policy::rules::{Folders, folders_of};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Scripts and programs that were run, and how often each may have changed.
#[derive(Debug, Default)]
pub(crate) struct Files {
    versions: HashMap<(String, PathBuf), u32>,
}

impl Files {
    /// Adds what the files that `line` runs contain, and takes note of those that it may change. Lines come
    /// in the order in which they were recorded.
    pub(crate) fn put_in(&mut self, facts: &mut Facts, analysis: &Analysis, folders: &Folders, line: &Line) {
        let mut run = Vec::new();
        let mut scripts = Vec::new();
        let places = folders_of(analysis, facts, folders);
        for (at, (segment, places)) in analysis.segments.iter().zip(&places).enumerate() {
            let Some(index) = script_word(segment) else { continue };
            let Some(operand) = segment.words.get(index).filter(|operand| !operand.expands) else { continue };
            let [Some(folder)] = places.as_slice() else { continue };
            let path = Path::new(folder).join(&operand.text);
            scripts.push((at, index, path.clone()));
            run.push(path);
        }
        let rewritable = facts.programs.values().filter(|program| program.writable);
        run.extend(rewritable.filter_map(|program| program.real_path.clone()));
        self.change(line, &run);
        for (at, index, path) in scripts {
            let identity = self.identity(line, &path);
            let script = ScriptFacts {
                index,
                named: path.clone(),
                real_path: path,
                identity,
                head: String::new(),
                complete: false,
                lines: 0,
            };
            facts.scripts.insert(at, script);
        }
        for program in facts.programs.values_mut().filter(|program| program.writable) {
            let Some(path) = program.real_path.clone() else { continue };
            program.identity = Some(self.identity(line, &path));
        }
    }

    /// Whatever names a file that was run before and does not run it now may have changed it.
    fn change(&mut self, line: &Line, run: &[PathBuf]) {
        for ((source, path), version) in &mut self.versions {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if *source == line.source && !run.contains(path) && line.command.contains(name) {
                *version += 1;
            }
        }
    }

    fn identity(&mut self, line: &Line, path: &Path) -> FileIdentity {
        let version = *self.versions.entry((line.source.clone(), path.to_owned())).or_default();
        let mut sha256 = [0; 32];
        sha256[..4].copy_from_slice(&version.to_be_bytes());
        FileIdentity {
            dev: 0,
            ino: 0,
            size: 0,
            mtime_ns: 0,
            ctime_ns: 0,
            mode: 0o100_755,
            sha256: Some(sha256),
        }
    }
}
