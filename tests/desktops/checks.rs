//! What every desktop is asked, and what it answered.

use anyhow::{Context, Result, anyhow, bail, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::question::Outcome;
use countersign_tests::cli::Running;
use countersign_tests::desktops::kind::{Buttons, Kind, Look, Tray};
use countersign_tests::desktops::person::{Person, Seen};
use countersign_tests::desktops::picture::{Area, Picture};
use countersign_tests::desktops::place::Place;
use countersign_tests::desktops::typist::Typist;
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A promise that every desktop is held to, as a column of the table.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Check {
    Prompt,
    Unanswered,
    Focus,
    Click,
    Allow,
    Key,
    Main,
    TrayState,
    TrayIcon,
    Notification,
    Doctor,
    Dark,
    Large,
}

impl Check {
    pub(crate) const ALL: [Self; 13] = [
        Self::Prompt,
        Self::Unanswered,
        Self::Focus,
        Self::Click,
        Self::Allow,
        Self::Key,
        Self::Main,
        Self::TrayState,
        Self::TrayIcon,
        Self::Notification,
        Self::Doctor,
        Self::Dark,
        Self::Large,
    ];

    /// What is promised.
    pub(crate) fn promise(self) -> &'static str {
        match self {
            Self::Prompt => "a prompt is drawn, above what was there",
            Self::Unanswered => "keys that were meant for something else answer nothing",
            Self::Focus => "a prompt leaves the keyboard where it is",
            Self::Click => "a click on Deny denies",
            Self::Allow => "a click on Allow once allows once",
            Self::Key => "Ctrl+D denies, once the person is in the prompt",
            Self::Main => "the main window is drawn, and a prompt above it",
            Self::TrayState => "the tray is told what waits",
            Self::TrayIcon => "the tray's icon is on the panel, and changes",
            Self::Notification => "Deny in the notification denies",
            Self::Doctor => "doctor says what this desktop has",
            Self::Dark => "dark colours are followed",
            Self::Large => "twice the size is drawn and answers",
        }
    }
}

/// How a desktop did.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// It does.
    Kept,
    /// It does not, and why.
    Broken(String),
    /// There is nothing to hold it to, and why.
    NotThere(&'static str),
}

/// Everything that a desktop was asked.
pub(crate) struct Report {
    pub(crate) kind: Kind,
    pub(crate) verdicts: Vec<(Check, Verdict)>,
}

impl Report {
    pub(crate) fn verdict(&self, check: Check) -> Option<&Verdict> {
        self.verdicts.iter().find_map(|(asked, verdict)| (*asked == check).then_some(verdict))
    }
}

/// Asks one desktop everything, and keeps pictures of it.
pub(crate) fn ask(kind: Kind, pictures: &Path) -> Report {
    let mut asker = Asker { report: Report { kind, verdicts: Vec::new() }, pictures: pictures.to_owned() };
    asker.plain();
    asker.dark();
    asker.large();
    for check in Check::ALL {
        if asker.report.verdict(check).is_none() {
            asker.note(check, Verdict::Broken("it was not come to".to_owned()));
        }
    }
    asker.report.verdicts.sort_by_key(|(check, _)| *check);
    asker.report
}

struct Asker {
    report: Report,
    pictures: PathBuf,
}

impl Asker {
    fn note(&mut self, check: Check, verdict: Verdict) {
        let word = match &verdict {
            Verdict::Kept => "ok".to_owned(),
            Verdict::Broken(why) => format!("FAILED: {why}"),
            Verdict::NotThere(why) => format!("not there: {why}"),
        };
        println!("{}: {} ... {word}", self.report.kind, check.promise());
        self.report.verdicts.push((check, verdict));
    }

    /// Asks one thing; whatever is left of it is taken away afterwards.
    fn check(&mut self, person: &Person, check: Check, ask: impl FnOnce(&Person) -> Result<()>) {
        let verdict = match ask(person) {
            Ok(()) => Verdict::Kept,
            Err(error) => {
                let name = format!("failed-{check:?}").to_lowercase();
                self.keep(person, &name).ok();
                let log = self.pictures.join(format!("{}-{name}.log", self.report.kind));
                // A help for whoever looks; the verdict is the same without it.
                std::fs::write(log, person.log() + "\n" + &person.place.logs()).ok();
                broken(error)
            }
        };
        self.note(check, verdict);
        // An app that does not answer any more fails what comes next.
        person.place.home.control(&ControlRequest::Deny { id: None }).ok();
        if check != Check::Main {
            person.see_nothing().ok();
        }
    }

