//! Which of its states the tray icon shows. Each has a shape of its own; colour only says that
//! something is wrong.

use super::panel::Panel;
use countersign_companion::desk::Pause;
use countersign_protocol::meaning::Standing;
use countersign_protocol::state::{RecordingState, SocketState, StoreState};
use countersign_protocol::ui::{GatewayView, LinkState, Status};

/// A state of the icon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sign {
    /// Something is wrong that the person should know of now.
    Alarm,
    /// A gateway that should be connected is not.
    Disconnected,
    /// Nothing waits.
    Idle,
    /// Prompts do not open by themselves.
    Paused,
    /// So many requests wait.
    Waiting(usize),
}

/// What the icon tells of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Situation {
    pub(super) waiting: usize,
    pub(super) pause: Pause,
    pub(super) links: Links,
    pub(super) alarm: Alarm,
}

/// Whether every gateway is there that should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Links {
    Fine,
    Lost,
}

/// Whether something is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Alarm {
    /// The approvals document cannot be read.
    Document,
    /// Nothing can be recorded, or the machine has too little of something.
    Machine,
    /// Nothing is.
    Silent,
    /// Nobody can ask over the approval socket.
    Socket,
    /// Anything runs unasked, or prompts cannot be shown.
    Standing,
}

/// The state to show, the gravest first. What waits while prompts are paused is told by the number
/// beside the icon.
pub(super) fn sign(situation: Situation) -> Sign {
    match situation {
        Situation { alarm: Alarm::Document | Alarm::Machine | Alarm::Socket | Alarm::Standing, .. } => {
            Sign::Alarm
        }
        Situation { pause: Pause::Paused, .. } => Sign::Paused,
        Situation { waiting: waiting @ 1.., .. } => Sign::Waiting(waiting),
        Situation { links: Links::Lost, .. } => Sign::Disconnected,
        Situation { waiting: 0, pause: Pause::Prompting, links: Links::Fine, alarm: Alarm::Silent } => {
            Sign::Idle
        }
    }
}

/// Whether gateways are missing now. One that is tried again is as missing as it was before: otherwise the
/// icon would change with every attempt.
pub(super) fn links(gateways: &[GatewayView], before: Links) -> Links {
    let any = |wanted: fn(&LinkState) -> bool| gateways.iter().any(|gateway| wanted(&gateway.state));
    if any(|state| matches!(state, LinkState::Waiting { .. } | LinkState::Stopped { .. })) {
        Links::Lost
    } else if any(|state| matches!(state, LinkState::Connecting)) {
        before
    } else {
        Links::Fine
    }
}

/// Whether what works at the moment is cause for an alarm.
pub(super) fn alarm(status: &Status, standing: &Standing) -> Alarm {
    if matches!(status.store, StoreState::Unreadable { .. }) {
        Alarm::Document
    } else if matches!(status.socket, SocketState::Retrying { .. }) {
        Alarm::Socket
    } else if matches!(status.recording, RecordingState::Fails { .. }) || !status.shortages.is_empty() {
        Alarm::Machine
    } else {
        match standing {
            Standing::RunsUnasked { .. } | Standing::CannotShow { .. } => Alarm::Standing,
            Standing::Asking | Standing::Paused { .. } => Alarm::Silent,
        }
    }
}

