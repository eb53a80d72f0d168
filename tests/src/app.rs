//! The real app in a private desktop session, seen and touched through its windows.

use crate::bus::{Desktop, Shell};
use crate::cli::Running;
use crate::driver::{Browser, Driver, Key, is_absence};
use crate::home::Home;
use crate::process::{self, Background, PATIENCE, free_port, is_alive, kill, wait_for};
use crate::session::Session;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A window of the app, by its page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Window {
    /// The main window.
    Main,
    /// The prompt.
    Prompt,
}

impl Window {
    const fn page(self) -> &'static str {
        match self {
            Self::Main => "index.html",
            Self::Prompt => "prompt.html",
        }
    }
}

/// What the prompt window shows at one moment.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Prompt {
    /// `blank`, `card` or `outcome`.
    pub state: String,
    /// Id of the request that is shown.
    pub card: Option<String>,
    /// Its generation.
    pub generation: Option<u32>,
    /// Whether it is on the screen: before, there is nothing to point at.
    pub painted: bool,
    /// Whether "Allow once" says that it works.
    pub armed: bool,
    /// Words of the command, as the boxes show them.
    pub words: Vec<String>,
    /// How the request ended.
    pub outcome: Option<String>,
    /// Whether the "Allow…" sheet is open.
    pub sheet: bool,
    /// Whether its confirming button says that it works.
    pub sheet_armed: bool,
    /// The text of the queue's button.
    pub queue: Option<String>,
    /// Whether keys count.
    pub keys: bool,
    /// `data-testid` of what has the keyboard.
    pub focus: Option<String>,
}

/// The app and everything around it. Dropping it ends all of it.
pub struct App {
    browser: OnceCell<Browser>,
    opening: Cell<Option<JoinHandle<Result<Browser>>>>,
    driver: Option<Driver>,
    /// The app's process.
    pub pid: u32,
    /// The shell around it.
    pub desktop: Desktop,
    session: Session,
    /// Its home.
    pub home: Home,
}

impl App {
    /// Starts the app hidden, in this home, and waits until it takes requests.
    pub fn start(home: Home, shell: Shell) -> Result<Self> {
        let app = Self::start_unready(home, shell)?;
        app.home.wait_until_listening()?;
        Ok(app)
    }

    /// The same, but waits only until it answers the control channel.
    pub fn start_unready(home: Home, shell: Shell) -> Result<Self> {
        let session = Session::start()?;
        let desktop = Desktop::start(session.bus_address(), shell)?;
        let log = File::create(home.path().join(LOG))?;
        let errors = log.try_clone()?;
        // Any free port could be the one that the driver has just chosen for talking to the app's pages.
        let gateway = free_port()?.to_string();
        let driver = Driver::start(|program| {
            home.enter(session.enter(program)).stdout(log).stderr(errors);
            program.env("COUNTERSIGN_GATEWAY_PORT", gateway);
            // The driver would end with the bus, and stories end that.
            program.env_remove(BUS_VARIABLE);
        })?;
        let bus = format!("{BUS_VARIABLE}={}", session.bus_address());
        let binary = process::countersign_desktop()?.to_string_lossy().into_owned();
        let port = driver.port();
        // A hidden app has no window: the driver's session begins when a request brings one up.
        let opening = std::thread::spawn(move || Browser::open(port, ENV, &[&bus, &binary, "--hidden"]));
        let pid = wait_for("the app answers", PATIENCE, || {
            ensure!(!opening.is_finished(), "the driver could not start the app");
            Ok(home.status()?.map(|(_, pid)| pid))
        });
        let pid = pid.with_context(|| tail(&home))?;
        let opening = Cell::new(Some(opening));
        Ok(Self { browser: OnceCell::new(), opening, driver: Some(driver), pid, desktop, session, home })
    }

    /// Starts the app a second time in the same home and session, as a person does, and
    /// returns its exit code.
    pub fn start_again(&self, arguments: &[&str]) -> Result<i32> {
        let mut second = self.command(process::countersign_desktop()?);
        let mut second = Background::start(second.args(arguments))?;
        wait_for("the second start ends", PATIENCE, || second.ended())
    }

