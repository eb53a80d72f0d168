//! `countersign box` beside the app: what no box gets is refused before anybody is asked, and what is stored
//! already is told as not in force.

use anyhow::{Result, ensure};
use countersign_companion::Companion;
use countersign_core::paths::Paths;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

struct Machine {
    _home: TempDir,
    /// The home by its real path.
    home: PathBuf,
    env: BTreeMap<String, String>,
    paths: Paths,
}

impl Machine {
    /// A home with these folders in it, of which rules open some.
    fn new(folders: &[&str], open: &[(&str, &[&str])]) -> Result<Self> {
        let temporary = tempfile::tempdir()?;
        let home = fs::canonicalize(temporary.path())?;
        for name in folders {
            fs::create_dir_all(home.join(name))?;
        }
        let at = |name: &str| home.join(name).display().to_string();
        let env: BTreeMap<String, String> = [
            ("COUNTERSIGN_GATEWAY_PORT", "0".to_owned()),
            ("COUNTERSIGN_STATE_DIR", at("own")),
            ("HOME", at("")),
            ("OPENCLAW_STATE_DIR", at(".openclaw")),
            ("PATH", "/usr/bin:/bin".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let paths = Paths::from_env(&env)?;
        let rules = open.iter().enumerate().map(|(index, (folder, written))| {
            let places: Vec<_> =
                written.iter().map(|name| json!({ "path": at(name), "access": "write" })).collect();
            json!({
                "id": format!("w-{index}"), "agent": "coder", "folder": at(folder), "createdAtMs": 0,
                "from": "typed", "places": places,
            })
        });
        let document = json!({ "version": 1, "rules": [], "workspaces": rules.collect::<Vec<_>>() });
        let stored = paths.config.join("rules.json");
        fs::create_dir_all(&paths.config)?;
        fs::write(&stored, document.to_string())?;
        fs::set_permissions(&stored, fs::Permissions::from_mode(0o600))?;
        Ok(Self { _home: temporary, home, env, paths })
    }

    fn at(&self, name: &str) -> String {
        self.home.join(name).display().to_string()
    }

    /// What `countersign` says to these arguments, with its exit code.
    #[expect(clippy::disallowed_methods, reason = "starts the built command line, with a fixed environment")]
    fn says(&self, arguments: &[&str]) -> Result<(i32, String)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        let ended = command.args(arguments).env_clear().envs(&self.env).current_dir(&self.home).output()?;
        let said = [ended.stdout, ended.stderr].concat();
        Ok((ended.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_box_gets_is_refused_with_its_reason() -> Result<()> {
    let written = [
        (".nvm", "begins with a dot"),
        (".pyenv/shims", "begins with a dot"),
        (".config/foo", "begins with a dot"),
        ("go/bin", "programs outside of the box run or obey"),
        ("src/other/bin", "programs outside of the box run or obey"),
        (".ssh", "hidden from boxes"),
    ];
    let opened = [
        (".claude", "hidden from boxes"),
        (".thunderbird", "hidden from boxes"),
        (".dotfiles", "begins with a dot"),
        (".cache/x", "a cache"),
    ];
    let folders: Vec<&str> =
        written.iter().chain(&opened).map(|(name, _)| *name).chain(["src/app", "notes"]).collect();
    let machine = Machine::new(&folders, &[("src/app", &[])])?;
    let (companion, _presenter) = Companion::start(&machine.paths)?;
    let app = machine.at("src/app");
    for (name, why) in written {
        for line in [
            ["box", "place", &machine.at(name), "--write", "--folder", &app],
            ["box", "open", &app, "--agent=other", "--write", &machine.at(name)],
        ] {
            let (code, said) = machine.says(&line)?;
            ensure!(
                code != 0 && said.contains("a box cannot write") && said.contains(why),
                "{line:?}: {said}"
            );
        }
    }
    for (name, why) in opened {
        for line in [["box", "open", &machine.at(name)], ["box", "test", &machine.at(name)]] {
            let (code, said) = machine.says(&line)?;
            ensure!(code != 0 && said.contains(why), "{line:?}: {said}");
        }
    }
    let (code, said) = machine.says(&["box", "test", &machine.at("notes")])?;
    ensure!(code == 0 && said.contains("a box can be made"), "{said}");
    companion.stop().await;
    Ok(())
}

#[test]
fn what_is_stored_and_not_in_force_is_listed_with_the_reason() -> Result<()> {
    let folders = ["src/app", ".local/share/work", ".config/foo", "notes"];
    let open: [(&str, &[&str]); 2] = [("src/app", &[".config/foo", "notes"]), (".local/share/work", &[])];
    let machine = Machine::new(&folders, &open)?;
    let place =
        format!("not in force: a box cannot write {}: what begins with a dot", machine.at(".config/foo"));
    let folder = format!("not in force: {} cannot be", machine.at(".local/share/work"));
    for line in [["box", "list"], ["rules", "list"]] {
        let (_, said) = machine.says(&line)?;
        ensure!(said.contains(&place) && said.contains(&folder), "{said}");
        ensure!(said.contains("coder  live") && said.contains("coder  not in force"), "{said}");
        ensure!(said.matches("not in force:").count() == 2, "{said}");
    }
    let (_, said) = machine.says(&["rules", "show", "w-0"])?;
    ensure!(said.contains(&place), "{said}");
    let (_, said) = machine.says(&["box", "list", "--json"])?;
    let listed: serde_json::Value = serde_json::from_str(&said)?;
    ensure!(listed[0]["lapsed"].is_array() && listed[1]["refused"].is_object(), "{said}");
    ensure!(listed[0].get("refused").is_none() && listed[1].get("lapsed").is_none(), "{said}");
    Ok(())
}
