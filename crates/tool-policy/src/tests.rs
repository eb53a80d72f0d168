use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Our own tools, one of a plugin, and one of an MCP server.
const OURS: &str = "exec process read_file write_file edit_file append_file apply_patch subagent spawn lobster:lob bundle-mcp:hub__list";

/// A run of OpenAI's by the owner: nothing is taken unless something says so.
fn plain<'a>() -> Run<'a> {
    Run { sender: Sender::Owner, provider: Some("openai"), model: Some("gpt-5"), ..Run::default() }
}

/// Tools from words: `plugin:name`, or `name!` for the owner alone.
fn tools(words: &str) -> Vec<Tool<'_>> {
    let tool = |word| {
        let (origin, name) = match str::split_once(word, ':') {
            Some((plugin, name)) => (Origin::Plugin(plugin), name),
            None => (Origin::Core, word),
        };
        let (name, owner_only) = (name.trim_end_matches('!'), name.ends_with('!'));
        Tool { name, owner_only, origin }
    };
    words.split(' ').map(tool).collect()
}

fn config(set: &Value) -> Config {
    Config::read(set.as_object().unwrap()).unwrap()
}

fn outcome(set: &Value, run: &Run<'_>, words: &str) -> Outcome {
    Pipeline::new(&config(set), run).unwrap().apply(&tools(words)).unwrap()
}

/// What stays and what which step takes, as `name name / label: name name / label: name`.
fn told(outcome: &Outcome, words: &str) -> String {
    let tools = tools(words);
    let mut parts = vec![outcome.kept.iter().map(|at| tools[*at].name).collect::<Vec<_>>().join(" ")];
    let mut removed: Vec<&Removed> = outcome.removed.iter().collect();
    removed.sort_by(|one, other| one.by.cmp(&other.by));
    let mut last = None;
    for Removed { tool, by } in removed {
        if last != Some(by) {
            parts.push(format!("{by}:"));
        }
        last = Some(by);
        parts.last_mut().unwrap().push_str(&format!(" {}", tools[*tool].name));
    }
    parts.join(" / ")
}

fn check_with(set: Value, run: Run<'_>, words: &str, expected: &str, warnings: &[&str]) {
    let outcome = outcome(&set, &run, words);
    assert_eq!(told(&outcome, words), expected, "{set}");
    let told: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, warnings, "{set}");
}

fn check(set: Value, run: Run<'_>, words: &str, expected: &str) {
    check_with(set, run, words, expected, &[]);
}

/// The lists of a group, with nothing else set.
fn check_group(lists: Value, strict: bool, expected: &str, warnings: &[&str]) {
    let lists = Lists::read(&lists, "groups").unwrap();
    let run = Run { group: Some(&lists), ..plain() };
    check_with(json!({"tools": {"strict": strict}}), run, "exec read_file lobster:lob", expected, warnings);
}

const IGNORED: &str = "Ignoring allowlist so core tools remain available. Use tools.alsoAllow for additive plugin tool enablement.";

const NOT_LOADED: &str = "These entries won't match any tool unless the plugin is enabled.";

#[test]
fn without_anything_set_every_tool_stays() {
    let all = OURS.replace("lobster:", "").replace("bundle-mcp:", "");
    check(json!({}), plain(), OURS, &all);
    check(json!({"tools": {"allow": [], "deny": [], "alsoAllow": []}}), plain(), OURS, &all);
}

