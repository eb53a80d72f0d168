//! What holds of an agent's settings that something of ours is put into, whatever is in them.
//! For `tests/fuzz`.

use crate::entry;
use crate::json::hooks::Hooks;
use crate::json::members::Place;
use crate::json::{self, Comments};
use crate::known::AGENTS;
use crate::table::{Agent, Event, Hook, Mcp, SERVER, Syntax};
use crate::toml;
use serde_json::{Value, json};
use std::time::Duration;

/// What is put in is there once, all else is as it was, and taking it out leaves nothing of it.
pub fn agent_settings(text: &str) {
    for agent in AGENTS {
        if let Some(hook) = &agent.hook {
            hook_settings(agent, hook, text);
        }
        if let Some(mcp) = &agent.mcp {
            server_settings(mcp, text);
        }
    }
}

fn hook_settings(agent: &Agent, hook: &Hook, text: &str) {
    let is_ours = |command: &str| entry::is_our_hook(command, agent);
    let (comments, events) = (hook.file.syntax.comments(), hook.event_names());
    let hooks = Hooks { comments, events: &events, is_ours: &is_ours };
    let words = ["countersign", "hook", agent.name].map(str::to_owned);
    let name = hook.event_name(Event::BeforeTool).unwrap();
    let group = hook.group(&words, Duration::from_secs(50));
    let Ok(with) = hooks.put(text, name, &group) else { return };
    // A text that is written too oddly is refused after that.
    let Ok(there) = json::parse(&with, comments) else { return };
    assert_eq!(hooks.put(&with, name, &group).ok().as_ref(), Some(&with), "put twice");
    let groups = there["hooks"][name].as_array().unwrap();
    assert_eq!(groups.iter().filter(|there| **there == group).count(), 1);
    let before = json::parse(text, comments).unwrap();
    assert_eq!(without(before, "hooks"), without(there, "hooks"), "other members");
    // Hooks of ours in other places may be there in a way that is not touched.
    let Ok(back) = hooks.take_out(&with) else { return };
    assert!(hooks.found(&back).unwrap().is_empty(), "{back}");
    if hooks.found(text).unwrap().is_empty() {
        assert_eq!(hooks.take_out(text).unwrap(), text, "nothing of ours to take out");
    }
}

fn server_settings(mcp: &Mcp, text: &str) {
    let server = mcp.server(&["countersign", "mcp"].map(str::to_owned));
    if mcp.file.syntax == Syntax::Toml {
        let Ok(with) = toml::put(text, mcp.way, SERVER, &server) else { return };
        assert_eq!(toml::get(&with, &[mcp.way, &[SERVER]].concat()).unwrap(), Some(server.clone()));
        assert_eq!(toml::put(&with, mcp.way, SERVER, &server).unwrap(), with, "put twice");
        let back = toml::take_out(&with, mcp.way, SERVER).unwrap();
        assert_eq!(toml::get(&back, &[mcp.way, &[SERVER]].concat()).unwrap(), None);
        return;
    }
    let comments = mcp.file.syntax.comments();
    let place = Place { comments, way: mcp.way };
    let Ok(with) = place.put(text, SERVER, &server) else { return };
    let Ok(there) = json::parse(&with, comments) else { return };
    assert_eq!(place.get(&with, SERVER).unwrap(), Some(server.clone()));
    assert_eq!(place.put(&with, SERVER, &server).unwrap(), with, "put twice");
    let before = json::parse(text, comments).unwrap();
    assert_eq!(without(before.clone(), mcp.way[0]), without(there, mcp.way[0]), "other members");
    let back = place.take_out(&with, SERVER).unwrap();
    assert_eq!(place.get(&back, SERVER).unwrap(), None);
    if place.get(text, SERVER).unwrap().is_none() && comments == Comments::Refused {
        assert!(json::parse(&back, comments).is_ok(), "{back}");
    }
}

/// All but one member.
fn without(mut settings: Value, name: &str) -> Value {
    settings.as_object_mut().unwrap().shift_remove(name);
    settings.as_object().map_or(json!({}), |members| members.clone().into())
}
