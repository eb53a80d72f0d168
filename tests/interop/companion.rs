//! The real app, connected to the gateway of the release as a person's operator.

use crate::rig::{HEARING_LIMIT, Task};
use anyhow::{Context, Result, anyhow, ensure};
use countersign_gateway::identity::{Identity, SEED_BYTES};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::question::Outcome;
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::Card;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::{Home, Rights};
use countersign_tests::process::{PATIENCE, wait_for};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// Whether the person turned on that the app sees what agents raise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Agents {
    Seen,
    NotSeen,
}

/// The app in a home of its own, with one gateway.
pub(crate) struct Companion {
    pub(crate) app: App,
    /// The app's id for the gateway.
    id: String,
}

/// The card of the gateway on the page about connections.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Connection {
    /// `connecting`, `connected`, `waiting`, `stopped`.
    pub(crate) state: String,
    /// What is wrong or missing, by kind.
    pub(crate) remedies: Vec<String>,
    /// What the person is told to type.
    pub(crate) commands: Vec<String>,
}

impl Connection {
    pub(crate) fn is_connected(&self) -> bool {
        self.state == "connected"
    }

    pub(crate) fn has(&self, remedy: &str) -> bool {
        self.remedies.iter().any(|kind| kind == remedy)
    }
}

impl Companion {
    /// Starts the app with this gateway in its configuration, and opens the page about connections.
    pub(crate) fn start(url: &str, token: &str, agents: Agents) -> Result<Self> {
        let home = Home::asking()?;
        let rights = match agents {
            Agents::Seen => Rights::All,
            Agents::NotSeen => Rights::Least,
        };
        let id = home.connect_to(GATEWAY, url, token, rights)?;
        // Its own gateway has one port for all apps of this machine.
        home.write_settings(&json!({ "gateway": { "enabled": false } }))?;
        let app = App::start(home, Shell::Full)?;
        app.start_again(&[])?;
        app.wait_for_element(Window::Main, "body[data-ready=\"true\"]")?;
        app.click(Window::Main, "nav-connections")?;
        app.wait_for_element(Window::Main, "body[data-page=\"connections\"]")?;
        Ok(Self { app, id })
    }

    /// Waits until the page says so about the gateway.
    pub(crate) fn wait_for_connection(
        &self,
        what: &str,
        wanted: impl Fn(&Connection) -> bool,
    ) -> Result<Connection> {
        let mut last = Connection::default();
        self.app.window(Window::Main)?;
        let found = wait_for(what, CONNECTION_LIMIT, || {
            let found: Option<Connection> = self.app.browser()?.run(CONNECTION_NOW, json!([]))?;
            last = found.context("the page has no card of a gateway")?;
            Ok(wanted(&last).then(|| last.clone()))
        });
        found.with_context(|| format!("the connection was {last:?}\n{}", self.app.log()))
    }

    /// Changes what is stored about the gateway, as its form does.
    pub(crate) fn edit(&self, url: &str, agents: Agents, secret: Value) -> Result<()> {
        let edit = json!({
            "id": self.id, "name": GATEWAY, "url": url, "enabled": true, "seesAgents": agents == Agents::Seen,
            "secretKind": "token", "secret": secret,
        });
        let saved = self.app.invoke(Window::Main, "save_gateway", json!({ "edit": edit }))?;
        saved.map(|_| ()).map_err(|error| anyhow!("the app did not take {edit}: {error}"))
    }

    /// Has the app believe that the token which the gateway gave it is good for these scopes alone, or
    /// gives it another one.
    pub(crate) fn narrow_token(&self, scopes: &[&str], token: Option<&Value>) -> Result<()> {
        let file = self.app.home.state().join("gateways").join(format!("{}.device", self.id));
        let kept = fs::read(&file).context("the gateway gave the app no token of its own")?;
        let mut kept: Value = serde_json::from_slice(&kept)?;
        kept["scopes"] = json!(scopes);
        if let Some(token) = token {
            kept["token"] = token.clone();
        }
        self.app.home.write_private(&file, kept.to_string().as_bytes())
    }

    /// The app's id as a device.
    pub(crate) fn device_id(&self) -> Result<String> {
        let text = fs::read_to_string(self.app.home.state().join("gateways/device.key"))?;
        let byte =
            |at: usize| u8::from_str_radix(text.get(at..at + 2).context("a short key")?, 16).context("a key");
        let mut seed = [0; SEED_BYTES];
        for (at, slot) in seed.iter_mut().enumerate() {
            *slot = byte(2 * at)?;
        }
        Ok(Identity::from_seed(&seed).device_id().into())
    }

    /// Presses "Try again", as an impatient person does, unless the app was faster.
    pub(crate) fn retry(&self) -> Result<()> {
        self.app.window(Window::Main)?.click("[data-testid=\"gateway-retry\"]").map(|_| ())
    }

    /// Waits until a task's request waits in the app, and returns its id there.
    pub(crate) fn wait_for_request(&self, task: &Task) -> Result<String> {
        let waiting = wait_for("the app asks about the task", HEARING_LIMIT, || {
            Ok(self.request(task)?.map(|card| card.id))
        });
        waiting.with_context(|| self.app.log())
    }

    /// The request of a task, while it waits in the app.
    pub(crate) fn request(&self, task: &Task) -> Result<Option<Card>> {
        let cards = self.app.home.pending()?.0;
        Ok(cards
            .into_iter()
            .find(|card| card.session.as_ref().is_some_and(|session| text(session) == task.session)))
    }

    /// Waits until the prompt shows a request.
    pub(crate) fn wait_for_prompt(&self, id: &str) -> Result<()> {
        let shown = self.app.wait_for_prompt("the prompt shows the request", |prompt| {
            prompt.state == "card" && prompt.painted && prompt.card.as_deref() == Some(id)
        });
        shown.map(|_| ()).with_context(|| self.app.log())
    }

    /// Waits until the history says how the last request ended.
    pub(crate) fn expect_outcome(&self, expected: &Outcome) -> Result<()> {
        let mut last = None;
        let found = wait_for("the history says how it ended", PATIENCE, || {
            last = self.app.home.outcomes()?.pop();
            Ok((last.as_ref() == Some(expected)).then_some(()))
        });
        found.with_context(|| format!("expected {expected:?}, the last outcome is {last:?}"))
    }

    /// Denies what a story that failed has left behind.
    pub(crate) fn deny_what_waits(&self) -> Result<()> {
        self.app.home.control(&ControlRequest::Deny { id: None })?;
        self.app.wait_for_pending(0)
    }

    /// Fails when anything waits in the app.
    pub(crate) fn expect_nothing_waits(&self) -> Result<()> {
        let pending = self.app.pending_ids()?;
        ensure!(pending.is_empty(), "expected that nothing waits, got {pending:?}");
        Ok(())
    }
}

fn text(shown: &Shown) -> String {
    shown.spans.iter().map(|span| span.text.as_str()).collect()
}

/// The person's name for the gateway.
pub(crate) const GATEWAY: &str = "the story's gateway";

const CONNECTION_NOW: &str = r#"
    const card = document.querySelector('[data-testid="gateway"]');
    const all = (id) => [...card.querySelectorAll(`[data-testid="${id}"]`)];
    return card && {
      state: card.dataset.state,
      remedies: all('remedy').map((remedy) => remedy.dataset.kind),
      commands: all('remedy-command').map((command) => command.textContent),
    };
"#;

/// Longest way of a connection to another state: waits between two tries grow to 30 s, and a
/// release starts slowly.
const CONNECTION_LIMIT: Duration = Duration::from_secs(120);
