//! `countersign doctor`: what is wrong, and what to do about it.

mod agents;
mod counting;
mod files;
mod links;
mod machine;

use super::Exit;
use super::output::Output;
use super::service::{UNIT, unit_path};
use countersign_approvals::rules::{self, RuleStore};
use countersign_approvals::store::{Current, Store};
use countersign_companion::control::{self, ControlError};
use countersign_companion::desktop;
use countersign_companion::sentences::{self, Language};
use countersign_core::endpoint::endpoint_in;
use countersign_core::identity;
use countersign_core::paths::{Paths, process_environment};
use countersign_node::executor::sandbox::{self, Means};
use countersign_node::socket::client;
use countersign_node::socket::lock::Holder;
use countersign_peers::gateway::TOKEN_FILE;
use countersign_peers::runner;
use countersign_policy::document;
use countersign_protocol::control::{ControlRequest, ControlResponse, TurnedAway};
use countersign_protocol::document::SOCKET_NAME;
use countersign_protocol::limits::SOCKET_TOKEN_CHARACTERS;
use countersign_protocol::meaning::{Standing, UnaskedPlace};
use countersign_protocol::rule_edits::RulesState;
use countersign_protocol::state::{SocketState, StoreState};
use countersign_protocol::ui::{DisplayState, EmbeddedState, GatewayView, Presence, Status};
use serde::Serialize;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Ok,
    Warning,
    Problem,
}

