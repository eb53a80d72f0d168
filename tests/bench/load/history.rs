//! A history of up to a million lines: the start of the app, pages, the check, and what it takes on the disk.

use super::Curves;
use super::doors::Rig;
use super::usage::Usage;
use crate::figures::{at, sorted};
use anyhow::{Context, Result, ensure};
use countersign_approvals::history::{self, History, MAX_PAGE, Places};
use countersign_approvals::ports::{Clock, Ports};
use countersign_protocol::history::{HistoryEvent, RunView};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_tests::home::Home;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) fn measure(curves: &mut Curves) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut home = Home::asking()?;
    let places =
        Places { lines: home.state().join("history"), head: home.state().join("record/history.head") };
    let mut written = 0;
    for lines in LINES {
        super::say(&format!("a history of {lines} lines"))?;
        let began = Instant::now();
        runtime.block_on(write(&places, written, lines))?;
        let each = began.elapsed().as_secs_f64() * 1e6 / (lines - written) as f64;
        written = lines;
        let mut here = curves.at("lines written", lines);
        here.add("history: writing a line", "µs", each, "");
        here.add("history: size", "MB", size(&home)?, "≤ 336");
        for (name, before) in [("first page", None), ("page in the middle", Some(lines as u64 * 3 / 4))] {
            let mut samples = Vec::new();
            for _ in 0..PAGES {
                let began = Instant::now();
                let page = history::page(&places.lines, before, MAX_PAGE)?;
                samples.push(began.elapsed().as_secs_f64() * 1e3);
                ensure!(!page.entries.is_empty(), "the page is empty");
            }
            here.add(
                format!("history: {name} of 500"),
                "ms",
                at(&sorted(samples), 0.5),
                "≤ 150 at 1 000 000",
            );
        }
        let began = Instant::now();
        let checked = super::told(&home, &["history", "verify"])?;
        let seconds = began.elapsed().as_secs_f64();
        let kept = checked["lines"].as_f64().context("expected a number of lines")?;
        here.add("history: lines that are kept", "lines", kept, "");
        here.add("history: `history verify`", "s", seconds, "");
        let mut starts = Vec::new();
        let mut megabytes = 0.0;
        for _ in 0..STARTS {
            let began = Instant::now();
            let rig = Rig::start_in(home)?;
            starts.push(began.elapsed().as_secs_f64() * 1e3);
            megabytes = Usage::of(rig.app.pid())?.megabytes;
            home = rig.end()?;
        }
        here.add("history: start to answering sockets", "ms", at(&sorted(starts), 0.5), "≤ 400 at 1 000 000");
        here.add("history: memory of the app then, PSS", "MB", megabytes, "");
    }
    Ok(())
}

/// Has the writer itself append, at a pace that leaves nothing out.
async fn write(places: &Places, from: usize, to: usize) -> Result<()> {
    let now_ms = Ports::system().clock.now_ms();
    let clock = Arc::new(Hand(AtomicI64::new(now_ms - (LINES[LINES.len() - 1] - from) as i64 * LINE_MS)));
    let ports = Ports { clock: clock.clone(), ..Ports::system() };
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let history = History::open(places.clone(), ports.clone(), &tracker, stop.clone())?;
    for at in (from..to).step_by(2) {
        let id = Some(ports.ids.uuid().into());
        clock.0.fetch_add(2 * LINE_MS, Ordering::Relaxed);
        history.append(id.clone(), request(at)).await?;
        let run = RunView {
            exit_code: Some(0),
            timed_out: false,
            duration_ms: 12,
            error: None,
            output_tail: "ok".to_owned(),
            reached: Vec::new(),
            within: None,
            unwritten: None,
        };
        history.append(id, HistoryEvent::Run { run }).await?;
    }
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    Ok(())
}

/// Every other one by rule, so that both chains grow.
fn request(at: usize) -> HistoryEvent {
    let (outcome, by) = if (at / 2).is_multiple_of(2) {
        (Outcome::AllowedByRule, None)
    } else {
        (Outcome::AllowedOnce, Some("window".to_owned()))
    };
    HistoryEvent::Request {
        agent: "main".to_owned(),
        session: None,
        via: Via::Socket,
        card: QuestionKind::Exec,
        host: None,
        command: format!("cargo test -p part-{}", at % 97),
        command_sha256: format!("{at:064x}"),
        cwd: Some("/srv/work".to_owned()),
        outcome,
        by,
        answered_after_ms: None,
    }
}

/// A clock that is set by hand.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn steady_ms(&self) -> i64 {
        self.now_ms()
    }
}

/// MB of 10^6 bytes.
fn size(home: &Home) -> Result<f64> {
    let mut bytes = 0;
    for entry in fs::read_dir(home.state().join("history"))? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64 / 1e6)
}

const LINES: [usize; 4] = [125_000, 250_000, 500_000, 1_000_000];

/// Between two lines, in milliseconds: an agent's share of an hour is some thousand lines.
const LINE_MS: i64 = 1_000;

const PAGES: usize = 20;

const STARTS: usize = 5;