    /// Keeps a picture of the whole screen.
    fn keep(&self, person: &Person, name: &str) -> Result<()> {
        let mut picture = person.place.screen.picture()?;
        for _ in 1..person.place.look.scale {
            picture = picture.halved();
        }
        picture.save(&self.pictures.join(format!("{}-{name}.png", self.report.kind)))
    }

    /// Everything, light and at the screen's own size.
    fn plain(&mut self) {
        let kind = self.report.kind;
        let (mut person, typist, icon) = match begin(kind) {
            Ok(begun) => begun,
            Err(error) => return self.note(Check::Prompt, broken(error)),
        };
        let pictures = self.pictures.join(format!("{kind}-prompt.png"));
        match typing_through(&person, &typist, &pictures) {
            Err(error) => {
                self.keep(&person, "failed-prompt").ok();
                return self.note(Check::Prompt, broken(person.still_runs().err().unwrap_or(error)));
            }
            Ok(typed) => {
                self.note(Check::Prompt, Verdict::Kept);
                self.note(Check::Unanswered, typed.unanswered.map_or_else(broken, |()| Verdict::Kept));
                let focus = match (kind.gives_focus(), typed.arrived) {
                    (Some(why), _) => Verdict::NotThere(why),
                    (None, arrived) => arrived.map_or_else(broken, |()| Verdict::Kept),
                };
                self.note(Check::Focus, focus);
            }
        }
        person.place.home.control(&ControlRequest::Deny { id: None }).ok();
        self.check(&person, Check::Click, click);
        self.check(&person, Check::Allow, allow);
        self.check(&person, Check::Key, key);
        match (kind.tray(), icon) {
            (Tray::Nowhere(why), _) => {
                self.note(Check::TrayState, Verdict::NotThere(why));
                self.note(Check::TrayIcon, Verdict::NotThere(why));
            }
            (Tray::Embedded, icon) => {
                self.note(
                    Check::TrayState,
                    Verdict::NotThere("this tray takes a window that draws the icon, and is told nothing"),
                );
                self.check(&person, Check::TrayIcon, |person| tray_icon(person, icon));
            }
            (Tray::Stand(why), _) => {
                self.check(&person, Check::TrayState, tray_state);
                self.note(Check::TrayIcon, Verdict::NotThere(why));
            }
            (Tray::Items, icon) => {
                self.check(&person, Check::TrayState, tray_state);
                self.check(&person, Check::TrayIcon, |person| tray_icon(person, icon));
            }
        }
        match kind.buttons() {
            Buttons::None(why) => self.note(Check::Notification, Verdict::NotThere(why)),
            buttons => self.check(&person, Check::Notification, |person| notification(person, buttons)),
        }
        self.check(&person, Check::Doctor, doctor);
        let pictures = self.pictures.join(format!("{kind}-main.png"));
        self.check(&person, Check::Main, |person| {
            person.open_main()?.save(&pictures)?;
            let asked = person.raise(&["true", "above"])?;
            person.see_prompt()?;
            drop(asked);
            Ok(())
        });
        if let Err(error) = person.still_runs() {
            self.note(Check::Main, broken(error));
        }
    }

    fn dark(&mut self) {
        self.once(Check::Dark, Look::DARK);
    }

    fn large(&mut self) {
        if let Some(why) = self.report.kind.unscaled() {
            return self.note(Check::Large, Verdict::NotThere(why));
        }
        self.once(Check::Large, Look::LARGE);
    }

    /// One look at a desktop that looks otherwise, where Deny is clicked.
    fn once(&mut self, check: Check, look: Look) {
        let name = format!("{check:?}").to_lowercase();
        let asked = (|| {
            let person = Person::start(Place::start(self.report.kind, look, Home::asking()?)?)?;
            let _asked = person.raise(&["true", &name])?;
            let seen = person.see_prompt();
            self.keep(&person, &name)?;
            painted(&person, &seen?.0)?;
            person.deny()?;
            expect(&person, 1, &Outcome::Denied)
        })();
        self.note(check, asked.map_or_else(broken, |()| Verdict::Kept));
    }
}

