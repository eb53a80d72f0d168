//! The real app on a desktop, and a person in front of it: what is to be seen of its windows,
//! and where to click.

use super::kind::{Kind, Theme};
use super::picture::{Area, Colour, Picture};
use super::place::Place;
use super::screen::Key;
use crate::cli::{Finished, Running};
use crate::process::{self, Background, PATIENCE, wait_for};
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::history::{HistoryEntry, HistoryEvent};
use countersign_protocol::question::Outcome;
use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The app and who uses it. The app ends when this is dropped.
pub struct Person {
    /// Where.
    pub place: Place,
    app: Background,
}

/// A prompt as it is on the screen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its Deny button.
    pub deny: Area,
    /// The other buttons beside it, from left to right; "Allow once" is the first.
    pub others: Vec<Area>,
    /// The whole screen.
    pub picture: Picture,
}

impl Person {
    /// Starts the app in the background, and waits until it takes requests.
    pub fn start(place: Place) -> Result<Self> {
        let log = File::create(place.home.path().join(LOG))?;
        let mut app = place.command(process::countersign_desktop()?);
        app.arg("--hidden").stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let person = Self { app: Background::start(&mut app)?, place };
        person.place.home.wait_until_listening().with_context(|| person.log())?;
        Ok(person)
    }

    /// The app's process.
    pub fn pid(&self) -> u32 {
        self.app.pid()
    }

    /// Runs the `countersign` command here, as in a terminal of this desktop.
    pub fn countersign(&self, arguments: &[&str]) -> Result<Finished> {
        let mut command = self.place.command(process::countersign()?);
        Running::start(command.args(arguments))?.finish()
    }

    /// An agent asks to run a command that nothing covers; returns when the app has it.
    pub fn raise(&self, argv: &[&str]) -> Result<Running> {
        let before = self.pending()?.len();
        let mut running = self.place.home.exec(argv)?;
        wait_for("the request waits", PATIENCE, || {
            ensure!(running.runs()?, "the request ended unasked");
            Ok((self.pending()?.len() > before).then_some(()))
        })
        .with_context(|| self.log())?;
        Ok(running)
    }

    /// Ids of what waits.
    pub fn pending(&self) -> Result<Vec<String>> {
        Ok(self.place.home.pending()?.0.into_iter().map(|card| card.id).collect())
    }

    /// Waits until so many requests have ended, and returns how all of them did, oldest first.
    pub fn outcomes(&self, count: usize) -> Result<Vec<Outcome>> {
        wait_for(&format!("{count} requests have ended"), PATIENCE, || {
            let outcomes = self.place.home.outcomes()?;
            Ok((outcomes.len() >= count).then_some(outcomes))
        })
    }

    /// The prompt, if one is on the screen and nothing lies over its buttons.
    pub fn look(&self) -> Result<Option<Seen>> {
        let picture = self.place.screen.picture()?;
        let colours = Colours::of(self.place.look.theme);
        let scale = self.place.look.scale;
        let fits = |area: &Area| area.width <= WIDEST * scale && area.height <= HIGHEST * scale;
        let solid = picture.blocks(colours.solid, NARROWEST * scale, LOWEST * scale);
        let Some(deny) = solid.into_iter().rfind(fits) else { return Ok(None) };
        // An empty button is not painted yet.
        if picture.count(deny, colours.solid_ink) < LABEL_PIXELS {
            return Ok(None);
        }
        let row = Area { left: deny.left + deny.width, width: usize::MAX / 4, ..deny };
        let ends_alike = |area: &Area| {
            area.meets(&row)
                && area.height + 2 * TOLERANCE >= deny.height
                && area.height <= deny.height + 2 * TOLERANCE
        };
        let mut others: Vec<Area> = picture.blocks(colours.surface, LOWEST * scale, (LOWEST - 2) * scale);
        others.retain(|area| ends_alike(area) && fits(area));
        others.sort_by_key(|area| area.left);
        Ok(Some(Seen { deny, others, picture }))
    }

