//! Windows whose pages end: whether they are made again, and what holds while nothing can be shown.
//!
//! WebKit draws each page in a process of its own, and that process can end. A window then comes back with
//! what it showed, for an agent waits for the answer. One that keeps ending would only look as if somebody
//! were asked: after [`MAX_ENDS`] within [`ENDS_WITHIN_MS`] nobody is, what waits ends as not shown, the
//! fallback decides, and everybody is told. Later it is tried again.

use super::Desk;
use countersign_approvals::actor::PresenterGuard;
use countersign_node::{descriptors, shortage};
use countersign_protocol::history::{HistoryEvent, WindowKind};
use countersign_protocol::state::PageEnd;
use countersign_protocol::ui::DisplayState;
use std::collections::VecDeque;
use std::time::Duration;

/// What is to become of a window whose page ended.
#[must_use]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Again {
    /// It is made again with what it showed.
    Make,
    /// It goes.
    Close,
}

/// What the desk knows of its windows' pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    main: Ends,
    prompt: Ends,
    /// Kept while prompts can be shown.
    presenter: Option<PresenterGuard>,
}

/// When pages of one window ended, Unix milliseconds, oldest first. Bounded.
#[derive(Debug, Default)]
struct Ends(VecDeque<i64>);

impl Ends {
    fn ended(&mut self, now_ms: i64) -> Again {
        self.0.retain(|at_ms| now_ms.saturating_sub(*at_ms) < ENDS_WITHIN_MS);
        if self.0.len() == MAX_ENDS {
            self.0.clear();
            return Again::Close;
        }
        self.0.push_back(now_ms);
        Again::Make
    }
}

impl Desk {
    /// The windows are there. The desk keeps their guard for as long as what they show can be seen.
    pub fn keep_presenter(&self, presenter: PresenterGuard) {
        self.live().pages.presenter = Some(presenter);
    }

    /// Whether prompts can be seen, as far as is known.
    pub fn can_show(&self) -> bool {
        self.live().display == DisplayState::Ok
    }

    /// Whether a window can be made now. WebKit ends the whole process when it cannot open what a page needs,
    /// so without files none is made; what waits is shown when the shortage is over.
    pub fn has_files_for_window(&self) -> bool {
        shortage::has_files(WINDOW_FILES)
    }

    /// The page of a window ended. Writes it down; when that was once too often for the prompt, ends what
    /// waits here as not shown and lets nobody be asked for [`TRY_AGAIN_AFTER`]. Must run to its end.
    pub async fn page_ended(&self, window: WindowKind, end: PageEnd) -> Again {
        let now_ms = self.now_ms();
        let again = {
            let pages = &mut self.live().pages;
            match window {
                WindowKind::Main => pages.main.ended(now_ms),
                WindowKind::Prompt => pages.prompt.ended(now_ms),
            }
        };
        tracing::error!(?window, ?end, ?again, "the page of a window ended");
        if window == WindowKind::Prompt && again == Again::Close {
            self.nobody_sees(end).await;
        }
        let event = HistoryEvent::Page { window, end, again: again == Again::Make };
        if let Err(error) = self.inner.parts.history.append(None, event).await {
            tracing::error!(%error, "the end of a page could not be written to the history");
        }
        again
    }

    async fn nobody_sees(&self, end: PageEnd) {
        drop(self.live().pages.presenter.take());
        self.set_display(DisplayState::Failed { end });
        let ended = self.inner.parts.approvals.nobody_sees().await;
        tracing::error!(ended, "prompts cannot be shown; the fallback decides");
        let desk = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
            desk.keep_presenter(desk.inner.parts.approvals.presenter());
            desk.set_display(DisplayState::Ok);
        });
    }
}

/// Keeps from callers what windows need, see [`Desk::has_files_for_window`]. Belongs before
/// anybody is served.
pub fn keep_files_for_windows() {
    descriptors::keep(KEPT_FILES);
}

/// Four times what WebKit opens in this process for the first window.
const WINDOW_FILES: u64 = 64;

/// What callers leave, so that windows find [`WINDOW_FILES`] also when something else than
/// callers opens files.
pub const KEPT_FILES: u64 = 2 * WINDOW_FILES;

/// How often a window is made again within [`ENDS_WITHIN_MS`].
const MAX_ENDS: usize = 3;

/// Milliseconds.
const ENDS_WITHIN_MS: i64 = 60_000;

/// How long nobody is asked after prompts could not be shown.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_made_again_three_times_a_minute_and_again_in_the_next() {
        let mut ends = Ends::default();
        let made: Vec<Again> = [0, 1_000, 59_000, 59_500, 59_600].map(|at_ms| ends.ended(at_ms)).into();
        assert_eq!(made, [Again::Make, Again::Make, Again::Make, Again::Close, Again::Make]);
        let mut ends = Ends::default();
        for at_ms in (0..20).map(|step| step * 20_000) {
            assert_eq!(ends.ended(at_ms), Again::Make, "{at_ms}");
        }
    }
}