/// A person at a desktop, what they type into, and where its tray is with how that looked.
type Begun = (Person, Typist, Option<(Area, Picture)>);

/// Starts a desktop, somebody who types there, and the app; and finds where the tray's icon came up.
fn begin(kind: Kind) -> Result<Begun> {
    let mut place = Place::start(kind, Look::PLAIN, Home::asking()?)?;
    let typist = Typist::start(&mut place)?;
    let before = still(&place)?;
    let person = Person::start(place)?;
    let icon = match kind.tray() {
        Tray::Nowhere(_) | Tray::Stand(_) => None,
        // One that does not come up is said where it is looked for.
        Tray::Items | Tray::Embedded => {
            wait_for("an icon comes up", ICON_WAIT, || Ok(person.place.screen.picture()?.difference(&before)))
                .and_then(|_| still(&person.place))
                .map(|picture| picture.difference(&before).map(|area| (area, picture)))
                .unwrap_or(None)
        }
    };
    Ok((person, typist, icon))
}

/// What the screen shows once it no longer changes.
fn still(place: &Place) -> Result<Picture> {
    let mut last = (place.screen.picture()?, Instant::now());
    wait_for("the screen is still", PATIENCE, || {
        let now = place.screen.picture()?;
        if now != last.0 {
            last = (now, Instant::now());
        }
        Ok((last.1.elapsed() > STILL).then(|| last.0.clone()))
    })
}

/// What became of keys.
struct Typed {
    /// They all arrived where they were typed.
    arrived: Result<()>,
    /// They answered nothing.
    unanswered: Result<()>,
}

/// Somebody types all the while that a prompt comes, its agent goes away, and the next one comes.
fn typing_through(person: &Person, typist: &Typist, picture: &Path) -> Result<Typed> {
    let (seen, first) = type_through(person, typist).context("the first prompt")?;
    seen.picture.save(picture)?;
    typist.begin_again(&person.place)?;
    let (_, later) = type_through(person, typist).context("a later prompt")?;
    Ok(Typed {
        arrived: first
            .arrived
            .context("under the first prompt")
            .and(later.arrived.context("under a later prompt")),
        unanswered: first.unanswered.and(later.unanswered),
    })
}

/// Fails when no prompt is drawn.
fn type_through(person: &Person, typist: &Typist) -> Result<(Seen, Typed)> {
    let ended = person.place.home.outcomes()?.len();
    for _ in 0..KEYS_BEFORE {
        typist.type_one(&person.place)?;
    }
    let asked = person.raise(&["true", "while", "typing"])?;
    let mut shown: Option<(Seen, Instant)> = None;
    let seen = wait_for("a prompt is on the screen", PATIENCE, || {
        typist.type_one(&person.place)?;
        if let Some(seen) = person.look()? {
            shown.get_or_insert_with(|| (seen, Instant::now()));
        }
        Ok(shown.take_if(|(_, since)| since.elapsed() > KEYS_AFTER))
    });
    let answered = person.place.home.outcomes()?.len() - ended;
    let (seen, _) = match seen {
        Err(_) if answered > 0 => bail!("a key that was typed elsewhere answered before the prompt was seen"),
        seen => seen.with_context(|| format!("{}\n{}", person.log(), person.place.logs()))?,
    };
    painted(person, &seen)?;
    let waits = person.look()?.is_some();
    drop(asked);
    person.see_nothing()?;
    let unanswered = if answered > 0 {
        Err(anyhow!("a key that was typed elsewhere answered"))
    } else if waits {
        Ok(())
    } else {
        Err(anyhow!("a key that was typed elsewhere put the prompt aside"))
    };
    let arrived = if person.place.kind.gives_focus().is_some() { Ok(()) } else { typist.check().map(|_| ()) };
    Ok((seen, Typed { arrived, unanswered }))
}

