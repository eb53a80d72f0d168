//! Commands of other agents that would run in a box here: their agents are told to start them through
//! `countersign exec --box`.

use countersign_commands::shell::leading_cd;
use countersign_node::host::Host;
use countersign_protocol::socket::ExecRequest;
use countersign_protocol::tools::Permission;
use std::path::Path;

/// How an agent is to run `exec`, a text for a shell, so that a box holds it; `None` where none would.
///
/// A folder that the text begins by moving to is moved to in the agent's own shell, which remembers it for
/// the next command.
pub(super) async fn permission(host: &Host, exec: &ExecRequest) -> Option<Permission> {
    let [_, flag, text] = exec.command.as_slice() else { return None };
    if flag != "-c" {
        return None;
    }
    let (stays, folder, rest) = match leading_cd(text) {
        Some(moved) => (moved.text, Some(moved.folder), moved.rest),
        None => ("", None, text.as_str()),
    };
    let cwd = match folder {
        Some(folder) => Path::new(exec.cwd.as_deref()?).join(folder),
        None => exec.cwd.as_deref()?.into(),
    };
    let argv = vec![SHELL.to_owned(), "-c".to_owned(), rest.to_owned()];
    let request = ExecRequest {
        command: argv.clone(),
        cwd: Some(cwd.to_str()?.to_owned()),
        confinement: None,
        ..exec.clone()
    };
    // What a rule lets run runs where the agent is, as it always did.
    host.would_contain(request).await.then(|| Permission::Inside { stays: stays.to_owned(), argv })
}

/// The same, once there is one: a person may open the folder while they are asked about the command. Never
/// ends where nobody does.
pub(super) async fn later(host: &Host, exec: &ExecRequest) -> Permission {
    let mut rules = host.watch_rules();
    loop {
        // Whoever changes them while they are looked at is heard.
        rules.mark_unchanged();
        if let Some(inside) = permission(host, exec).await {
            return inside;
        }
        if rules.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What agents write their commands for.
const SHELL: &str = "bash";