#[test]
fn each_step_takes_what_its_lists_say_and_is_named() {
    let words = "exec read_file write_file";
    check(
        json!({"tools": {"profile": "Minimal"}}),
        plain(),
        words,
        " / tools.profile (minimal): exec read_file write_file",
    );
    check(
        json!({"tools": {"byProvider": {"OpenAI": {"profile": "minimal"}}}}),
        plain(),
        words,
        " / tools.provider-profile (minimal): exec read_file write_file",
    );
    check_group(json!({"deny": ["exec"]}), false, "read_file lob / group tools.allow: exec", &[]);
    check(json!({"tools": {"deny": ["bash"]}}), plain(), words, "read_file write_file / tools.global: exec");
    check(
        json!({"tools": {"byProvider": {"openai": {"deny": ["read"]}}}}),
        plain(),
        words,
        "exec write_file / tools.global-provider: read_file",
    );
    let main = Run { agent: Some("main"), ..plain() };
    let agent = |tools: Value| json!({"agents": {"entries": {"Main": {"tools": tools}}}});
    check(agent(json!({"allow": ["read"]})), main, words, "read_file / tools.agent (main): exec write_file");
    check(
        agent(json!({"byProvider": {"openai": {"deny": ["write"]}}})),
        main,
        words,
        "exec read_file / tools.agent-provider (main): write_file",
    );
    check(
        json!({"tools": {"sandbox": {"tools": {"deny": ["exec"]}}}}),
        Run { confinement: Confinement::Sandbox, ..plain() },
        words,
        "read_file write_file / sandbox tools.allow: exec",
    );
    let below = SubAgent { depth: 1, max_depth: 2 };
    check(
        json!({"tools": {"subagents": {"tools": {"deny": ["exec"]}}}}),
        Run { sub_agent: Some(below), ..plain() },
        "exec read_file spawn gateway",
        "read_file spawn / subagent tools.allow: exec gateway",
    );
}

#[test]
fn the_first_step_that_takes_a_tool_is_the_one_that_is_named() {
    let lists = Lists::read(&json!({"deny": ["a", "b", "c"]}), "groups").unwrap();
    let set = json!({
        "tools": {
            "deny": ["a", "b", "c", "d"],
            "byProvider": {"openai": {"deny": ["a", "b", "c", "d", "e"]}},
            "sandbox": {"tools": {"allow": ["*"], "deny": ["a", "b", "c", "d", "e", "f", "g", "h"]}},
            "subagents": {"tools": {"deny": ["a", "b", "c", "d", "e", "f", "g", "h", "i"]}},
            "exec": {"applyPatch": {"enabled": false}},
        },
        "agents": {"list": [{"id": "main", "tools": {
            "deny": ["a", "b", "c", "d", "e", "f"],
            "byProvider": {"openai": {"deny": ["a", "b", "c", "d", "e", "f", "g"]}},
        }}]},
    });
    let run = Run {
        sender: Sender::Other,
        agent: Some("main"),
        group: Some(&lists),
        confinement: Confinement::Sandbox,
        sub_agent: Some(SubAgent { depth: 1, max_depth: 1 }),
        ..plain()
    };
    let words = "a b! c d e f g h i j apply_patch!";
    check(
        set,
        run,
        words,
        "j / tools.exec.applyPatch: apply_patch / owner-only tools: b / group tools.allow: a c / tools.global: d / \
         tools.global-provider: e / tools.agent (main): f / tools.agent-provider (main): g / sandbox tools.allow: h / \
         subagent tools.allow: i",
    );
}

#[test]
fn the_order_of_the_steps_is_fixed_and_goes_on_at_run_time() {
    let steps = |set: Value, run: Run<'_>| {
        let steps = outcome(&set, &run, "exec").steps;
        assert!(steps.is_sorted(), "{steps:?}");
        steps.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let set = json!({"tools": {"profile": "coding", "byProvider": {"openai": {"profile": "full"}}}});
    let run = Run {
        agent: Some("main"),
        confinement: Confinement::Sandbox,
        sub_agent: Some(SubAgent { depth: 1, max_depth: 1 }),
        ..plain()
    };
    assert_eq!(
        steps(set, run),
        [
            "tools.exec.applyPatch",
            "owner-only tools",
            "tools.profile (coding)",
            "tools.provider-profile (full)",
            "group tools.allow",
            "tools.global",
            "tools.global-provider",
            "tools.agent (main)",
            "tools.agent-provider (main)",
            "sandbox tools.allow",
            "subagent tools.allow",
            "parameter schemas",
            "before_tool_call hooks",
            "abort signal",
        ]
    );
    let without = steps(json!({}), Run { agent: Some(" "), ..plain() });
    let expected = ["tools.profile", "tools.provider-profile", "group tools.allow", "tools.global"];
    assert_eq!(without[2..6], expected);
    assert_eq!(
        without[6..],
        ["tools.global-provider", "parameter schemas", "before_tool_call hooks", "abort signal"]
    );
}