/// Fails when a prompt's window is there but is not filled with a card.
fn painted(person: &Person, seen: &Seen) -> Result<()> {
    let scale = person.place.look.scale;
    ensure!(!seen.others.is_empty(), "the prompt has no button beside Deny");
    let right = seen.others.iter().map(|area| area.left + area.width).max().unwrap_or_default();
    let above = Area {
        left: seen.deny.left,
        top: seen.deny.top.saturating_sub(200 * scale),
        width: right.saturating_sub(seen.deny.left),
        height: 190 * scale,
    };
    let colours = seen.picture.colours(above);
    ensure!(colours >= CARD_COLOURS, "the prompt has {colours} colours above its buttons");
    Ok(())
}

fn click(person: &Person) -> Result<()> {
    let ended = person.place.home.outcomes()?.len();
    let _asked = person.raise(&["true", "click"])?;
    person.see_prompt()?;
    person.deny()?;
    expect(person, ended + 1, &Outcome::Denied)
}

fn allow(person: &Person) -> Result<()> {
    let ended = person.place.home.outcomes()?.len();
    let ran = person.place.home.work().join("ran");
    let asked = person.raise(&["touch", &ran.to_string_lossy()])?;
    person.see_prompt()?;
    person.allow_once()?;
    expect(person, ended + 1, &Outcome::AllowedOnce)?;
    asked.finish()?.expect_code(0)?;
    ensure!(ran.exists(), "what was allowed did not run");
    Ok(())
}

fn key(person: &Person) -> Result<()> {
    let ended = person.place.home.outcomes()?.len();
    let _asked = person.raise(&["true", "key"])?;
    person.deny_by_key()?;
    expect(person, ended + 1, &Outcome::Denied)
}

fn expect(person: &Person, count: usize, outcome: &Outcome) -> Result<()> {
    let outcomes = person.outcomes(count)?;
    ensure!(outcomes.last() == Some(outcome), "it ended as {:?}", outcomes.last());
    Ok(())
}

fn tray_state(person: &Person) -> Result<()> {
    let bus = person.place.bus()?.context("this desktop has no session bus")?;
    let idle = wait_for("the tray knows the icon", PATIENCE, || bus.item())?;
    let asked = person.raise(&["true", "tray"])?;
    let waiting = wait_for("the tray is told that one waits", PATIENCE, || {
        Ok(bus.item()?.filter(|item| item.label == "1" && item.icon != idle.icon))
    });
    drop(asked);
    waiting?;
    wait_for("the tray is told that none waits", PATIENCE, || {
        Ok(bus.item()?.filter(|item| item.label.is_empty()))
    })?;
    Ok(())
}

fn tray_icon(person: &Person, icon: Option<(Area, Picture)>) -> Result<()> {
    let (area, idle) = icon.context("no icon came up when the app started")?;
    let (width, height) = (area.width, area.height);
    ensure!(width <= ICON_SIZE && height <= ICON_SIZE, "what came up is {width} × {height} pixels");
    readable(&idle, area).context("while nothing waits")?;
    let changed = |picture: &Picture| picture.crop(area) != idle.crop(area);
    let asked = person.raise(&["true", "icon"])?;
    person.see_prompt()?;
    let waiting = wait_for("the icon shows that one waits", PATIENCE, || {
        Ok(Some(person.place.screen.picture()?).filter(changed))
    })?;
    readable(&waiting, area).context("while one waits")?;
    drop(asked);
    Ok(())
}

/// Fails when an icon is hardly told from the panel around it.
fn readable(picture: &Picture, icon: Area) -> Result<()> {
    let ground = picture.at(icon.left.saturating_sub(2), icon.top.saturating_sub(2));
    let told = picture.contrasting(icon, ground, ICON_CONTRAST);
    ensure!(told >= ICON_PIXELS, "only {told} of its pixels are told from the panel's {ground:?}");
    Ok(())
}

