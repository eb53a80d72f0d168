//! The same on Wayland: Weston, which the bench sees from outside, with its renderer in software.

use crate::figures::Figure;
use crate::memory;
use anyhow::{Context, Result, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_tests::desktops::kind::{Kind, Look};
use countersign_tests::desktops::person::Person;
use countersign_tests::desktops::place::Place;
use countersign_tests::home::Home;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::time::{Duration, Instant};

/// First prompts of fresh processes, prompts in the window kept warm, and what the app holds before and after
/// them. A look at the whole screen takes some milliseconds, which is the error of these times.
pub(crate) fn measure(count: usize) -> Result<Vec<Figure>> {
    let mut first = Vec::new();
    let (mut warm, mut resting, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for start in 0..FIRST {
        let home = Home::asking()?;
        home.write_settings(&json!({ "theme": "light", "notifications": false }))?;
        let person = Person::start(Place::start(Kind::Weston, Look::PLAIN, home)?)?;
        std::thread::sleep(SETTLE);
        resting.push(memory::settled(person.pid())?);
        first.push(prompt(&person)?);
        if start + 1 == FIRST {
            for _ in 0..count {
                warm.push(prompt(&person)?);
            }
            std::thread::sleep(SETTLE);
            kept.push(memory::settled(person.pid())?);
        }
    }
    Ok(vec![
        Figure::times("Weston: request to pixels, window kept warm", &warm, ""),
        Figure::times("Weston: request to pixels, first of a process", &first, ""),
        Figure::new("Weston: memory without a window, PSS", "MB", resting, ""),
        Figure::new("Weston: memory, prompt kept warm, PSS", "MB", kept, ""),
    ])
}

/// Raises a request, waits for its pixels, denies it, and waits until the window is gone again.
fn prompt(person: &Person) -> Result<Duration> {
    let home = &person.place.home;
    let request = json!({ "command": ["rm", "-rf", "./build"], "cwd": home.work() });
    let started = Instant::now();
    let waiting = Wire::exec(home, &request)?;
    let painted = loop {
        let picture = person.place.screen.picture()?;
        if picture.count(picture.area(), DENY_FILL) >= MIN_DARK {
            break started.elapsed();
        }
        ensure!(started.elapsed() < LIMIT, "no prompt on the screen\n{}", person.log());
    };
    home.control(&ControlRequest::Deny { id: None })?.context("the app is gone")?;
    waiting.answer()?;
    person.see_nothing()?;
    Ok(painted)
}

/// Fill of the Deny button in the light theme.
const DENY_FILL: [u8; 3] = [0x1f, 0x27, 0x32];

/// Most pixels of the button, which nothing else on that desktop has the colour of.
const MIN_DARK: usize = 2_000;

/// Fresh processes, each on a desktop of its own.
const FIRST: usize = 5;

/// What was just started or hidden gives some memory back within seconds.
const SETTLE: Duration = Duration::from_secs(5);

const LIMIT: Duration = Duration::from_secs(20);
