//! What this machine itself asks at another gateway: the way there, who answered, and how such requests are
//! known again so that nothing is handed on in circles.

use super::Connections;
use countersign_approvals::ports::Ports;
use countersign_gateway::client::{Live, Notice};
use countersign_gateway::identity::Identity;
use countersign_protocol::gateway::approval::Resolved;
use countersign_protocol::vocabulary::Decision;
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::task::TaskTracker;

/// How the id of every request begins that a Countersign handed on. Whoever sees it does not
/// hand it on again.
const MARK: &str = "countersign-fwd.";

/// Digits of a device's id that tell whose it was: nobody meets two devices that share them.
const DEVICE_DIGITS: usize = 16;

/// Whether a request was handed on by somebody before it came here.
pub(crate) fn is_handed_on(id: &str) -> bool {
    id.starts_with(MARK)
}

/// A fresh id for a request that was handed on to here.
pub(super) fn marked(ports: &Ports) -> String {
    format!("{MARK}{}", ports.ids.uuid())
}

/// How ids begin that this device raises.
pub(super) fn mark_of(identity: &Identity) -> String {
    let device: String = identity.device_id().as_str().chars().take(DEVICE_DIGITS).collect();
    format!("{MARK}{device}.")
}

/// The way to one gateway. Clones are the same one; it is over when the person changes the gateway.
#[derive(Clone, Debug)]
pub(crate) struct Onward {
    live: watch::Receiver<Option<Live>>,
    answers: broadcast::Sender<Answered>,
    mark: String,
}

/// Somebody answered one of ours there.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    /// The id that it has there.
    pub(crate) id: String,
    pub(crate) decision: Option<Decision>,
    /// In their own words: no proof of anything.
    pub(crate) by: Option<String>,
}

impl Onward {
    /// The connection of this moment.
    pub(crate) fn live(&self) -> Option<Live> {
        self.live.borrow().clone()
    }

    /// Follows answers to what this device raised.
    pub(crate) fn answers(&self) -> broadcast::Receiver<Answered> {
        self.answers.subscribe()
    }

    /// A fresh id for a request that is raised there.
    pub(crate) fn fresh_id(&self, ports: &Ports) -> String {
        format!("{}{}", self.mark, ports.ids.uuid())
    }
}

impl Connections {
    /// The way to a gateway; `None` when there is none of this id, or it is turned off. Whenever it opens or
    /// closes [`Connections::changes`] tells.
    pub(crate) fn onward(&self, id: &str) -> Option<Onward> {
        self.list.running(id, |running| running.onward.clone())
    }

    /// The person's name for a gateway; `None` when there is none of this id.
    pub(crate) fn name_of(&self, id: &str) -> Option<String> {
        self.list.all().into_iter().find(|gateway| gateway.id == id).map(|gateway| gateway.name)
    }
}

/// Looks at every notice on its way to the operator.
pub(super) fn tap(
    mut notices: mpsc::Receiver<Notice>,
    mark: String,
    tracker: &TaskTracker,
) -> (mpsc::Receiver<Notice>, Onward) {
    let (pass, passed) = mpsc::channel(PASSING);
    let (sender, live) = watch::channel(None);
    let onward = Onward { live, answers: broadcast::channel(ANSWERS).0, mark };
    let (answers, mark) = (onward.answers.clone(), onward.mark.clone());
    tracker.spawn(async move {
        while let Some(notice) = notices.recv().await {
            match &notice {
                // Before the operator tells of it: whoever hears of the connection finds it.
                Notice::Opened(opened) => {
                    sender.send_replace(Some(opened.clone()));
                }
                Notice::Lost { .. } => {
                    sender.send_replace(None);
                }
                Notice::Event(event) if event.event == RESOLVED => {
                    let payload = event.payload.clone().unwrap_or_default();
                    let resolved = serde_json::from_value::<Resolved>(payload).ok();
                    if let Some(Resolved { id, decision, resolved_by: by, .. }) =
                        resolved.filter(|resolved| resolved.id.starts_with(&mark))
                    {
                        // Nobody waits for most of them.
                        let _ = answers.send(Answered { id, decision, by });
                    }
                }
                Notice::Connecting | Notice::Event(_) | Notice::Gap | Notice::Narrow { .. } => {}
            }
            if pass.send(notice).await.is_err() {
                return;
            }
        }
    });
    (passed, onward)
}

const RESOLVED: &str = "exec.approval.resolved";

/// Notices on their way: the link keeps those that wait.
const PASSING: usize = 1;

/// Answers that a slow listener may be behind; it hears of the decision by its call too.
const ANSWERS: usize = 256;
