//! What holds for whatever is set about tools, and whatever tools there are.

use countersign_tool_policy::{
    Config, Confinement, Files, Lists, Origin, Outcome, Pipeline, Run, Sender, Step, SubAgent, Tool, Warning,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Tools of a world: name, whether only the owner may have it, and the plugin that brings it.
type Owned = (String, bool, Option<String>);

/// What is set, who runs, and the tools that there are.
#[derive(Clone, Debug)]
struct World {
    set: Value,
    group: Value,
    owner: bool,
    provider: Option<&'static str>,
    agent: Option<&'static str>,
    confined: bool,
    writable: bool,
    sub_agent: Option<(u32, u32)>,
    tools: Vec<Owned>,
}

impl World {
    fn outcome(&self) -> Outcome {
        self.with(&self.tools)
    }

    fn with(&self, tools: &[Owned]) -> Outcome {
        let config = Config::read(self.set.as_object().unwrap()).unwrap();
        let group = Lists::read(&self.group, "group").unwrap();
        let run = Run {
            sender: if self.owner { Sender::Owner } else { Sender::Other },
            provider: self.provider,
            model: Some("gpt-5"),
            agent: self.agent,
            group: Some(&group),
            confinement: if self.confined { Confinement::Sandbox } else { Confinement::None },
            files: if self.writable { Files::Writable } else { Files::ReadOnly },
            sub_agent: self.sub_agent.map(|(depth, max_depth)| SubAgent { depth, max_depth }),
        };
        let tools: Vec<Tool<'_>> = tools
            .iter()
            .map(|(name, owner_only, plugin)| Tool {
                name,
                owner_only: *owner_only,
                origin: plugin.as_deref().map_or(Origin::Core, Origin::Plugin),
            })
            .collect();
        Pipeline::new(&config, &run).unwrap().apply(&tools).unwrap()
    }

    fn is_strict(&self) -> bool {
        self.set["tools"]["strict"] == true
    }
}

fn kept(tools: &[Owned], outcome: &Outcome) -> Vec<Owned> {
    outcome.kept.iter().map(|at| tools[*at].clone()).collect()
}

/// Names of tools, of ours, of peers, and of plugins.
const NAMES: &[&str] = &[
    "exec",
    "process",
    "read_file",
    "write_file",
    "append_file",
    "apply_patch",
    "spawn",
    "browser",
    "gateway",
    "image",
    "session_status",
    "message",
    "Bash",
    "lob",
    "hub__list",
    "hub__get",
];

const PLUGINS: &[&str] = &["lobster", "bundle-mcp", "exec"];

const ENTRIES: &[&str] = &[
    "*",
    "read",
    "write",
    "exec",
    "bash",
    "group:fs",
    "group:runtime",
    "group:sessions",
    "group:plugins",
    "group:none",
    "lobster",
    "bundle-mcp",
    "lob",
    "hub__*",
    "*e*",
    "crab",
    "crab_*",
    "browser",
    "web_search",
    "sessions_spawn",
    " ",
];

fn entries() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(ENTRIES), 0..4)
}

/// Lists, as they may be written: not both kinds of allowing.
fn lists() -> impl Strategy<Value = Map<String, Value>> {
    (of(entries()), of(entries()), any::<bool>()).prop_map(|(allow, deny, also)| {
        let allow = allow.map(|allow| (if also { "alsoAllow" } else { "allow" }, allow));
        let deny = deny.map(|deny| ("deny", deny));
        allow.into_iter().chain(deny).map(|(key, list)| (key.to_owned(), json!(list))).collect()
    })
}

fn with_profile() -> impl Strategy<Value = Map<String, Value>> {
    let profile = of(select(&["minimal", "coding", "messaging", "full", "none"][..]));
    (lists(), profile).prop_map(|(mut lists, profile)| {
        lists.extend(profile.map(|profile| ("profile".to_owned(), json!(profile))));
        lists
    })
}

