//! Two sample requests through the real command, the real socket and the real window.
//!
//! Everything happens in a throw-away home, so nothing of the person's is read or written. With a display the
//! person answers. Without one, a WebDriver answers in the window itself, never behind it.

use crate::process::{Background, command, wait_for};
use crate::session::{Session, has_display};
use crate::webdriver::{Browser, Driver};
use crate::workspace::{Binaries, state_dir};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::json;
use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Show both sample requests and print what came of each. Anything that did not happen is an error.
pub(crate) fn run(binaries: &Binaries) -> Result<()> {
    let session = if has_display() { None } else { Some(Session::start()?) };
    let stage = Stage { binaries, session, home: Home::create()? };
    if stage.session.is_none() { ask_the_person(&stage) } else { answer_in_the_window(&stage) }
}

/// What the driver does in the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    AllowOnce,
    Deny,
}

impl Answer {
    const fn words(self) -> &'static str {
        match self {
            Self::AllowOnce => "allowed once",
            Self::Deny => "denied",
        }
    }

    /// The button as it is when it can be pressed.
    const fn button(self) -> &'static str {
        match self {
            Self::AllowOnce => r#"[data-testid="allow-once"][data-armed="true"]"#,
            Self::Deny => r#"[data-testid="deny"]"#,
        }
    }
}

/// Two commands that harm nothing, and the answer each gets without a person.
const REQUESTS: [(&[&str], Answer); 2] =
    [(&["uname", "-a"], Answer::AllowOnce), (&["rm", "-rf", "./does-not-exist"], Answer::Deny)];

/// Where a demo takes place. The session is private, or the person's own when there is none.
struct Stage<'a> {
    binaries: &'a Binaries,
    // Ends before the home goes: whatever still runs in it dies with its display.
    session: Option<Session>,
    home: Home,
}

fn ask_the_person(stage: &Stage<'_>) -> Result<()> {
    println!(
        "A window asks you about two harmless commands of an agent called \"{AGENT}\". Answer as you like."
    );
    let mut app = command(&stage.binaries.desktop);
    let mut app = Background::start(stage.enter(app.arg("--hidden")))?;
    wait_for("the app's start", START_LIMIT, || {
        app.still_runs()?;
        Ok(stage.home.app_listens().then_some(()))
    })?;
    for (number, (argv, _)) in (1..).zip(REQUESTS) {
        let finished = stage.raise(argv)?.wait_with_output()?.into();
        print_transcript(number, argv, "in the window", "yours", &finished);
    }
    Ok(())
}

fn answer_in_the_window(stage: &Stage<'_>) -> Result<()> {
    println!("There is no display: a driver answers in the window, under Xvfb.");
    let port = free_port()?;
    let log_path = state_dir().join("demo.log");
    fs::create_dir_all(state_dir())?;
    let log = File::create(&log_path)?;
    let mut server = command("WebKitWebDriver");
    server.arg(format!("--port={port}")).env("TAURI_WEBVIEW_AUTOMATION", "true");
    server.stdout(log.try_clone()?).stderr(log);
    let mut server = Background::start(stage.enter(&mut server))?;
    let driver = Driver::at(port);
    wait_for("the driver's start", START_LIMIT, || {
        server.still_runs()?;
        Ok(driver.listens().then_some(()))
    })?;
    let told = || format!("the output of driver and app is in {}", log_path.display());
    drive(stage, driver).with_context(told)
}

fn drive(stage: &Stage<'_>, driver: Driver) -> Result<()> {
    let capabilities = json!({
        "webkitgtk:browserOptions": { "binary": stage.binaries.desktop, "args": ["--hidden"] },
    });
    // A hidden app has no window: the driver's session begins when the first request brings one up.
    let opening = thread::spawn(move || driver.open(&capabilities));
    wait_for("the app's start", START_LIMIT, || {
        ensure!(!opening.is_finished(), "the driver could not start the app");
        Ok(stage.home.app_listens().then_some(()))
    })?;
    let [(first, _), _] = REQUESTS;
    let mut first = stage.raise(first)?;
    wait_for("the prompt's window", WINDOW_LIMIT, || {
        let has_ended = first.try_wait()?.is_some();
        Ok((has_ended || opening.is_finished()).then_some(()))
    })?;
    if !opening.is_finished() {
        let finished = Finished::from(first.wait_with_output()?);
        bail!("the first request ended without a window: {}", finished.output);
    }
    let browser = opening.join().map_err(|_| anyhow!("the driver's thread ended early"))??;
    let mut raised = Some(first);
    for (number, (argv, answer)) in (1..).zip(REQUESTS) {
        let running = match raised.take() {
            Some(running) => running,
            None => stage.raise(argv)?,
        };
        let shown = press(&browser, argv, answer)?;
        let finished = finish(running)?;
        print_transcript(number, argv, &shown, answer.words(), &finished);
        finished.must_fit(answer)?;
    }
    Ok(())
}

impl Stage<'_> {
    /// Put a program on this stage.
    fn enter<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some(session) = &self.session {
            session.enter(command);
        }
        self.home.enter(command)
    }

    /// Start `countersign exec` as an agent would.
    fn raise(&self, argv: &[&str]) -> Result<Child> {
        let mut exec = command(&self.binaries.command);
        exec.args(["exec", "--agent", AGENT, "--"]).args(argv).current_dir(self.home.folder.path());
        exec.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.enter(&mut exec).spawn().context("could not start countersign exec")
    }
}