    /// Waits for a prompt on the screen, and returns it with the time that this took.
    pub fn see_prompt(&self) -> Result<(Seen, Duration)> {
        let started = Instant::now();
        let seen = wait_for("a prompt is on the screen", PATIENCE, || self.look());
        Ok((seen.with_context(|| self.log())?, started.elapsed()))
    }

    /// Waits until no prompt is on the screen.
    pub fn see_none(&self) -> Result<()> {
        wait_for("no prompt is on the screen", PATIENCE, || Ok(self.look()?.is_none().then_some(())))
    }

    /// Whether no window of the app is on the screen: an answered prompt stays for a moment to
    /// say how it ended.
    pub fn is_alone(&self) -> Result<bool> {
        let scale = self.place.look.scale;
        let ground = Colours::of(self.place.look.theme).ground;
        let picture = self.place.screen.picture()?;
        Ok(picture.blocks(ground, LEAST_GROUND * scale, LEAST_GROUND * scale).is_empty())
    }

    /// Waits until no window of the app is on the screen.
    pub fn see_nothing(&self) -> Result<()> {
        wait_for("the app's windows go", PATIENCE, || Ok(self.is_alone()?.then_some(())))
    }

    /// Clicks on Deny until the request is gone: a click right after the prompt came up counts for nothing.
    pub fn deny(&self) -> Result<()> {
        self.until_answered("Deny", |seen| Some(seen.deny))
    }

    /// Clicks on "Allow once" until the request is gone: before it is armed, a click counts for nothing.
    pub fn allow_once(&self) -> Result<()> {
        // Before it is armed it has no ground of its own, and "Allow…" is the only one beside Deny.
        self.until_answered("Allow once", |seen| {
            seen.others.first().copied().filter(|_| seen.others.len() > 1)
        })
    }

    fn until_answered(&self, what: &str, button: impl Fn(&Seen) -> Option<Area>) -> Result<()> {
        let waiting = self.pending()?;
        let mut clicked: Option<Instant> = None;
        wait_for(&format!("a click on {what} answers"), PATIENCE, || {
            if self.pending()? != waiting {
                return Ok(Some(()));
            }
            if clicked.is_none_or(|at| at.elapsed() > SECOND_CLICK)
                && let Some(seen) = self.look()?
                && let Some(area) = button(&seen)
            {
                self.place.screen.click(area.middle())?;
                self.let_go(&seen)?;
                clicked = Some(Instant::now());
            }
            Ok(None)
        })
        .with_context(|| self.log())
    }

    /// Puts the pointer beside the Deny button: a button under it has another colour. It stays in the window,
    /// for there are desktops where the keyboard follows it.
    fn let_go(&self, seen: &Seen) -> Result<()> {
        let Area { left, width, .. } = seen.deny;
        self.place.screen.point_at((left + width + BESIDE * self.place.look.scale, seen.deny.middle().1))
    }

    /// Puts the keyboard into the prompt, and presses Control and D until the request is gone.
    pub fn deny_by_key(&self) -> Result<()> {
        let waiting = self.pending()?;
        let (seen, _) = self.see_prompt()?;
        self.let_go(&seen)?;
        self.place.screen.click_here()?;
        let mut pressed = Instant::now();
        wait_for("a key answers", PATIENCE, || {
            if self.pending()? != waiting {
                return Ok(Some(()));
            }
            if pressed.elapsed() > SECOND_CLICK {
                self.place.screen.press(&[Key::Control, Key::Char('d')])?;
                pressed = Instant::now();
            }
            Ok(None)
        })
    }