fn scope() -> impl Strategy<Value = Map<String, Value>> {
    let providers = btree_map(select(&["openai", "openai/gpt-5"][..]), with_profile(), 0..2);
    (with_profile(), providers, lists(), of(any::<bool>())).prop_map(
        |(mut scope, providers, sandbox, patch)| {
            scope.insert("byProvider".to_owned(), json!(providers));
            scope.insert("sandbox".to_owned(), json!({"tools": sandbox}));
            if let Some(patch) = patch {
                scope.insert("exec".to_owned(), json!({"applyPatch": {"enabled": patch}}));
            }
            scope
        },
    )
}

fn tools() -> impl Strategy<Value = Vec<Owned>> {
    let tool = (select(NAMES), prop::bool::weighted(0.1), of(select(PLUGINS)))
        .prop_map(|(name, owner, plugin)| (name.to_owned(), owner, plugin.map(str::to_owned)));
    vec(tool, 0..12)
}

prop_compose! {
    fn world()(
        mut global in scope(),
        agent in scope(),
        below in lists(),
        strict in any::<bool>(),
        group in lists(),
        owner in any::<bool>(),
        provider in of(select(&["openai", "anthropic"][..])),
        id in of(Just("main")),
        confined in any::<bool>(),
        writable in prop::bool::weighted(0.8),
        sub_agent in of((0_u32..3, 0_u32..3)),
        tools in tools(),
    ) -> World {
        global.insert("subagents".to_owned(), json!({"tools": below}));
        global.insert("strict".to_owned(), json!(strict));
        let set = json!({"tools": global, "agents": {"entries": {"main": {"tools": agent}}}});
        World { set, group: json!(group), owner, provider, agent: id, confined, writable, sub_agent, tools }
    }
}

/// Places of lists that take away more the more there is in them, wherever else something is set.
const DENIES: &[&str] = &[
    "/tools",
    "/tools/byProvider/openai",
    "/agents/entries/main/tools",
    "/agents/entries/main/tools/byProvider/openai",
    "/tools/subagents/tools",
];

/// Adds an entry to a list of an object that is there.
fn add(object: &mut Value, key: &str, entry: &str) -> bool {
    let Value::Object(members) = object else { return false };
    let list = members.entry(key).or_insert_with(|| json!([]));
    list.as_array_mut().unwrap().push(json!(entry));
    true
}