/// What the running app says of itself.
struct App {
    status: Status,
    pid: u32,
    gateway: EmbeddedState,
    turned_away: Vec<TurnedAway>,
    gateways: Vec<GatewayView>,
    ignored: Vec<String>,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

pub(super) async fn doctor(paths: &Paths, output: &Output) -> anyhow::Result<Exit> {
    let current = Store::read(&paths.openclaw_state);
    let app = app(paths).await;
    let mut findings = vec![folder("state folder", &paths.state), storage(&current), store(&current)];
    findings.extend(permissions(&current));
    findings.extend(token(&current));
    let kept = RuleStore::read(&paths.rules());
    findings.push(rules(&kept));
    findings.extend(counting::findings(paths, &current, &kept));
    findings.extend(files::files(paths));
    findings.push(app_finding(&app));
    findings.extend(app.as_ref().ok().map(|app| environment(&app.ignored)));
    findings.push(standing(&app, Language::of_process()));
    let control = paths.control_socket();
    // Without app and socket there is nothing to compare.
    if app.is_ok() || control.symlink_metadata().is_ok() || !matches!(Holder::of(&control), Holder::Nobody) {
        findings.push(door("control channel", &control).await);
    }
    findings.push(socket(paths, &app, &current).await);
    findings.extend(app.as_ref().ok().map(|app| gateway(paths, &app.gateway)));
    findings.extend(app.as_ref().ok().and_then(|app| turned_away(&app.turned_away)));
    findings.extend(app.as_ref().ok().map(|app| links::finding(&app.gateways)));
    findings.extend(agents::findings(paths));
    findings.extend(agents::misnamed(current.document.as_ref(), kept.document.as_ref()));
    findings.extend(node(paths));
    findings.push(sandbox().await);
    findings.extend(boxes(paths).await);
    findings.push(display(app.as_ref().ok().map(|app| &app.status.display)));
    findings.push(tray(app.as_ref().ok().map(|app| app.status.tray), desktop::tray().await));
    findings.push(presence("notifications", desktop::notifications().await, NOTIFICATIONS_REMEDY));
    findings.push(history(paths));
    findings.push(machine::recording(app.as_ref().ok().map(|app| &app.status.recording), owed(paths)));
    findings.extend(app.as_ref().ok().map(|app| machine::shortages(&app.status.shortages)));
    output.result(&findings, |out| {
        for finding in &findings {
            let mark = match finding.level {
                Level::Ok => "ok     ",
                Level::Warning => "warning",
                Level::Problem => "PROBLEM",
            };
            writeln!(out, "{mark}  {}: {}", finding.check, finding.message)?;
            if let Some(remedy) = &finding.remedy {
                writeln!(out, "         do: {remedy}")?;
            }
        }
        Ok(())
    })?;
    let healthy = findings.iter().all(|finding| finding.level != Level::Problem);
    Ok(if healthy { Exit::Ok } else { Exit::Failed })
}

async fn app(paths: &Paths) -> Result<App, ControlError> {
    match control::call(&paths.control_socket(), &ControlRequest::Status, ANSWER_WAIT).await? {
        ControlResponse::Status { status, pid, gateway, turned_away, gateways, ignored } => {
            Ok(App { status: *status, pid, gateway, turned_away, gateways, ignored })
        }
        // Such as that it is busy.
        ControlResponse::Error { message, .. } => Err(ControlError::Broken(std::io::Error::other(message))),
        other => Err(ControlError::Broken(std::io::Error::other(format!("unexpected answer {other:?}")))),
    }
}

fn app_finding(app: &Result<App, ControlError>) -> Finding {
    match app {
        Ok(App { status, pid, .. }) => {
            ok("app", format!("version {} is running, process {pid}", status.version))
        }
        Err(error @ ControlError::NotRunning) => {
            problem("app", error.to_string(), "start it: countersign-desktop --hidden".to_owned())
        }
        Err(error) => problem("app", error.to_string(), RESTART_REMEDY.to_owned()),
    }
}

/// What the app found in its environment and does not obey.
fn environment(ignored: &[String]) -> Finding {
    if ignored.is_empty() {
        return ok("environment", "nothing in it opens or weakens the app's windows".to_owned());
    }
    Finding {
        check: "environment",
        level: Level::Warning,
        message: format!(
            "the app does not obey {}, which would open or weaken its windows",
            ignored.join(", ")
        ),
        remedy: Some("look into what sets them, such as your shell's profile".to_owned()),
    }
}

/// The line that windows and tray show, with its cause.
fn standing(app: &Result<App, ControlError>, language: Language) -> Finding {
    let status = match app {
        Ok(App { status, .. }) => status,
        Err(error) => {
            let message = match error {
                ControlError::NotRunning => "without the app nobody is asked, so the fallback decides",
                // A fallback holds only where the app is proven absent.
                _ => "the app does not answer, so what would be asked is denied",
            };
            return Finding {
                check: "prompts",
                level: Level::Warning,
                message: message.to_owned(),
                remedy: None,
            };
        }
    };
    let line = sentences::standing(&status.standing, language);
    match &status.standing {
        Standing::Asking => ok("prompts", line.to_owned()),
        Standing::Paused { .. } => Finding {
            check: "prompts",
            level: Level::Warning,
            message: format!("{line}: requests wait in the inbox"),
            remedy: Some("resume prompts in the app or its tray".to_owned()),
        },
        Standing::CannotShow { end } => problem(
            "prompts",
            format!("{line}: {}", sentences::page_end(*end, language)),
            DISPLAY_REMEDY.to_owned(),
        ),
        Standing::RunsUnasked { cause } => problem(
            "prompts",
            format!("{line}: {}", sentences::cause(cause, language)),
            match cause.place {
                UnaskedPlace::Here => UNASKED_REMEDY,
                UnaskedPlace::Sandbox => "if that is not meant, change it on the app's page Connections",
            }
            .to_owned(),
        ),
    }
}

fn storage(current: &Current) -> Finding {
    match &current.state {
        StoreState::Sqlite { database } => Finding {
            check: "storage",
            level: Level::Warning,
            message: format!("OpenClaw keeps approvals in {database}; Countersign never writes the file beside it"),
            remedy: Some(
                "edit through the gateway (`openclaw approvals set`), or give Countersign its own OPENCLAW_STATE_DIR"
                    .to_owned(),
            ),
        },
        _ => ok("storage", "approvals are kept in a file".to_owned()),
    }
}

fn store(current: &Current) -> Finding {
    let path = current.path.display();
    match &current.state {
        StoreState::Ready => ok("document", format!("{path} is usable")),
        StoreState::Missing => Finding {
            check: "document",
            level: Level::Warning,
            message: format!("{path} does not exist, so the built-in values apply: everything is denied"),
            remedy: Some("start the app once, or save a policy in it".to_owned()),
        },
        StoreState::Unreadable { problem: reason } => problem(
            "document",
            format!("{path}: {reason}; everything is denied"),
            "mend the file, or open the app's Settings and put it aside".to_owned(),
        ),
        StoreState::Sqlite { .. } => ok("document", "kept by OpenClaw".to_owned()),
    }
}

fn rules(current: &rules::Current) -> Finding {
    let path = current.path.display();
    match &current.state {
        RulesState::Ready => ok("rules", format!("{path} is usable")),
        RulesState::Missing => ok("rules", "none of Countersign's own".to_owned()),
        RulesState::Unreadable { problem: reason } => problem(
            "rules",
            format!("{path}: {reason}; a person is asked about everything"),
            "mend the file, or move it away: then nothing of it refuses any more".to_owned(),
        ),
    }
}

fn permissions(current: &Current) -> Option<Finding> {
    let mode = current.path.symlink_metadata().ok()?.permissions().mode() & 0o777;
    Some(if mode & 0o077 == 0 {
        ok("document permissions", format!("{mode:03o}"))
    } else {
        problem(
            "document permissions",
            format!("{mode:03o}: others on this machine can reach the socket token"),
            format!("chmod 600 {}", current.path.display()),
        )
    })
}

/// Says nothing about a document that cannot be used: that is a finding of its own.
fn token(current: &Current) -> Option<Finding> {
    let (_, token) = document::socket(current.document.as_ref()?);
    Some(match token {
        Some(token) if !token.is_long_enough() => problem(
            "socket token",
            format!(
                "it is shorter than {SOCKET_TOKEN_CHARACTERS} characters, so the app does not serve its socket"
            ),
            "remove it from the document: the app makes another".to_owned(),
        ),
        Some(_) => ok("socket token", "present".to_owned()),
        None => Finding {
            check: "socket token",
            level: Level::Warning,
            message: "none in the document, so nobody can reach the app over its socket".to_owned(),
            remedy: Some("start the app: it adds one".to_owned()),
        },
    })
}

/// What helps where the socket cannot be served. A document may name another place than the usual one, which
/// another machine or nobody has: then it is the document that says something wrong.
fn in_the_way(current: &Current, paths: &Paths) -> String {
    let again = "the app tries again by itself";
    let named = endpoint_in(current, paths).map(|(path, _)| path);
    match named.filter(|path| *path != paths.openclaw_state.join(SOCKET_NAME)) {
        Some(_) => format!(
            "take socket.path out of {}, which names this place, or remove what is in the way there; {again}",
            current.path.display()
        ),
        None => format!("remove what is in the way; {again}"),
    }
}

/// What the app says of its socket, compared with who answers there.
async fn socket(paths: &Paths, app: &Result<App, ControlError>, current: &Current) -> Finding {
    match app {
        Ok(App { status, .. }) => match &status.socket {
            SocketState::Listening => {
                let named = endpoint_in(current, paths).map(|(path, _)| path);
                door("approval socket", &named.unwrap_or_else(|| status.socket_path.clone().into())).await
            }
            SocketState::Retrying { problem: reason } => problem(
                "approval socket",
                format!("{}: {reason}", status.socket_path),
                in_the_way(current, paths),
            ),
            SocketState::Off { reason } => {
                problem("approval socket", format!("off: {reason}"), "mend the document first".to_owned())
            }
        },
        Err(_) => {
            if let Some((path, _)) = endpoint_in(current, paths)
                && !matches!(Holder::of(&path), Holder::Nobody)
            {
                return door("approval socket", &path).await;
            }
            let path = current.document.as_ref().and_then(|document| document::socket(document).0);
            let path = path.unwrap_or_else(|| "the socket".to_owned());
            problem("approval socket", format!("nobody serves {path}"), "start the app".to_owned())
        }
    }
}

/// Who answers at a socket, and whether that is who holds its lock: a program in the app's
/// place is not the app.
async fn door(check: &'static str, path: &Path) -> Finding {
    let answers = client::knock(path, ANSWER_WAIT).await;
    let (shown, remedy) = (path.display(), RESTART_REMEDY.to_owned());
    match (Holder::of(path), answers) {
        (Holder::Somebody { pid: Some(app) }, Ok(Some(pid))) if pid != app => problem(
            check,
            format!(
                "process {pid} answers on {shown} in place of the app, process {app}: it reads what callers send"
            ),
            format!("end process {pid} and remove the file: the app binds it again by itself"),
        ),
        (Holder::Somebody { .. }, Ok(_)) => ok(check, format!("listening on {shown}")),
        (Holder::Somebody { pid }, Err(error)) => {
            let app = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            problem(check, format!("the app{app} cannot be reached: {error}"), remedy)
        }
        (Holder::Nobody, Ok(pid)) => {
            let who = pid.map_or_else(|| "a program".to_owned(), |pid| format!("process {pid}"));
            problem(
                check,
                format!("{who} answers on {shown} and does not hold its lock, so it is not the app"),
                format!("end {who}, then start the app"),
            )
        }
        (Holder::Nobody, Err(_)) => {
            problem(check, format!("nobody serves {shown}"), "start the app".to_owned())
        }
        (Holder::Unknown(error), _) => problem(
            check,
            format!("it cannot be told who serves {shown}: its lock: {error}"),
            "check the folder's permissions".to_owned(),
        ),
    }
}

fn gateway(paths: &Paths, state: &EmbeddedState) -> Finding {
    match state {
        EmbeddedState::Serving { url } => {
            let file = paths.gateway().join(TOKEN_FILE);
            ok("embedded gateway", format!("serving on {url}, token in {}", file.display()))
        }
        EmbeddedState::Off => ok("embedded gateway", "turned off".to_owned()),
        EmbeddedState::Failed { problem: reason } => problem(
            "embedded gateway",
            reason.clone(),
            "end what is in the way, or choose another port on the app's page Connections; the app tries again by itself"
                .to_owned(),
        ),
    }
}

/// Who could not connect to the gateway: a program that is set up wrongly, or somebody who tries to
/// keep others out.
fn turned_away(all: &[TurnedAway]) -> Option<Finding> {
    if all.is_empty() {
        return None;
    }
    let told = |one: &TurnedAway| format!("{}: {} ({} times)", one.who, one.cause.text(), one.times);
    let mut message: Vec<String> = all.iter().take(MAX_TOLD).map(told).collect();
    if all.len() > MAX_TOLD {
        message.push(format!("and {} more", all.len() - MAX_TOLD));
    }
    Some(Finding {
        check: "turned away",
        level: Level::Warning,
        message: format!("by the gateway, in the last hour: {}", message.join("; ")),
        remedy: Some(
            "look what that user runs (ps -u NUMBER) and which token it has; programs of yours and devices that were let in \
             keep their places"
                .to_owned(),
        ),
    })
}

/// How many of them are told.
const MAX_TOLD: usize = 5;

/// This machine as a node: its key, its service, its runner. Nothing where it never was one.
fn node(paths: &Paths) -> Vec<Finding> {
    let unit = unit_path(paths, &process_environment());
    let is_installed = unit.is_file();
    let key = match identity::node_id(paths) {
        Ok(None) if !is_installed => return Vec::new(),
        Ok(None) => ok("node", "none yet: the service makes its key when it starts".to_owned()),
        Ok(Some(id)) => ok("node", format!("this machine is node {id}")),
        Err(error) => problem(
            "node",
            format!("{error:#}"),
            "mend the key's file, or move it away: then this machine is another node, and has to be let in again"
                .to_owned(),
        ),
    };
    let service = if is_installed {
        ok("node service", format!("installed: {}", unit.display()))
    } else {
        ok("node service", "not installed, so the runner starts by hand".to_owned())
    };
    let runner = match runner::is_served(paths) {
        Ok(true) => ok("node runner", "one serves as this node".to_owned()),
        Ok(false) => Finding {
            check: "node runner",
            level: Level::Warning,
            message: "none serves, so gateways can have nothing run on this machine".to_owned(),
            remedy: Some(if is_installed {
                format!("systemctl --user restart {UNIT}; why it ended says journalctl --user -u {UNIT}")
            } else {
                format!(
                    "start one with countersign run, or for good with countersign service install; if this machine is \
                     no longer to be a node, remove {}",
                    paths.node().display()
                )
            }),
        },
        Err(error) => problem("node runner", error.to_string(), "check the folder's permissions".to_owned()),
    };
    vec![key, service, runner]
}

/// What cannot be made is refused when it is wanted, so it is no problem by itself.
async fn sandbox() -> Finding {
    match sandbox::check_bubblewrap().await {
        Ok(()) => ok("sandbox", "bubblewrap makes sandboxes here".to_owned()),
        Err(why) => Finding {
            check: "sandbox",
            level: Level::Warning,
            message: format!("{why}; what is to run in one is refused"),
            remedy: Some(why.remedy().to_owned()),
        },
    }
}

/// What boxes get here beyond what every one has. Without bubblewrap that is said already.
async fn boxes(paths: &Paths) -> Option<Finding> {
    sandbox::check_bubblewrap().await.ok()?;
    Some(match sandbox::box_means(&paths.boxes()).await {
        Ok(Means { apart: true, layers: true, landlock: true }) => {
            ok("box", "the kernel gives boxes all that they use".to_owned())
        }
        Ok(Means { apart: true, layers: true, landlock: false }) => Finding {
            check: "box",
            level: Level::Warning,
            message: "boxes have one wall against writing elsewhere instead of two: this kernel has no Landlock".to_owned(),
            remedy: Some("a kernel from 6.2 on has it, if `landlock` is in its list of security modules".to_owned()),
        },
        Ok(Means { apart, .. }) => Finding {
            check: "box",
            level: Level::Warning,
            message: match apart {
                true => "caches of package managers begin empty in boxes: the kernel lays no folder over others here",
                false => {
                    "/media and /mnt are closed in boxes, and caches of package managers begin empty: the kernel \
                     makes no name space for this user"
                }
            }
            .to_owned(),
            remedy: Some("nothing is less safe for it; a kernel from 5.11 on gives it to everybody".to_owned()),
        },
        Err(error) => problem(
            "box",
            format!("{}: {error}", paths.boxes().display()),
            "check the folder's permissions".to_owned(),
        ),
    })
}

fn folder(check: &'static str, path: &Path) -> Finding {
    match path.metadata() {
        Ok(metadata) if !metadata.is_dir() => problem(
            check,
            format!("{} is not a folder", path.display()),
            format!("move {} away", path.display()),
        ),
        Ok(metadata) if metadata.mode() & 0o077 != 0 => problem(
            check,
            format!("{} is open to others ({:03o})", path.display(), metadata.mode() & 0o777),
            format!("chmod 700 {}", path.display()),
        ),
        Ok(_) => ok(check, path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            ok(check, format!("{} does not exist yet; the app makes it", path.display()))
        }
        Err(error) => {
            problem(check, format!("{}: {error}", path.display()), "check its permissions".to_owned())
        }
    }
}

/// What the app says of its windows counts before what this shell's environment promises.
fn display(app: Option<&DisplayState>) -> Finding {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match app {
        Some(DisplayState::Failed { end }) => problem(
            "display",
            format!(
                "prompts cannot be shown: {}; the fallback decides",
                sentences::page_end(*end, Language::English)
            ),
            DISPLAY_REMEDY.to_owned(),
        ),
        Some(DisplayState::Ok) => ok("display", "the app can show prompts".to_owned()),
        None if set("WAYLAND_DISPLAY") || set("DISPLAY") => {
            ok("display", "a graphical session is there".to_owned())
        }
        None => Finding {
            check: "display",
            level: Level::Warning,
            message: "no graphical session, so no window can ask".to_owned(),
            remedy: Some("run it inside the desktop session; without it the fallback decides".to_owned()),
        },
    }
}

/// A tray that is there shows nothing of an app whose session bus ended.
fn tray(of_app: Option<Presence>, now: Presence) -> Finding {
    match (of_app, now) {
        (Some(Presence::Missing), Presence::Present) => Finding {
            check: "tray",
            level: Level::Warning,
            message: "the app shows no icon since the session bus ended that it began with".to_owned(),
            remedy: Some(
                "quit the app and start it again; prompts and notifications work all the same".to_owned(),
            ),
        },
        (_, now) => presence("tray", now, TRAY_REMEDY),
    }
}

fn presence(check: &'static str, presence: Presence, remedy: &str) -> Finding {
    match presence {
        Presence::Present => ok(check, "present".to_owned()),
        Presence::Missing => Finding {
            check,
            level: Level::Warning,
            message: "nothing on this desktop provides it".to_owned(),
            remedy: Some(remedy.to_owned()),
        },
        Presence::Unknown => Finding {
            check,
            level: Level::Warning,
            message: "the session bus cannot be asked".to_owned(),
            remedy: Some("run it inside the desktop session".to_owned()),
        },
    }
}

fn history(paths: &Paths) -> Finding {
    match countersign_approvals::history::verify(&paths.history_places()) {
        Ok(report) => match report.broken {
            None if !report.warnings.is_empty() => Finding {
                check: "history",
                level: Level::Warning,
                message: format!(
                    "{} lines, the chain is whole, but {}",
                    report.lines,
                    report.warnings.join("; ")
                ),
                remedy: Some(
                    "what is missing is written again with the next line; ask yourself who removed it"
                        .to_owned(),
                ),
            },
            None => ok("history", format!("{} lines, the chain is whole", report.lines)),
            Some(broken) => problem(
                "history",
                super::history::damage(&broken),
                "somebody or something changed the record; keep a copy before anything else".to_owned(),
            ),
        },
        Err(error) => problem("history", error.to_string(), "check the folder's permissions".to_owned()),
    }
}

/// Lines of the history that could not be written, and are no line yet.
fn owed(paths: &Paths) -> Option<String> {
    let (lines, why) = countersign_approvals::history::unwritten(&paths.history_places())?;
    Some(format!("{lines} lines could not be written: {why}"))
}

fn ok(check: &'static str, message: String) -> Finding {
    Finding { check, level: Level::Ok, message, remedy: None }
}

fn problem(check: &'static str, message: String, remedy: String) -> Finding {
    Finding { check, level: Level::Problem, message, remedy: Some(remedy) }
}

/// The app answers this at once.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

const RESTART_REMEDY: &str = "if it stays so, end the app and start it again";

const DISPLAY_REMEDY: &str =
    "look into the app's log for what ended, and start the app again inside the desktop session";

const UNASKED_REMEDY: &str = "if that is not meant: countersign policy set security allowlist, for the agent that it names with --scope";

const TRAY_REMEDY: &str =
    "on GNOME install the AppIndicator extension; without a tray, start the app again to see its window";

const NOTIFICATIONS_REMEDY: &str = "start a notification service; prompts open as windows either way";

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::control::TurnedAwayCause;
    use countersign_protocol::state::PageEnd;
    use pretty_assertions::assert_eq;