#[test]
fn whoever_is_not_known_to_be_the_owner_is_not() {
    let words = "exec deploy! cron whatsapp_login conversations_list hub:gateway";
    let nobody = Run { provider: Some("openai"), ..Run::default() };
    let expected = "exec / owner-only tools: deploy cron whatsapp_login conversations_list gateway";
    check(json!({}), nobody, words, expected);
    check(json!({}), plain(), words, "exec deploy cron whatsapp_login conversations_list gateway");
    check(
        json!({"tools": {"allow": ["deploy", "cron"]}}),
        nobody,
        "exec deploy! cron",
        &[" / owner-only tools: deploy cron / tools.global: exec"].concat(),
    );
}

#[test]
fn entries_of_a_peers_configuration_mean_the_same_for_our_tools() {
    let words = "exec process read_file write_file edit_file append_file apply_patch subagent spawn";
    let allow = |entries: &[&str], expected: &str| {
        let removed = words.split(' ').filter(|name| !expected.split(' ').any(|kept| kept == *name));
        let removed = removed.collect::<Vec<_>>().join(" ");
        let expected = format!("{expected} / tools.global: {removed}");
        check(json!({"tools": {"allow": entries}}), plain(), words, &expected);
    };
    allow(&["read"], "read_file");
    allow(&["edit", "Bash "], "exec edit_file");
    allow(&["write"], "write_file append_file apply_patch");
    allow(&["write_file"], "write_file apply_patch");
    allow(&["exec"], "exec");
    allow(&["apply-patch"], "apply_patch");
    allow(&["group:fs"], "read_file write_file edit_file append_file apply_patch");
    allow(&["group:runtime"], "exec process");
    allow(&["group:sessions"], "subagent spawn");
    allow(&["sessions_*"], "subagent spawn");
    // A deny takes out what it names: who may not write may still patch, as with the newest release.
    check(
        json!({"tools": {"deny": ["write"]}}),
        plain(),
        words,
        "exec process read_file edit_file apply_patch subagent spawn / tools.global: write_file append_file",
    );
    check(
        json!({"tools": {"deny": ["group:fs", "sessions_spawn"]}}),
        plain(),
        words,
        "exec process / tools.global: read_file write_file edit_file append_file apply_patch subagent spawn",
    );
}

#[test]
fn profiles_let_through_what_they_are_for() {
    let words =
        "exec read_file spawn web_fetch message session_status gateway bundle-mcp:hub__list lobster:lob";
    let profile = |profile: &str, expected: &str| {
        check(json!({"tools": {"profile": profile}}), plain(), words, expected);
    };
    profile(
        "minimal",
        "session_status / tools.profile (minimal): exec read_file spawn web_fetch message gateway hub__list lob",
    );
    profile(
        "coding",
        "exec read_file spawn web_fetch session_status gateway hub__list / tools.profile (coding): message lob",
    );
    profile(
        "messaging",
        "message session_status gateway hub__list / tools.profile (messaging): exec read_file spawn web_fetch lob",
    );
    profile("full", &words.replace("bundle-mcp:", "").replace("lobster:", ""));
    profile(" ", &words.replace("bundle-mcp:", "").replace("lobster:", ""));
}

#[test]
fn a_profile_that_is_none_restricts_nothing_and_is_told() {
    let unknown = |label: &str| {
        format!(
            "tools: {label} is no profile that is known. It restricts nothing; expected minimal, coding, messaging or full."
        )
    };
    check_with(
        json!({"tools": {"profile": "codign", "byProvider": {"openai": {"profile": "constructor"}}}}),
        plain(),
        "exec lobster:lob",
        "exec lob",
        &[&unknown("tools.profile (codign)"), &unknown("tools.provider-profile (constructor)")],
    );
}