    /// Opens the main window as a person does, by starting the app again, and waits until it is drawn.
    pub fn open_main(&self) -> Result<Picture> {
        self.see_nothing()?;
        let before = self.place.screen.picture()?;
        let mut again = self.place.command(process::countersign_desktop()?);
        let mut again =
            Background::start(again.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
        wait_for("the second start ends", PATIENCE, || again.ended())?;
        let colours = Colours::of(self.place.look.theme);
        wait_for("the main window is drawn", PATIENCE, || {
            let picture = self.place.screen.picture()?;
            let Some(area) = picture.difference(&before) else { return Ok(None) };
            let grown = |colour| picture.count(area, colour).saturating_sub(before.count(area, colour));
            Ok((grown(colours.ground) > GROUND_PIXELS && grown(colours.ink) > INK_PIXELS).then_some(picture))
        })
        .with_context(|| self.log())
    }

    /// Ends the app, and leaves the desktop as it is.
    pub fn leave(self) -> Result<Place> {
        let Self { place, app } = self;
        app.end(PATIENCE)?;
        wait_for("the app's last window goes", PATIENCE, || {
            Ok(place.home.status()?.is_none().then_some(()))
        })?;
        Ok(place)
    }

    /// How many of the requests that have ended were decided in a window.
    pub fn decided_in_windows(&self) -> Result<usize> {
        let in_window = |entry: &HistoryEntry| matches!(&entry.event, HistoryEvent::Request { by, .. } if by.as_deref() == Some("window"));
        Ok(self.place.home.history()?.iter().filter(|entry| in_window(entry)).count())
    }

    /// How often the history tells that a window's page ended.
    pub fn endings_told(&self) -> Result<usize> {
        let told = self.countersign(&["history", "--lines", "1000"])?.stdout;
        Ok(told.lines().filter(|line| line.contains("the page of the")).count())
    }

    /// Processes that draw the app's pages.
    pub fn web_processes(&self) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // One that ends meanwhile is none.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
                continue;
            };
            let mut words = rest.split_whitespace();
            let (state, parent) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if name.starts_with("WebKitWebProc") && parent == self.pid().to_string() && state != "Z" {
                found.push(pid);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The end of what the app wrote.
    pub fn log(&self) -> String {
        let text = fs::read_to_string(self.place.home.path().join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("the app's log ends with:\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
    }

    /// Fails when the app has ended.
    pub fn still_runs(&mut self) -> Result<()> {
        match self.app.ended()? {
            None => Ok(()),
            Some(code) => bail!("the app ended with {code}\n{}", self.log()),
        }
    }

    /// Which desktop this is.
    pub fn kind(&self) -> Kind {
        self.place.kind
    }
}

/// The app's colours that the eye finds its windows by, as `ui/src/styles/tokens.css` has them.
struct Colours {
    ground: Colour,
    ink: Colour,
    solid: Colour,
    solid_ink: Colour,
    surface: Colour,
}

impl Colours {
    const fn of(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self {
                ground: [0xEC, 0xEF, 0xF3],
                ink: [0x14, 0x18, 0x1F],
                solid: [0x1F, 0x27, 0x32],
                solid_ink: [0xFF, 0xFF, 0xFF],
                surface: [0xFF, 0xFF, 0xFF],
            },
            Theme::Dark => Self {
                ground: [0x17, 0x1A, 0x1F],
                ink: [0xEE, 0xF1, 0xF5],
                solid: [0xE4, 0xE8, 0xEE],
                solid_ink: [0x12, 0x16, 0x1C],
                surface: [0x1F, 0x24, 0x2A],
            },
        }
    }
}

/// The Deny button's least and greatest size, at any width of the window.
const NARROWEST: usize = 70;
const WIDEST: usize = 420;
const LOWEST: usize = 30;
const HIGHEST: usize = 60;

/// Free ground of any window is at least so wide and high.
const LEAST_GROUND: usize = 60;

/// Less than the room between Deny and the next button, in pixels.
const BESIDE: usize = 7;

/// Rows by which buttons beside each other may differ: one has a border.
const TOLERANCE: usize = 4;

/// Pixels that are wholly of the label's colour.
const LABEL_PIXELS: usize = 10;

/// Pixels of a drawn main window: a part of its ground, and some words.
const GROUND_PIXELS: usize = 30_000;
const INK_PIXELS: usize = 60;

/// Between two tries: clicks that are closer are a double click, and a key counts after 700 ms without one.
const SECOND_CLICK: Duration = Duration::from_millis(900);

/// Where the app writes.
const LOG: &str = "app.log";

/// Lines of it that a failure repeats.
const LOG_LINES: usize = 25;