/// The picture of a state for a panel, as PNG.
pub(super) fn picture(sign: Sign, panel: Panel) -> &'static [u8] {
    macro_rules! pictures {
        ($name:literal) => {
            match panel {
                Panel::Dark => include_bytes!(concat!("../../../icons/tray/dark/", $name, ".png")).as_slice(),
                Panel::Light => include_bytes!(concat!("../../../icons/tray/light/", $name, ".png")),
            }
        };
    }
    match sign {
        Sign::Alarm => pictures!("alarm"),
        Sign::Disconnected => pictures!("disconnected"),
        Sign::Idle | Sign::Waiting(0) => pictures!("idle"),
        Sign::Paused => pictures!("paused"),
        Sign::Waiting(1) => pictures!("waiting-1"),
        Sign::Waiting(2) => pictures!("waiting-2"),
        Sign::Waiting(3) => pictures!("waiting-3"),
        Sign::Waiting(4) => pictures!("waiting-4"),
        Sign::Waiting(5) => pictures!("waiting-5"),
        Sign::Waiting(6) => pictures!("waiting-6"),
        Sign::Waiting(7) => pictures!("waiting-7"),
        Sign::Waiting(8) => pictures!("waiting-8"),
        Sign::Waiting(9) => pictures!("waiting-9"),
        Sign::Waiting(_) => pictures!("waiting-many"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;
    use tauri::image::Image;

    const SIGNS: [Sign; 7] = [
        Sign::Alarm,
        Sign::Disconnected,
        Sign::Idle,
        Sign::Paused,
        Sign::Waiting(1),
        Sign::Waiting(8),
        Sign::Waiting(10),
    ];

    #[test]
    fn the_gravest_state_is_shown() {
        let calm =
            Situation { waiting: 0, pause: Pause::Prompting, links: Links::Fine, alarm: Alarm::Silent };
        let lost = Situation { links: Links::Lost, ..calm };
        let waits = Situation { waiting: 3, ..lost };
        let paused = Situation { pause: Pause::Paused, ..waits };
        let alarmed = Situation { alarm: Alarm::Socket, ..paused };
        let shown = [calm, lost, waits, paused, alarmed].map(sign);
        assert_eq!(shown, [Sign::Idle, Sign::Disconnected, Sign::Waiting(3), Sign::Paused, Sign::Alarm]);
    }

    #[test]
    fn a_machine_that_keeps_the_app_from_its_work_is_an_alarm() {
        let status = |recording: serde_json::Value, shortages: serde_json::Value| {
            let status = json!({
                "version": "1", "store": { "kind": "ready" }, "storePath": "", "socket": { "kind": "listening" },
                "socketPath": "", "tray": "present", "notifications": "present", "display": { "kind": "ok" },
                "recording": recording, "shortages": shortages, "standing": { "kind": "asking" }, "paused": false,
            });
            serde_json::from_value::<Status>(status).expect("a status")
        };
        let alarm = |recording, shortages| alarm(&status(recording, shortages), &Standing::Asking);
        let works = || json!({ "kind": "works" });
        let fails = json!({ "kind": "fails", "sinceMs": 1, "cause": "full", "text": "write: No space left" });
        assert_eq!(alarm(works(), json!([])), Alarm::Silent);
        assert_eq!(alarm(json!({ "kind": "slow" }), json!([])), Alarm::Silent);
        assert_eq!(alarm(fails, json!([])), Alarm::Machine);
        assert_eq!(alarm(works(), json!(["processes"])), Alarm::Machine);
    }

    #[test]
    fn a_gateway_that_is_tried_again_is_as_missing_as_before() {
        let gateway = |state: serde_json::Value| {
            let view = json!({
                "id": "one", "name": { "spans": [] }, "url": "ws://127.0.0.1:1", "enabled": true, "seesAgents": false, "runsOnNodes": false,
                "secretKind": "token", "secret": "none", "state": state, "pending": 0,
            });
            serde_json::from_value::<GatewayView>(view).expect("a gateway")
        };
        let off = || gateway(json!({ "kind": "off" }));
        let connecting = || gateway(json!({ "kind": "connecting" }));
        let stopped = || gateway(json!({ "kind": "stopped", "problem": { "kind": "timed-out" } }));
        for before in [Links::Fine, Links::Lost] {
            assert_eq!(links(&[], before), Links::Fine);
            assert_eq!(links(&[off()], before), Links::Fine);
            assert_eq!(links(&[off(), connecting()], before), before);
            assert_eq!(links(&[connecting(), stopped()], before), Links::Lost);
        }
    }

    /// Of all pixels, how many stand out against a grey panel by 3 to 1, in percent.
    fn standing_out(picture: &[u8], panel: u8) -> usize {
        let image = Image::from_bytes(picture).expect("a picture");
        let pixels = image.rgba().chunks(4);
        let count = pixels.len();
        let back = luminance([panel; 3]);
        let stands_out = pixels.filter(|pixel| {
            let alpha = f64::from(pixel[3]) / 255.0;
            let over = |c: u8| (f64::from(c) * alpha + f64::from(panel) * (1.0 - alpha)).round() as u8;
            let front = luminance([over(pixel[0]), over(pixel[1]), over(pixel[2])]);
            (front.max(back) + 0.05) / (front.min(back) + 0.05) >= 3.0
        });
        100 * stands_out.count() / count
    }

    /// Relative luminance as WCAG defines it.
    fn luminance(rgb: [u8; 3]) -> f64 {
        let linear = rgb.map(|c| match f64::from(c) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn every_state_is_seen_on_a_panel_of_any_brightness_also_with_the_wrong_picture() {
        for sign in SIGNS {
            for panel in [Panel::Dark, Panel::Light] {
                for brightness in (0..=255).step_by(15) {
                    let seen = standing_out(picture(sign, panel), brightness);
                    assert!(seen >= 10, "{sign:?} for {panel:?} on {brightness}: {seen} %");
                }
            }
        }
    }

    #[test]
    fn every_state_has_a_shape_of_its_own() {
        for panel in [Panel::Dark, Panel::Light] {
            let shapes: BTreeSet<Vec<bool>> = SIGNS
                .iter()
                .map(|sign| {
                    let image = Image::from_bytes(picture(*sign, panel)).expect("a picture");
                    image.rgba().chunks(4).map(|pixel| pixel[0] > 128 && pixel[3] > 128).collect()
                })
                .collect();
            assert_eq!(shapes.len(), SIGNS.len(), "{panel:?}");
        }
    }
}