#[test]
fn an_agents_profile_and_what_it_also_allows_replace_those_of_all() {
    let words = "exec read_file message lobster:lob hub:dig";
    let check = |tools: Value, agent: Value, expected: &str| {
        let set = json!({"tools": tools, "agents": {"entries": {"main": {"tools": agent}}}});
        check(set, Run { agent: Some("main"), ..plain() }, words, expected);
    };
    let minimal = json!({"profile": "minimal", "alsoAllow": ["lobster"]});
    check(minimal.clone(), json!({}), "lob / tools.profile (minimal): exec read_file message dig");
    check(
        minimal.clone(),
        json!({"alsoAllow": ["hub"]}),
        "dig / tools.profile (minimal): exec read_file message lob",
    );
    check(
        minimal.clone(),
        json!({"alsoAllow": []}),
        " / tools.profile (minimal): exec read_file message lob dig",
    );
    check(
        minimal,
        json!({"profile": "messaging"}),
        "message lob / tools.profile (messaging): exec read_file dig",
    );
    check(
        json!({"byProvider": {"openai": {"profile": "minimal", "alsoAllow": ["exec"]}}}),
        json!({"byProvider": {"openai": {"alsoAllow": ["read"]}}}),
        "read_file / tools.provider-profile (minimal): exec message lob dig",
    );
}

#[test]
fn what_is_also_allowed_beside_nothing_restricts_nothing() {
    let words = "exec read_file lobster:lob";
    check(json!({"tools": {"alsoAllow": ["lobster"]}}), plain(), words, "exec read_file lob");
    check(
        json!({"tools": {"alsoAllow": ["lobster"], "deny": ["lob"]}}),
        plain(),
        words,
        "exec read_file / tools.global: lob",
    );
}

#[test]
fn a_provider_is_found_by_its_model_first_and_once() {
    let words = "exec read_file write_file";
    let check = |provider: Option<&str>, model: Option<&str>, expected: &str| {
        let set = json!({"tools": {"byProvider": {
            "OpenAI/GPT-5": {"deny": ["read"]},
            "openai": {"deny": ["exec"]},
            "anthropic/claude": {"deny": ["write"]},
        }}});
        check(set, Run { provider, model, ..plain() }, words, expected);
    };
    check(Some("openai"), Some("gpt-5"), "exec write_file / tools.global-provider: read_file");
    check(Some(" OPENAI "), Some("o3"), "read_file write_file / tools.global-provider: exec");
    check(Some("openai"), None, "read_file write_file / tools.global-provider: exec");
    check(Some("router"), Some("anthropic/Claude"), "exec read_file / tools.global-provider: write_file");
    check(Some("anthropic"), Some("sonnet"), words);
    check(None, Some("gpt-5"), words);
}

#[test]
fn entries_name_plugins_and_their_tools() {
    let words = "exec lobster:lob lobster:claw bundle-mcp:hub__list bundle-mcp:hub__get";
    let allow = |entry: &str, expected: &str| {
        check(json!({"tools": {"allow": [entry]}}), plain(), words, expected);
    };
    allow("Lobster", "lob claw / tools.global: exec hub__list hub__get");
    allow("claw", "claw / tools.global: exec lob hub__list hub__get");
    allow("group:plugins", "lob claw hub__list hub__get / tools.global: exec");
    allow("bundle-mcp", "hub__list hub__get / tools.global: exec lob claw");
    allow("hub__*", "hub__list hub__get / tools.global: exec lob claw");
}

#[test]
fn a_plugin_does_not_come_in_under_the_name_of_a_core_tool() {
    let words = "exec read_file exec:shovel odd:append_file odd:spawn";
    let warning = "tools: tools.global allowlist contains unknown entries (write, sessions_spawn). These tools exist, but are \
                   not available here.";
    check_with(
        json!({"tools": {"allow": ["exec", "read", "write", "sessions_spawn"]}}),
        plain(),
        words,
        "exec read_file / tools.global: shovel append_file spawn",
        &[warning],
    );
    // What denies the core tool denies whatever calls itself so.
    check(
        json!({"tools": {"deny": ["exec", "write", "sessions_spawn"]}}),
        plain(),
        words,
        "read_file / tools.global: exec shovel append_file spawn",
    );
}