fn notification(person: &Person, buttons: Buttons) -> Result<()> {
    let ended = person.place.home.outcomes()?.len();
    let before = still(&person.place)?;
    let _asked = person.raise(&["true", "notified"])?;
    let (seen, _) = person.see_prompt()?;
    match buttons {
        Buttons::Command(words) => {
            let denied = || Ok((person.place.home.outcomes()?.len() > ended).then_some(()));
            wait_for("the notification's Deny answers", PATIENCE, || {
                let mut command = person.place.command(words[0]);
                Running::start(command.args(&words[1..]))?.finish()?;
                denied()
            })?;
        }
        Buttons::At(right, bottom) => {
            // One that slides in is not where it will be, and one that draws a clock is never still.
            let mut last: Option<(Area, Instant)> = None;
            let shown = wait_for("a notification comes up beside the prompt", PATIENCE, || {
                let beside = beside(&seen, &before);
                let now = person.place.screen.picture()?.crop(beside).difference(&before.crop(beside));
                match (now, last) {
                    (Some(now), Some((area, since))) if now == area => {
                        return Ok((since.elapsed() > STILL).then_some(Area {
                            left: area.left + beside.left,
                            top: area.top + beside.top,
                            ..area
                        }));
                    }
                    (now, _) => last = now.map(|area| (area, Instant::now())),
                }
                Ok(None)
            })?;
            let edge = (shown.left + shown.width, shown.top + shown.height);
            person.place.screen.click((edge.0.saturating_sub(right), edge.1.saturating_sub(bottom)))?;
        }
        Buttons::Banner => {
            let middle = person.place.screen.picture()?.area().middle().0;
            let deny = wait_for("the notification's buttons unfold", PATIENCE, || {
                person.place.screen.hover((middle, BANNER_TOP))?;
                let picture = person.place.screen.picture()?;
                let buttons = picture.blocks(BANNER_BUTTON, 200, 30);
                Ok(buttons.into_iter().find(|area| area.left >= middle && area.top < 200))
            })?;
            person.place.screen.click(deny.middle())?;
        }
        Buttons::None(why) => bail!(why),
    }
    expect(person, ended + 1, &Outcome::Denied)
}

/// What is right of the prompt, without the panels.
fn beside(seen: &Seen, picture: &Picture) -> Area {
    let Area { width, height, .. } = picture.area();
    let prompt = seen.others.iter().map(|area| area.left + area.width).max().unwrap_or_default();
    let left = (prompt + PROMPT_MARGIN).min(width - 1);
    Area { left, top: PANEL, width: width - left, height: height - 2 * PANEL }
}

fn doctor(person: &Person) -> Result<()> {
    let found: Value = person.countersign(&["doctor", "--json"])?.json()?;
    let found = found.as_array().context("doctor gave no list")?;
    let level = |check: &str| -> Result<String> {
        let finding = found.iter().find(|finding| finding["check"] == check);
        Ok(finding.with_context(|| format!("doctor says nothing about {check}"))?["level"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    };
    let kind = person.place.kind;
    let tray = if matches!(kind.tray(), Tray::Items | Tray::Stand(_)) { "ok" } else { "warning" };
    let notifications = if matches!(kind.buttons(), Buttons::None(_)) { "warning" } else { "ok" };
    for (check, expected) in
        [("app", "ok"), ("display", "ok"), ("tray", tray), ("notifications", notifications)]
    {
        let told = level(check)?;
        ensure!(told == expected, "doctor calls {check} {told:?}, and it is {expected:?}");
    }
    Ok(())
}

/// The highest panel that any of the desktops has, in pixels.
const PANEL: usize = 34;

/// From the prompt's last button to beyond its window, in pixels, with its frame and shadow.
const PROMPT_MARGIN: usize = 40;

/// GNOME Shell's notifications: a row of them, and the colour of a button that is not chosen.
const BANNER_TOP: usize = 60;
const BANNER_BUTTON: [u8; 3] = [0x52; 3];

/// Keys that are typed before an agent asks, and for how long after its prompt is on the screen.
const KEYS_BEFORE: usize = 10;
const KEYS_AFTER: Duration = Duration::from_millis(1500);

/// How long a screen does not change before it counts as still.
const STILL: Duration = Duration::from_millis(600);

/// What can be told apart: this far in one of red, green and blue, for so many pixels of an icon.
const ICON_CONTRAST: u8 = 90;
const ICON_PIXELS: usize = 12;

/// How long a tray may take for a new icon.
const ICON_WAIT: Duration = Duration::from_secs(30);

/// Larger than any icon on a panel, in pixels.
const ICON_SIZE: usize = 64;

/// A verdict for what went wrong.
fn broken(error: anyhow::Error) -> Verdict {
    Verdict::Broken(format!("{error:#}"))
}

/// Fewer than any card has: text is drawn in shades.
const CARD_COLOURS: usize = 24;
