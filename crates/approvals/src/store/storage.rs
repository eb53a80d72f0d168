//! Which OpenClaw, if any, keeps its approvals in a state directory (docs/protocol/document.md,
//! "Where it is").
//!
//! From 2026.8 on the document lives in a database, and the mere presence of the JSON file stops
//! every approval there.

use countersign_protocol::document::FILE_NAME;
use std::io;
use std::path::{Path, PathBuf};

/// Where a state directory keeps its approvals.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Storage {
    /// In the JSON file, or nowhere yet.
    File,
    /// In a database.
    Sqlite {
        /// The database.
        database: PathBuf,
    },
    /// It is changing right now: nothing may be written.
    Unclear {
        /// What is in the way.
        problem: String,
    },
    /// The system could not tell.
    Unknown {
        /// Why not.
        problem: String,
    },
}

/// Looks now. Cheap: two look-ups.
pub(crate) fn detect(dir: &Path) -> Storage {
    let database = dir.join("state").join("openclaw.sqlite");
    match is_there(&database) {
        Ok(true) => return Storage::Sqlite { database },
        Ok(false) => {}
        Err(error) => {
            let problem = format!("cannot tell whether {} exists: {error}", database.display());
            return Storage::Unknown { problem };
        }
    }
    let importing = dir.join(format!("{FILE_NAME}{IMPORTING}"));
    match is_there(&importing) {
        Ok(false) => Storage::File,
        Ok(true) => {
            let problem = format!(
                "OpenClaw is moving its approvals into a database ({} exists); run `openclaw doctor --fix`",
                importing.display()
            );
            Storage::Unclear { problem }
        }
        Err(error) => {
            let problem = format!("cannot tell whether {} exists: {error}", importing.display());
            Storage::Unknown { problem }
        }
    }
}

/// Whether any of a state directory's names is somebody else's than ours: then a missing document is
/// OpenClaw's business.
pub(crate) fn is_in_use<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.any(|name| !is_approvals_file(name))
}

/// The document, its side files, and the socket with its own.
fn is_approvals_file(name: &str) -> bool {
    let ours = name.starts_with("exec-approvals.") || name.starts_with(".exec-approvals.");
    let migration = format!("{FILE_NAME}{MIGRATED}");
    ours && !name.starts_with(&migration) && !name.ends_with(IMPORTING)
}

/// Suffix while OpenClaw's doctor imports the document.
const IMPORTING: &str = ".doctor-importing";

/// What follows the document's name once the doctor has imported it.
const MIGRATED: &str = ".migrated.";

fn is_there(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        // A file where a folder would be holds no database.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_means_that_the_file_is_history() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(detect(dir.path()), Storage::File);
        assert_eq!(detect(&dir.path().join("missing")), Storage::File);
        std::fs::write(dir.path().join(FILE_NAME), "{}").unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        assert_eq!(detect(dir.path()), Storage::File);
        let database = dir.path().join("state/openclaw.sqlite");
        std::fs::write(&database, "").unwrap();
        assert_eq!(detect(dir.path()), Storage::Sqlite { database });
    }

    #[test]
    fn even_a_dangling_link_to_a_database_counts() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        std::os::unix::fs::symlink("gone", dir.path().join("state/openclaw.sqlite")).unwrap();
        assert!(matches!(detect(dir.path()), Storage::Sqlite { .. }));
    }

    #[test]
    fn an_import_under_way_is_not_disturbed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("exec-approvals.json.doctor-importing"), "{}").unwrap();
        assert!(matches!(detect(dir.path()), Storage::Unclear { .. }));
    }

    #[test]
    fn only_our_own_files_leave_a_directory_free() {
        let check =
            |names: &[&str], in_use| assert_eq!(is_in_use(names.iter().copied()), in_use, "{names:?}");
        check(&[], false);
        check(&["exec-approvals.json.lock", "exec-approvals.sock", ".exec-approvals.1.x.tmp"], false);
        check(&["exec-approvals.json.bak", "exec-approvals.sock.lifecycle.lock"], false);
        for theirs in ["openclaw.json", "node.json", "identity", "agents", "state"] {
            check(&["exec-approvals.sock", theirs], true);
        }
        check(&["exec-approvals.json.migrated.0a.0b"], true);
        check(&["exec-approvals.json.doctor-importing"], true);
    }
}