#[test]
fn a_list_of_plugins_that_are_not_loaded_is_dropped_and_its_denies_stay() {
    let unknown = |names: &str, what: &str| {
        format!("tools: group tools.allow allowlist contains unknown entries ({names}). {what}")
    };
    check_group(
        json!({"allow": ["crab", "shrimp_*"], "deny": ["exec"]}),
        false,
        "read_file lob / group tools.allow: exec",
        &[&unknown("crab, shrimp_*", IGNORED)],
    );
    check_group(
        json!({"allow": ["crab", "shrimp_*"], "deny": ["exec"]}),
        true,
        " / group tools.allow: exec read_file lob",
        &[&unknown("crab, shrimp_*", NOT_LOADED)],
    );
    // Where a plugin's tool is here, or a core tool is named that is not, the list is no stale one.
    check_group(
        json!({"allow": ["lobster", "crab"]}),
        false,
        "lob / group tools.allow: exec read_file",
        &[&unknown("crab", NOT_LOADED)],
    );
    let not_here = "These tools exist, but are not available here.";
    for entry in ["web_search", "group:web", "web_*"] {
        check_group(
            json!({"allow": [entry]}),
            false,
            " / group tools.allow: exec read_file lob",
            &[&unknown(entry, not_here)],
        );
    }
    check_group(
        json!({"allow": ["group:fils"]}),
        false,
        " / group tools.allow: exec read_file lob",
        &[&unknown("group:fils", NOT_LOADED)],
    );
    check_group(
        json!({"allow": ["process", "crab"]}),
        false,
        " / group tools.allow: exec read_file lob",
        &[&unknown(
            "process, crab",
            "Some of these tools exist, but are not available here; the other entries won't match any tool unless the plugin \
             is enabled.",
        )],
    );
    check_group(json!({"allow": ["*"]}), false, "exec read_file lob", &[]);
}

#[test]
fn a_plugins_group_is_stale_where_no_plugin_is_loaded() {
    let lists = Lists::read(&json!({"allow": ["group:plugins", "bundle-mcp"]}), "groups").unwrap();
    let run = Run { group: Some(&lists), ..plain() };
    let warning = format!(
        "tools: group tools.allow allowlist contains unknown entries (group:plugins, bundle-mcp). {IGNORED}"
    );
    check_with(json!({}), run, "exec read_file", "exec read_file", &[&warning]);
    let warning = warning.replace("group:plugins, ", "").replace(IGNORED, NOT_LOADED);
    check_with(json!({}), run, "exec lobster:lob", "lob / group tools.allow: exec", &[&warning]);
}

#[test]
fn a_list_whose_only_tool_another_step_takes_is_not_stale() {
    let lists = Lists::read(&json!({"allow": ["lob"]}), "groups").unwrap();
    let run = Run { sender: Sender::Other, group: Some(&lists), ..plain() };
    check(json!({}), run, "exec lobster:lob!", " / owner-only tools: lob / group tools.allow: exec");
}

#[test]
fn only_the_first_three_steps_drop_a_stale_list() {
    let steps = outcome(&json!({}), &Run { agent: Some("main"), ..plain() }, "exec").steps;
    let dropping: Vec<String> =
        steps.iter().filter(|step| step.drops_stale_lists()).map(ToString::to_string).collect();
    assert_eq!(dropping, ["tools.profile", "tools.provider-profile", "group tools.allow"]);

    let stale = json!({"allow": ["crab"]});
    let warning =
        |label: &str| format!("tools: {label} allowlist contains unknown entries (crab). {NOT_LOADED}");
    let run = Run { agent: Some("main"), ..plain() };
    let check = |set: Value, label: &str| {
        check_with(set, run, "exec read_file", &format!(" / {label}: exec read_file"), &[&warning(label)]);
    };
    check(json!({"tools": stale}), "tools.global");
    check(json!({"tools": {"byProvider": {"openai": stale}}}), "tools.global-provider");
    let agent = |tools: Value| json!({"agents": {"entries": {"main": {"tools": tools}}}});
    check(agent(stale.clone()), "tools.agent (main)");
    check(agent(json!({"byProvider": {"openai": stale}})), "tools.agent-provider (main)");

    let confined = Run { confinement: Confinement::Sandbox, ..plain() };
    check_with(
        json!({"tools": {"sandbox": {"tools": stale}}}),
        confined,
        "exec",
        " / sandbox tools.allow: exec",
        &[],
    );
    let below = Run { sub_agent: Some(SubAgent { depth: 1, max_depth: 2 }), ..plain() };
    check_with(
        json!({"tools": {"subagents": {"tools": stale}}}),
        below,
        "exec",
        " / subagent tools.allow: exec",
        &[],
    );
}

