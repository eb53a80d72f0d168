//! A sample request and the first steps, with everything running.

use crate::testing::paths;
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_core::paths::Paths;
use countersign_protocol::question::{Outcome, Via};
use countersign_protocol::rule_edits::{PresetSwitch, RuleEdit, RuleEditParams};
use countersign_protocol::ui::{AgentChange, AgentPreviewParams, Card, ErrorCode, FirstSteps, SampleRun};
use pretty_assertions::assert_eq;
use std::time::Duration;
use tempfile::TempDir;

struct Rig {
    _home: TempDir,
    _presenter: PresenterGuard,
    paths: Paths,
    companion: Companion,
}

impl Rig {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let (companion, presenter) = Companion::start(&paths).unwrap();
        Self { _home: home, _presenter: presenter, paths, companion }
    }

    async fn card(&self) -> Card {
        loop {
            if let Some(card) = self.companion.desk().snapshot().await.cards.pop() {
                return card;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_asked_about_whatever_rules_allow_and_taken_back_with_whoever_wanted_it() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    let everyday = RuleEdit::SwitchPreset { name: "everyday".to_owned(), to: PresetSwitch::On };
    let base_hash = desk.rules().await.hash;
    let on = RuleEditParams { base_hash, edits: vec![everyday], confirmed: true };
    assert!(desk.edit_rules(on).await.unwrap().applied);

    let (sample, card) = tokio::join!(desk.try_sample(), async {
        let card = rig.card().await;
        assert!(desk.deny(&card.id.as_str().into(), "window").await);
        card
    });
    assert_eq!(sample, SampleRun::NotRun { outcome: Outcome::Denied });
    assert_eq!((card.via, card.command.copy.as_str()), (Via::CommandLine, "uname -a"));

    tokio::select! {
        sample = desk.try_sample() => panic!("{sample:?}"),
        _ = rig.card() => {}
    }
    while !desk.snapshot().await.cards.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_steps_are_due_until_they_are_over() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    assert_eq!(desk.snapshot().await.first_steps, FirstSteps::Due);
    desk.end_first_steps().await.unwrap();
    assert_eq!(desk.snapshot().await.first_steps, FirstSteps::Over);
    assert!(rig.paths.first_steps().is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_shown_is_not_written() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    assert_eq!(desk.agents().await.unwrap().agents[0].name, "claude-code");
    assert_eq!(desk.write_agent("made up".to_owned()).await.unwrap_err().code, ErrorCode::Stale);
    let params = AgentPreviewParams { agent: "nobody".to_owned(), change: AgentChange::TakeBack };
    assert_eq!(desk.preview_agent(params).await.unwrap_err().code, ErrorCode::Invalid);
}