proptest! {
    /// Each tool is kept or removed, once and in the order in which it came; the same again gives the same.
    #[test]
    fn every_tool_is_told_of_and_always_the_same(world in world()) {
        let outcome = world.outcome();
        let mut places = outcome.kept.clone();
        places.extend(outcome.removed.iter().map(|removed| removed.tool));
        prop_assert!(outcome.kept.is_sorted() && outcome.removed.is_sorted_by_key(|removed| removed.tool));
        places.sort_unstable();
        prop_assert_eq!(places, (0..world.tools.len()).collect::<Vec<_>>());
        prop_assert!(outcome.removed.iter().all(|removed| outcome.steps.contains(&removed.by)));
        prop_assert!(outcome.steps.is_sorted());
        prop_assert_eq!(world.outcome(), outcome);
    }

    /// A second look at what is left takes nothing more, strict or not: a list that held has a tool among
    /// those that are left, or nothing is left; a list that was dropped named none of what there was.
    #[test]
    fn what_is_left_stays(world in world()) {
        let left = kept(&world.tools, &world.outcome());
        prop_assert_eq!(kept(&left, &world.with(&left)), left);
    }

    /// Strict, a tool's fate is its own: with some of the tools, those of them are left that are left with
    /// all. Otherwise with some of them at least those, as a list can be stale only for want of a tool.
    #[test]
    fn other_tools_do_not_matter_but_to_stale_lists(world in world(), other in tools()) {
        let mut all = world.tools.clone();
        all.extend(other);
        let with_all = world.with(&all);
        let with_all: Vec<usize> = with_all.kept.into_iter().filter(|at| *at < world.tools.len()).collect();
        let with_some = world.outcome().kept;
        if world.is_strict() {
            prop_assert_eq!(with_some, with_all);
        } else {
            prop_assert!(with_all.iter().all(|at| with_some.contains(at)), "{:?} {:?}", with_some, with_all);
        }
    }

    /// Strict leaves nothing that is not left otherwise.
    #[test]
    fn strict_only_takes_away(world in world()) {
        let (mut strict, mut lenient) = (world.clone(), world);
        strict.set["tools"]["strict"] = json!(true);
        lenient.set["tools"]["strict"] = json!(false);
        let (strict, lenient) = (strict.outcome().kept, lenient.outcome().kept);
        prop_assert!(strict.iter().all(|at| lenient.contains(at)), "{:?} {:?}", strict, lenient);
    }

    /// Nothing comes back by denying more; in a sandbox, where a list replaces the one of all or the one that
    /// is built in, by denying more in a list that is there.
    #[test]
    fn denying_more_never_gives_a_tool(world in world(), place in select(DENIES), entry in select(ENTRIES)) {
        let before = world.outcome().kept;
        let check = |more: &World| {
            let after = more.outcome().kept;
            prop_assert!(after.iter().all(|at| before.contains(at)), "{:?} {:?}", before, after);
            Ok(())
        };
        let mut more = world.clone();
        if more.set.pointer_mut(place).is_some_and(|scope| add(scope, "deny", entry)) {
            check(&more)?;
        }
        let mut more = world.clone();
        add(&mut more.group, "deny", entry);
        check(&more)?;
        for place in ["/tools/sandbox/tools", "/agents/entries/main/tools/sandbox/tools"] {
            let mut more = world.clone();
            let lists = more.set.pointer_mut(place).filter(|lists| lists.get("deny").is_some());
            if lists.is_some_and(|lists| add(lists, "deny", entry)) {
                check(&more)?;
            }
        }
    }

    /// No step gives back what another took: without a step that others do not depend on, at least as much is
    /// left, and what is left more is what that step took.
    #[test]
    fn each_step_only_takes_away(world in world()) {
        let outcome = world.outcome();
        let check = |without: &World, step: &Step| {
            let more = without.outcome().kept;
            prop_assert!(outcome.kept.iter().all(|at| more.contains(at)), "{:?} {:?}", outcome, more);
            for at in more.iter().filter(|at| !outcome.kept.contains(at)) {
                let by = outcome.removed.iter().find(|removed| removed.tool == *at).map(|removed| &removed.by);
                prop_assert_eq!(by, Some(step));
            }
            Ok(())
        };
        check(&World { group: json!({}), ..world.clone() }, &Step::Group)?;
        check(&World { confined: false, ..world.clone() }, &Step::Sandbox)?;
        check(&World { sub_agent: None, ..world.clone() }, &Step::SubAgent)?;
        let anyones = |(name, _, plugin): &Owned| (name.clone(), false, plugin.clone());
        let tools = world.tools.iter().map(anyones).collect();
        check(&World { owner: true, tools, ..world.clone() }, &Step::OwnerOnly)?;
        let mut without = world;
        without.set["tools"].as_object_mut().unwrap().shift_remove("deny");
        check(&without, &Step::Global)?;
    }

    /// Whoever is not the owner has nothing that the owner has not.
    #[test]
    fn the_owner_has_the_most(world in world()) {
        let owner = World { owner: true, ..world.clone() }.outcome().kept;
        let other = World { owner: false, ..world.clone() }.outcome();
        prop_assert!(other.kept.iter().all(|at| owner.contains(at)));
        prop_assert!(other.kept.iter().all(|at| !world.tools[*at].1));
    }

    /// What stays of a list that was dropped is its warning.
    #[test]
    fn no_list_is_dropped_unsaid_nor_where_that_is_strict(world in world()) {
        let outcome = world.outcome();
        let dropped = outcome.warnings.iter().filter(|warning| warning.to_string().contains("Ignoring allowlist"));
        for warning in dropped {
            prop_assert!(!world.is_strict());
            let Warning::UnknownAllowed { step, .. } = warning else { panic!("{warning:?}") };
            prop_assert!(step.drops_stale_lists());
        }
    }
}