#[test]
fn a_profile_is_never_stale_as_it_names_core_tools() {
    let set = json!({"tools": {"profile": "messaging", "alsoAllow": ["crab"]}});
    let warnings = ["tools.profile (messaging)", "tools.global"]
        .map(|label| format!("tools: {label} allowlist contains unknown entries (crab). {NOT_LOADED}"));
    let expected = " / tools.profile (messaging): exec read_file";
    check_with(set, plain(), "exec read_file", expected, &[&warnings[0], &warnings[1]]);
}

#[test]
fn a_deny_of_nothing_that_is_known_is_told() {
    let warning = "tools: tools.global deny list contains unknown entries (exce, group:rutime). These entries take no tool away.";
    let set =
        json!({"tools": {"deny": ["exce", "group:rutime", "browser", "group:web", "web_*", "lobster"]}});
    check_with(set, plain(), "exec lobster:lob", "exec / tools.global: lob", &[warning]);
}

#[test]
fn a_list_of_blanks_restricts_nothing_and_is_told() {
    let warning = "tools: tools.global allowlist contains only blank entries. It restricts nothing.";
    check_with(json!({"tools": {"allow": [" ", ""]}}), plain(), "exec", "exec", &[warning]);
    check(
        json!({"tools": {"allow": [" ", "exec"]}}),
        plain(),
        "exec process",
        "exec / tools.global: process",
    );
}

#[test]
fn what_would_restrict_and_does_not_is_told() {
    let set = json!({
        "tools": {"toolsBySender": {"*": {"deny": ["exec"]}}},
        "agents": {"entries": {"main": {"tools": {"toolsBySender": {}}}}},
    });
    let warnings = ["tools.toolsBySender", "agents.entries.main.tools.toolsBySender"]
        .map(|path| format!("tools: {path} is not taken into account. It restricts nothing here."));
    check_with(set, plain(), "exec", "exec", &[&warnings[0], &warnings[1]]);
}

#[test]
fn patches_are_for_models_of_openai_unless_somebody_says_otherwise() {
    let check = |patch: Value, provider: Option<&str>, model: Option<&str>, stays: bool| {
        let set = json!({"tools": {"exec": {"applyPatch": patch}}});
        let expected = if stays { "exec apply_patch" } else { "exec / tools.exec.applyPatch: apply_patch" };
        check(set, Run { provider, model, ..plain() }, "exec apply_patch", expected);
    };
    check(json!({}), Some("openai"), None, true);
    check(json!({}), Some(" OpenAI-Codex "), Some("gpt-5"), true);
    check(json!({}), Some("anthropic"), Some("openai/gpt-5"), false);
    check(json!({}), Some("azure-openai"), Some("gpt-5"), false);
    check(json!({}), None, None, false);
    check(json!({"enabled": false}), Some("openai"), Some("gpt-5"), false);
    check(json!({"enabled": true}), Some("anthropic"), Some("claude"), true);
    check(json!({"enabled": true}), None, None, true);
    let models = json!({"allowModels": ["GPT-5", "openai/o3"]});
    check(models.clone(), Some("openai"), Some("gpt-5"), true);
    check(models.clone(), Some("openai"), Some("O3"), true);
    check(models.clone(), Some("openai"), Some("gpt-4"), false);
    check(models.clone(), Some("openai"), None, false);
    check(models, Some("anthropic"), Some("gpt-5"), false);
    check(json!({"allowModels": ["openai/o3"], "enabled": true}), Some("router"), Some("o3"), false);
}

#[test]
fn patches_need_files_that_can_be_written_and_an_agent_says_for_itself() {
    let read_only = Run { files: Files::ReadOnly, ..plain() };
    let on = json!({"tools": {"exec": {"applyPatch": {"enabled": true}}}});
    let gone = "exec / tools.exec.applyPatch: apply_patch";
    check(on.clone(), read_only, "exec apply_patch", gone);
    let main = Run { agent: Some("main"), ..plain() };
    let mut set = on;
    set["agents"] = json!({"entries": {"main": {"tools": {"exec": {"applyPatch": {"enabled": false}}}}}});
    check(set.clone(), main, "exec apply_patch", gone);
    check(set, plain(), "exec apply_patch", "exec apply_patch");
}