    #[test]
    fn who_was_turned_away_is_told_with_why_and_how_often() {
        assert!(turned_away(&[]).is_none());
        let one = |cause| TurnedAway { who: "user 1001".to_owned(), cause, times: 12, last_at_ms: 0 };
        let finding = turned_away(&[one(TurnedAwayCause::Token), one(TurnedAwayCause::Connections)]).unwrap();
        assert_eq!(finding.level, Level::Warning);
        let expected = "by the gateway, in the last hour: user 1001: wrong token (12 times); user 1001: too many \
                        connections (12 times)";
        assert_eq!(finding.message, expected);
        let many = turned_away(&vec![one(TurnedAwayCause::Token); MAX_TOLD + 3]).unwrap();
        assert!(many.message.ends_with("; and 3 more"), "{}", many.message);
    }

    #[test]
    fn an_app_that_does_not_answer_is_not_said_to_be_absent() {
        let told = |error: ControlError| {
            let app = Err(error);
            let finding = app_finding(&app);
            (finding.message, finding.remedy.unwrap(), standing(&app, Language::English).message)
        };
        let (_, remedy, prompts) = told(ControlError::NotRunning);
        assert!(remedy.starts_with("start it"), "{remedy}");
        assert!(prompts.ends_with("so the fallback decides"), "{prompts}");
        let busy = "the app is busy; try again later";
        let (message, remedy, prompts) = told(ControlError::Broken(std::io::Error::other(busy)));
        assert!(message.ends_with(busy), "{message}");
        assert_eq!(remedy, RESTART_REMEDY);
        assert!(prompts.ends_with("is denied"), "{prompts}");
    }

    #[test]
    fn a_tray_that_shows_no_icon_of_the_app_is_told() {
        let told = tray(Some(Presence::Missing), Presence::Present);
        assert_eq!((told.level, told.message.contains("session bus ended")), (Level::Warning, true));
        assert_eq!(tray(Some(Presence::Present), Presence::Present).level, Level::Ok);
        assert_eq!(tray(None, Presence::Present).level, Level::Ok);
        assert!(tray(Some(Presence::Missing), Presence::Unknown).message.contains("cannot be asked"));
    }

    #[test]
    fn what_the_app_says_of_its_windows_counts_before_the_environment() {
        let failed = display(Some(&DisplayState::Failed { end: PageEnd::Hung }));
        assert_eq!(failed.level, Level::Problem);
        assert!(failed.message.contains("its page did not answer"), "{}", failed.message);
        assert_eq!(display(Some(&DisplayState::Ok)).level, Level::Ok);
    }
}