/// Wait until the window shows this command and the button can be pressed, press it, and
/// return what was shown.
fn press(browser: &Browser, argv: &[&str], answer: Answer) -> Result<String> {
    let wanted = argv.concat();
    let what = format!("a window that shows `{}` and can be answered", argv.join(" "));
    let (shown, button) = wait_for(&what, WINDOW_LIMIT, || {
        let Some(block) = browser.find_in_any_window(r#"[data-testid="command"]"#)? else { return Ok(None) };
        let Some(text) = browser.text(&block)? else { return Ok(None) };
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.concat().contains(&wanted) {
            return Ok(None);
        }
        let button = browser.find_in_any_window(answer.button())?;
        Ok(button.map(|button| (words.join(" "), button)))
    })?;
    browser.click(&button)?;
    Ok(shown)
}

/// What a command left behind.
struct Finished {
    code: Option<i32>,
    output: String,
}

impl From<std::process::Output> for Finished {
    fn from(output: std::process::Output) -> Self {
        let text = [output.stdout, output.stderr].concat();
        Self { code: output.status.code(), output: String::from_utf8_lossy(&text).trim_end().to_owned() }
    }
}

impl Finished {
    /// An allowed command has run well; a denied one has not.
    fn must_fit(&self, answer: Answer) -> Result<()> {
        match answer {
            Answer::AllowOnce => {
                ensure!(self.code == Some(0), "the allowed command did not run well");
                ensure!(!self.output.is_empty(), "the allowed command printed nothing");
            }
            Answer::Deny => ensure!(self.code != Some(0), "the denied command ended as if it had run"),
        }
        Ok(())
    }
}

fn finish(mut running: Child) -> Result<Finished> {
    let ended = wait_for("the end of the command", END_LIMIT, || Ok(running.try_wait()?));
    if let Err(error) = ended {
        running.kill()?;
        bail!("{error}: {}", Finished::from(running.wait_with_output()?).output);
    }
    Ok(running.wait_with_output()?.into())
}

fn print_transcript(number: usize, argv: &[&str], shown: &str, answer: &str, finished: &Finished) {
    println!("\nRequest {number}");
    println!("  command    {}", argv.join(" "));
    println!("  shown      {shown}");
    println!("  answer     {answer}");
    println!("  output     {}", finished.output.replace('\n', "\n             "));
    println!("  exit code  {}", finished.code.map_or_else(|| "none".to_owned(), |code| code.to_string()));
}

/// A home folder of the demo's own, removed at its end.
struct Home {
    folder: TempDir,
}

impl Home {
    /// With a document that asks about everything it does not know, which is everything.
    fn create() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("countersign-demo-").tempdir()?;
        let home = Self { folder };
        for private in [home.countersign(), home.openclaw()] {
            DirBuilder::new().mode(0o700).create(private)?;
        }
        let document = json!({
            "version": 1,
            "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
            "agents": {},
        });
        let path = home.openclaw().join("exec-approvals.json");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{document:#}")?;
        // The demo is a first step of its own.
        fs::write(home.countersign().join("first-steps.json"), "{}")?;
        Ok(home)
    }

    fn countersign(&self) -> PathBuf {
        self.folder.path().join("countersign")
    }

    fn openclaw(&self) -> PathBuf {
        self.folder.path().join("openclaw")
    }

    /// Put a program into this home.
    fn enter<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // The right to use the display lies in the real home.
        if env::var_os("XAUTHORITY").is_none()
            && let Some(real) = env::var_os("HOME")
            && Path::new(&real).join(".Xauthority").exists()
        {
            command.env("XAUTHORITY", Path::new(&real).join(".Xauthority"));
        }
        for (name, below) in [
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
        ] {
            command.env(name, self.folder.path().join(below));
        }
        command
            .env("HOME", self.folder.path())
            .env("COUNTERSIGN_STATE_DIR", self.countersign())
            .env("OPENCLAW_STATE_DIR", self.openclaw())
            // The person's own app may serve on the usual port.
            .env("COUNTERSIGN_GATEWAY_PORT", "0")
            .env_remove("OPENCLAW_HOME")
    }

    /// Whether the app takes requests.
    fn app_listens(&self) -> bool {
        self.openclaw().join("exec-approvals.sock").exists()
            && UnixStream::connect(self.countersign().join("control.sock")).is_ok()
    }
}

/// A port that was free a moment ago; the driver takes none by itself.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The agent's name in the prompt.
const AGENT: &str = "demo";

/// Longest start of a program on a busy machine; half a second is usual.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Longest wait for a window that can be answered: its start, the arming delay of 1.5 s, and a busy machine.
const WINDOW_LIMIT: Duration = Duration::from_secs(60);

/// Longest run of a sample command once it is answered.
const END_LIMIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(code: i32, output: &str) -> Finished {
        Finished { code: Some(code), output: output.to_owned() }
    }

    #[test]
    fn an_allowed_request_must_have_run_and_a_denied_one_must_not() {
        assert!(finished(0, "Linux").must_fit(Answer::AllowOnce).is_ok());
        assert!(finished(0, "").must_fit(Answer::AllowOnce).is_err());
        assert!(finished(1, "no").must_fit(Answer::AllowOnce).is_err());
        assert!(finished(1, "denied").must_fit(Answer::Deny).is_ok());
        assert!(finished(0, "").must_fit(Answer::Deny).is_err());
    }

    #[test]
    fn the_home_is_private_and_points_every_program_at_itself() {
        let home = Home::create().unwrap();
        let mut program = Command::new("true");
        home.enter(&mut program);
        for name in ["HOME", "COUNTERSIGN_STATE_DIR", "OPENCLAW_STATE_DIR", "XDG_CONFIG_HOME"] {
            let value =
                program.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value).unwrap();
            assert!(Path::new(value).starts_with(home.folder.path()), "{name}");
        }
        assert!(!home.app_listens());
    }
}