#[test]
fn a_sandbox_lets_through_what_is_built_in_unless_somebody_says_otherwise() {
    let words = "exec read_file append_file spawn image browser web_fetch gateway";
    let confined = Run { confinement: Confinement::Sandbox, agent: Some("main"), ..plain() };
    let check = |global: Value, agent: Value, expected: &str| {
        let set = json!({
            "tools": {"sandbox": {"tools": global}},
            "agents": {"entries": {"main": {"tools": {"sandbox": {"tools": agent}}}}},
        });
        check(set, confined, words, expected);
    };
    let label = "/ sandbox tools.allow:";
    check(
        json!({}),
        json!({}),
        &format!("exec read_file append_file spawn image {label} browser web_fetch gateway"),
    );
    check(
        json!({"allow": ["read"]}),
        json!({}),
        &format!("read_file image {label} exec append_file spawn browser web_fetch gateway"),
    );
    check(
        json!({"allow": ["read"], "deny": ["image"]}),
        json!({"allow": ["exec"]}),
        &format!("exec {label} read_file append_file spawn image browser web_fetch gateway"),
    );
    // What is allowed by name is not kept out by what is denied where nobody says; what somebody denies is.
    check(
        json!({"allow": ["browser", "exec"]}),
        json!({}),
        &format!("exec image browser {label} read_file append_file spawn web_fetch gateway"),
    );
    check(
        json!({"alsoAllow": ["browser"]}),
        json!({}),
        &format!("exec read_file append_file spawn image browser {label} web_fetch gateway"),
    );
    check(
        json!({"alsoAllow": ["browser"], "deny": ["browser"]}),
        json!({}),
        &format!("exec read_file append_file spawn image {label} browser web_fetch gateway"),
    );
    // Without names everything is allowed but what is denied where nobody says.
    check(
        json!({"allow": []}),
        json!({}),
        &format!("exec read_file append_file spawn image web_fetch {label} browser gateway"),
    );
}

#[test]
fn a_sub_agent_has_less_the_deeper_it_is_and_allowing_gives_nothing_back() {
    let words = "exec spawn subagent message sessions_list subagents memory_get lobster:lob";
    let check = |depth: u32, max_depth: u32, lists: Value, expected: &str| {
        let set = json!({"tools": {"subagents": {"tools": lists}}});
        let run = Run { sub_agent: Some(SubAgent { depth, max_depth }), ..plain() };
        check(set, run, words, &expected.replace('@', "/ subagent tools.allow:"));
    };
    let inner = "exec spawn subagent sessions_list subagents memory_get lob @ message";
    let leaf = "exec memory_get lob @ spawn subagent message sessions_list subagents";
    check(1, 2, json!({}), inner);
    check(2, 2, json!({}), leaf);
    check(1, 1, json!({}), leaf);
    check(0, 0, json!({}), leaf);
    check(1, 2, json!({"alsoAllow": ["message"]}), inner);
    check(
        1,
        2,
        json!({"allow": ["message", "exec", "lob"], "deny": ["lobster"]}),
        "exec @ spawn subagent message sessions_list subagents memory_get lob",
    );
}

#[test]
fn what_cannot_be_looked_at_leaves_no_tool() {
    let config = Config::default();
    let pipeline = Pipeline::new(&config, &plain()).unwrap();
    let check = |tools: &[Tool<'_>], expected: &str| {
        assert_eq!(pipeline.apply(tools).unwrap_err().to_string(), expected);
    };
    let many = vec![tools("exec")[0]; MAX_TOOLS + 1];
    check(&many, "expected at most 1024 tools, got 1025");
    let long = "x".repeat(MAX_NAME + 1);
    check(
        &tools(&format!("exec {long}")),
        "tool 1: expected a name of 1 to 256 characters that is not blank, got 257",
    );
    check(&tools("exec \u{a0}"), "tool 1: expected a name of 1 to 256 characters that is not blank, got 1");
    let run = Run { model: Some(&long), ..plain() };
    let error = Pipeline::new(&config, &run).err().map(|error| error.to_string());
    assert_eq!(error.unwrap(), "model: expected at most 200 characters, got 257");
}
