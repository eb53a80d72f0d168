//! The release's own policy, on the pages of the app.

use crate::Story;
use crate::companion::GATEWAY;
use crate::rig::Rig;
use anyhow::ensure;
use countersign_protocol::history::HistoryEvent;
use countersign_tests::app::Window;
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::json;

pub(crate) fn a_policy_that_is_changed_in_the_window_is_the_gateways_and_what_loosens_is_confirmed(
    rig: &mut Rig,
) -> Story {
    rig.forget_policy()?;
    let companion = rig.companion()?;
    let app = &companion.app;
    app.click(Window::Main, "nav-policy")?;
    app.choose(Window::Main, "store", GATEWAY)?;
    app.wait_for_element(Window::Main, "[data-testid=\"store-decides\"][data-reach=\"gateway-host\"]")?;
    for (word, loosens) in [("deny", false), ("full", true)] {
        let value = format!("[data-testid=\"switch-security\"] label:has(input[value=\"{word}\"]:enabled)");
        app.wait_for_element(Window::Main, &value)?;
        app.browser()?.click(&value)?;
        app.click(Window::Main, "draft-apply")?;
        if loosens {
            app.wait_for_element(Window::Main, "[data-testid=\"loosening\"]")?;
            app.click_armed(Window::Main, "loosen-apply")?;
        }
        wait_for("the gateway has the policy", PATIENCE, || {
            let stored = rig.owner.call("exec.approvals.get", json!({}))?;
            Ok((stored["file"]["defaults"]["security"] == word).then_some(()))
        })?;
        app.wait_for_element(Window::Main, "[data-testid=\"applied\"]")?;
    }
    let changes = app.home.history()?.into_iter().filter_map(|entry| match entry.event {
        HistoryEvent::Document { store: Some(store), loosenings, .. } => Some((store, loosenings.is_empty())),
        _ => None,
    });
    let changes: Vec<_> = changes.collect();
    ensure!(
        changes == [(GATEWAY.to_owned(), true), (GATEWAY.to_owned(), false)],
        "the history says {changes:?}"
    );
    app.choose(Window::Main, "store", "This machine")?;
    // Where the other stories look.
    app.click(Window::Main, "nav-connections")?;
    rig.forget_policy()
}