    /// A program in this home and session.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.home.command(program);
        self.session.enter(&mut command);
        command
    }

    /// The app's process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends its display, as a crash of the display server would.
    pub fn kill_display(&self) {
        self.session.kill_display();
    }

    /// Ends its session bus, as a crash would.
    pub fn kill_bus(&self) {
        self.session.kill_bus();
    }

    /// Starts another session bus in the place of the first, with these parts of a shell on it.
    pub fn start_bus(&self, shell: Shell) -> Result<Desktop> {
        self.session.start_bus()?;
        Desktop::start(self.session.bus_address(), shell)
    }

    /// Address of its session bus.
    pub fn bus_address(&self) -> &str {
        self.session.bus_address()
    }

    /// Whether the app's process is there.
    pub fn runs(&self) -> bool {
        is_alive(self.pid)
    }

    /// The driver's session. Blocks until the app has shown a window.
    pub fn browser(&self) -> Result<&Browser> {
        if let Some(browser) = self.browser.get() {
            return Ok(browser);
        }
        let opening = self.opening.take().context("the driver's session did not begin")?;
        let browser = opening.join().map_err(|_| anyhow!("the driver's thread ended early"))??;
        Ok(self.browser.get_or_init(|| browser))
    }

    /// Makes a window the one that the driver is about; false when it is not there.
    pub fn find_window(&self, window: Window) -> Result<bool> {
        let browser = self.browser()?;
        for handle in browser.handles()? {
            match browser.switch(&handle).and_then(|()| browser.url()) {
                Ok(url) if url.contains(window.page()) => return Ok(true),
                Ok(_) => {}
                Err(error) if is_absence(error.root_cause()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Waits for a window and makes it the one that the driver is about.
    pub fn window(&self, window: Window) -> Result<&Browser> {
        wait_for(&format!("the window {window:?}"), PATIENCE, || {
            Ok(self.find_window(window)?.then_some(()))
        })?;
        self.browser()
    }

    /// Asks a page until it is as wanted: `script` is the body of a function whose result is not `null` then.
    pub fn wait_in(&self, window: Window, what: &str, script: &str) -> Result<Value> {
        self.window(window)?;
        wait_for(what, PATIENCE, || {
            let value: Value = self.browser()?.run(script, json!([]))?;
            Ok(if value.is_null() || value == json!(false) { None } else { Some(value) })
        })
        .with_context(|| self.page_text())
    }

    /// Waits until the page has an element.
    pub fn wait_for_element(&self, window: Window, selector: &str) -> Result<()> {
        let script = format!("return document.querySelector({}) !== null", json!(selector));
        self.wait_in(window, &format!("{selector} in {window:?}"), &script).map(|_| ())
    }

    /// Waits until an element is armed, and clicks it.
    pub fn click_armed(&self, window: Window, testid: &str) -> Result<()> {
        let selector = format!("[data-testid=\"{testid}\"][data-armed=\"true\"]");
        self.wait_for_element(window, &selector)?;
        ensure!(self.browser()?.click(&selector)?, "{testid} went away before it was clicked");
        Ok(())
    }

    /// Waits for an element and clicks it.
    pub fn click(&self, window: Window, testid: &str) -> Result<()> {
        let selector = format!("[data-testid=\"{testid}\"]");
        self.wait_for_element(window, &selector)?;
        ensure!(self.browser()?.click(&selector)?, "{testid} went away before it was clicked");
        Ok(())
    }

    /// Opens the sheet of the card that is shown, and picks a rung of it.
    pub fn open_sheet(&self, rung: &str) -> Result<()> {
        self.click(Window::Prompt, "allow-more")?;
        self.pick_in_sheet(&format!("[data-testid=\"sheet-option\"][value=\"{rung}\"]"))
    }

    /// Picks a button of a group in the sheet; the button itself is drawn by its label.
    pub fn pick_in_sheet(&self, option: &str) -> Result<()> {
        let label = format!("label:has({option})");
        self.wait_for_element(Window::Prompt, &label)?;
        ensure!(self.browser()?.click(&label)?, "the sheet went away");
        self.wait_for_element(Window::Prompt, &format!("{option}:checked"))
    }

    /// Chooses what a list of choices shows in these words, as a person does with the keyboard.
    pub fn choose(&self, window: Window, testid: &str, words: &str) -> Result<()> {
        let script = format!(
            "const list = document.querySelector('[data-testid=\"{testid}\"]');
             const choice = [...(list?.options ?? [])].find((option) => option.text === {});
             if (!choice) return null;
             list.value = choice.value;
             list.dispatchEvent(new Event('change', {{ bubbles: true }}));
             return true;",
            json!(words)
        );
        self.wait_in(window, &format!("the choice {words:?} of {testid}"), &script).map(|_| ())
    }

    /// What the prompt window shows now. The window must be there.
    pub fn prompt(&self) -> Result<Prompt> {
        ensure!(self.find_window(Window::Prompt)?, "there is no prompt window");
        self.browser()?.run(PROMPT_NOW, json!([]))
    }

    /// Waits until the prompt is as wanted.
    pub fn wait_for_prompt(&self, what: &str, wanted: impl Fn(&Prompt) -> bool) -> Result<Prompt> {
        self.window(Window::Prompt)?;
        let mut last = Prompt::default();
        let found = wait_for(what, PATIENCE, || {
            last = self.browser()?.run(PROMPT_NOW, json!([]))?;
            Ok(wanted(&last).then(|| last.clone()))
        });
        found.with_context(|| format!("the prompt was {last:?}"))
    }

    /// Waits until the prompt shows a command that has `word` among its words.
    pub fn wait_for_card(&self, word: &str) -> Result<Prompt> {
        self.wait_for_prompt(&format!("the prompt shows {word:?}"), |prompt| {
            prompt.state == "card" && prompt.painted && prompt.words.iter().any(|shown| shown.contains(word))
        })
    }

    /// Waits until the prompt shows a command that has `word` among its words, or what asks is over:
    /// whether it is shown. Something that ends by itself may do so before a slow machine has drawn it.
    pub fn is_shown_in_time(&self, word: &str, asking: &mut Running) -> Result<bool> {
        wait_for(&format!("the prompt shows {word:?}, or its time is over"), PATIENCE, || {
            if !asking.runs()? {
                return Ok(Some(false));
            }
            if !self.find_window(Window::Prompt)? {
                return Ok(None);
            }
            let prompt = self.prompt()?;
            let is_card = prompt.state == "card" && prompt.painted && prompt.outcome.is_none();
            Ok((is_card && prompt.words.iter().any(|shown| shown.contains(word))).then_some(true))
        })
    }

    /// Waits until the prompt shows nothing.
    pub fn wait_for_blank(&self) -> Result<Prompt> {
        self.wait_for_prompt("the prompt is blank", |prompt| prompt.state == "blank" && prompt.card.is_none())
    }

    /// Starts `countersign exec` and waits until its prompt is on the screen.
    pub fn raise(&self, argv: &[&str]) -> Result<(Running, Prompt)> {
        let before = self.pending_ids()?;
        let mut running = self.home.exec(argv)?;
        let waiting = wait_for("the request waits", PATIENCE, || {
            let fresh = self.pending_ids()?.into_iter().find(|id| !before.contains(id));
            Ok(if fresh.is_some() || !running.runs()? { Some(fresh) } else { None })
        })?;
        let Some(id) = waiting else { bail!("the request ended unasked: {:?}", running.finish()?) };
        let prompt = self.wait_for_prompt("the prompt shows the request", |prompt| {
            prompt.state == "card" && prompt.painted && prompt.card.as_ref() == Some(&id)
        })?;
        Ok((running, prompt))
    }

    /// Ids of the requests that wait.
    pub fn pending_ids(&self) -> Result<Vec<String>> {
        Ok(self.home.pending()?.0.into_iter().map(|card| card.id).collect())
    }

    /// Waits until so many requests wait.
    pub fn wait_for_pending(&self, count: usize) -> Result<()> {
        wait_for(&format!("{count} requests wait"), PATIENCE, || {
            Ok((self.pending_ids()?.len() == count).then_some(()))
        })
    }

    /// Waits until "Allow once" is armed, and clicks it.
    pub fn allow_once(&self) -> Result<()> {
        self.click_armed(Window::Prompt, "allow-once")
    }

    /// Clicks "Deny" until the card that is shown has gone: the second click of a double click counts for
    /// nothing, also when it is the first that this card gets.
    pub fn deny(&self) -> Result<()> {
        let shown = self.prompt()?.card;
        let mut clicked: Option<Instant> = None;
        wait_for("the card is denied", PATIENCE, || {
            let now = self.prompt()?;
            if now.state != "card" || now.card != shown {
                return Ok(Some(()));
            }
            if clicked.is_none_or(|at| at.elapsed() > DOUBLE_CLICK) {
                self.browser()?.click("[data-testid=\"deny\"]")?;
                clicked = Some(Instant::now());
            }
            Ok(None)
        })
    }

    /// Calls a command of the app from a page, as a script in it could. The error is what the
    /// app refused with.
    pub fn invoke(&self, window: Window, command: &str, arguments: Value) -> Result<Result<Value, Value>> {
        let script = "const [name, args, done] = arguments;
            window.__TAURI_INTERNALS__.invoke(name, args)
              .then((value) => done({ ok: value ?? null }), (refused) => done({ refused }))";
        let mut answer = self.window(window)?.run_async(script, json!([command, arguments]))?;
        Ok(match answer.get_mut("refused") {
            Some(refused) => Err(refused.take()),
            None => Ok(answer["ok"].take()),
        })
    }

    /// Presses keys in the prompt as a person who put the keyboard there and waited until its keys count.
    /// False when the window went away.
    pub fn press(&self, keys: &[Key]) -> Result<bool> {
        let taken: bool = self.browser()?.run(TAKE_KEYBOARD, json!([]))?;
        if taken {
            self.wait_for_prompt("keys count", |prompt| prompt.keys || prompt.state != "card")?;
        }
        self.browser()?.press(keys)
    }

    /// Saves a picture of the window when `COUNTERSIGN_SHOTS` names a folder.
    pub fn shoot(&self, window: Window, name: &str) -> Result<()> {
        let Some(folder) = std::env::var_os("COUNTERSIGN_SHOTS") else { return Ok(()) };
        let folder = PathBuf::from(folder);
        fs::create_dir_all(&folder)?;
        let picture = self.window(window)?.screenshot()?;
        let bytes = decode_base64(&picture)?;
        Ok(fs::write(folder.join(format!("{name}.png")), bytes)?)
    }

    /// The end of what the app wrote to its log.
    pub fn log(&self) -> String {
        tail(&self.home)
    }

    fn page_text(&self) -> String {
        let text = self.browser().and_then(|browser| {
            browser.run::<String>(
                "return document.body.dataset.state + ' ' + document.body.innerText",
                json!([]),
            )
        });
        format!("the page says: {}", text.unwrap_or_else(|error| error.to_string()))
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // Ending the session ends the app; one that was never seen, or that hangs, is killed.
        drop(self.browser.take());
        kill(self.pid);
        self.driver = None;
        if let Some(opening) = self.opening.take() {
            // With the driver gone, its session fails to begin.
            opening.join().ok();
        }
    }
}

fn tail(home: &Home) -> String {
    let text = fs::read_to_string(home.path().join(LOG)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    format!("the app's log ends with:\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for char in text.bytes().filter(|char| *char != b'=' && !char.is_ascii_whitespace()) {
        let value = match char {
            b'A'..=b'Z' => char - b'A',
            b'a'..=b'z' => char - b'a' + 26,
            b'0'..=b'9' => char - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => bail!("not base64: byte {other}"),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF)?);
        }
    }
    Ok(bytes)
}

/// What the page hears of a click into the window. The focus inside of it stays.
const TAKE_KEYBOARD: &str = r#"
    const card = document.querySelector('[data-testid="card"]');
    card?.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
    return card !== null;
"#;

/// What [`Prompt`] is made from.
const PROMPT_NOW: &str = r#"
    const part = (id) => document.querySelector(`[data-testid="${id}"]`);
    const card = part('card');
    return {
      state: document.body.dataset.state ?? '',
      keys: card?.dataset.keys === 'true',
      card: card?.dataset.id ?? null,
      generation: card ? Number(card.dataset.generation) : null,
      painted: card?.dataset.painted === 'true',
      armed: part('allow-once')?.dataset.armed === 'true',
      words: [...document.querySelectorAll('[data-testid="command"] [data-testid="argument"]')]
        .slice(0, 64).map((argument) => argument.textContent),
      outcome: part('outcome')?.dataset.outcome ?? null,
      sheet: part('sheet') !== null,
      sheetArmed: part('allow-always-confirm')?.dataset.armed === 'true',
      queue: part('queue-button')?.textContent ?? null,
      focus: document.activeElement?.dataset?.testid ?? null,
    };
"#;

/// Clicks that are further apart are single ones, as GTK counts them.
const DOUBLE_CLICK: Duration = Duration::from_millis(600);

/// Names the session bus.
const BUS_VARIABLE: &str = "DBUS_SESSION_BUS_ADDRESS";

/// Becomes the app with a variable that the driver does not have.
const ENV: &str = "/usr/bin/env";

/// Where driver and app write, in the home.
const LOG: &str = "app.log";

/// Lines of the log that a failed story repeats.
const LOG_LINES: usize = 40;
