//! Where runs go: the precedence of layers, what a run may name, and what never loosens.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use countersign_protocol::route::{RouteField, RouteLayer};
use countersign_protocol::vocabulary::{Ask, Elevated, ExecHost, ExecMode, ExecTarget, Security};
use countersign_routing::Release;
use countersign_routing::route::{
    Layers, Overrides, Route, RouteDefaults, Said, Sandbox, Settings, Surroundings, Tool, Weight, loosenings,
    resolve,
};
use pretty_assertions::assert_eq;
use proptest::option::of;
use proptest::prelude::*;

#[derive(Clone, Debug, Default)]
struct World {
    tool: Tool,
    message: Overrides,
    session: Overrides,
    agent: Settings,
    global: Settings,
}

impl World {
    fn layers(&self) -> Layers<'_> {
        let Self { tool, message, session, agent, global } = self;
        Layers { tool, message, session, agent, global }
    }

    fn standing(&self, sandbox: Sandbox) -> RouteDefaults {
        RouteDefaults::of(&self.layers(), around(sandbox))
    }

    fn route(&self, sandbox: Sandbox) -> Result<Route, String> {
        resolve(&self.layers(), around(sandbox)).map_err(|error| error.to_string())
    }
}

const THERE: Sandbox = Sandbox::Available;
const MISSING: Sandbox = Sandbox::Missing;

fn around(sandbox: Sandbox) -> Surroundings {
    Surroundings { sandbox, release: Release::Newest }
}

fn confirmed<T>(value: T) -> Option<Said<T>> {
    Some(Said { value, weight: Weight::Confirmed })
}

fn unconfirmed<T>(value: T) -> Option<Said<T>> {
    Some(Said { value, weight: Weight::Unconfirmed })
}

fn host(host: ExecTarget) -> Settings {
    Settings { host: Some(host), ..Settings::default() }
}

/// Where a run goes and by whom, or why not: `gateway/agent deny/built-in on-miss/built-in`.
fn check(world: &World, sandbox: Sandbox, expected: &str) {
    let layer = |layer: RouteLayer| serde_json::to_value(layer).unwrap().as_str().unwrap().to_owned();
    let got = match world.route(sandbox) {
        Ok(route) => format!(
            "{}/{} {}/{} {}/{}",
            route.host.value,
            layer(route.host.layer),
            route.security.value,
            layer(route.security.layer),
            route.ask.value,
            layer(route.ask.layer)
        ),
        Err(error) => error,
    };
    assert_eq!(got, expected, "{world:?}");
}

#[test]
fn without_any_setting_it_is_this_machine_and_a_sandbox_only_for_who_names_one() {
    let mut world = World::default();
    for sandbox in [THERE, MISSING] {
        check(&world, sandbox, "gateway/built-in allowlist/built-in on-miss/built-in");
    }
    world.tool.host = Some(ExecTarget::Sandbox);
    check(&world, THERE, "sandbox/tool allowlist/built-in on-miss/built-in");
    let missing = world.route(MISSING).unwrap_err();
    assert!(
        missing.starts_with("exec host=sandbox requires a sandbox runtime for this session.\n"),
        "{missing}"
    );
    assert!(missing.contains("tools.exec.sandbox"), "{missing}");
}

#[test]
fn each_layer_comes_before_the_next() {
    let mut world = World { global: host(ExecTarget::Gateway), ..World::default() };
    check(&world, THERE, "gateway/global allowlist/built-in on-miss/built-in");
    world.global.security = Some(Security::Full);
    world.agent = Settings { ask: Some(Ask::Always), ..host(ExecTarget::Node) };
    check(&world, THERE, "node/agent full/global always/agent");
    world.session.host = confirmed(ExecTarget::Auto);
    check(&world, THERE, "sandbox/session full/global always/agent");
    check(&world, MISSING, "gateway/session full/global always/agent");
    world.message =
        Overrides { host: confirmed(ExecTarget::Gateway), ask: confirmed(Ask::Off), ..Overrides::default() };
    check(&world, THERE, "gateway/message full/global off/message");
    world.tool = Tool { security: Some(Security::Allowlist), ask: Some(Ask::OnMiss), ..Tool::default() };
    check(&world, THERE, "gateway/message allowlist/tool on-miss/tool");
    world.tool = Tool { security: Some(Security::Full), ask: Some(Ask::Off), ..Tool::default() };
    check(&world, THERE, "gateway/message full/global off/message");
}

#[test]
fn a_mode_stands_for_both_and_a_later_value_for_one() {
    let mut world = World { global: host(ExecTarget::Gateway), ..World::default() };
    for (mode, expected) in [
        (ExecMode::Deny, "deny/global off/global"),
        (ExecMode::Allowlist, "allowlist/global off/global"),
        (ExecMode::Ask, "allowlist/global on-miss/global"),
        (ExecMode::Auto, "allowlist/global on-miss/global"),
        (ExecMode::Full, "full/global off/global"),
    ] {
        world.global.mode = Some(mode);
        check(&world, THERE, &format!("gateway/global {expected}"));
    }
    world.agent.ask = Some(Ask::Always);
    check(&world, THERE, "gateway/global full/global always/agent");
    world.agent = Settings { mode: Some(ExecMode::Deny), ..Settings::default() };
    check(&world, THERE, "gateway/global deny/agent off/agent");
}

#[test]
fn a_run_names_only_hosts_that_it_may() {
    let mut world = World::default();
    let mut check = |set: Option<ExecTarget>, sandbox, named, expected: &str| {
        world.global.host = set;
        world.tool.host = Some(named);
        check(&world, sandbox, expected);
    };
    use ExecTarget::{Auto, Gateway, Node, Sandbox};
    let ok = "allowlist/built-in on-miss/built-in";
    let shut = "deny/built-in on-miss/built-in";
    check(None, THERE, Sandbox, &format!("sandbox/tool {ok}"));
    check(None, THERE, Auto, &format!("gateway/built-in {ok}"));
    check(None, THERE, Gateway, &format!("gateway/built-in {ok}"));
    let refused = |named: &str, set: &str, allowed: &str| {
        format!(
            "exec host not allowed (requested {named}; configured host is {set}; set tools.exec.host={allowed} to allow this override)."
        )
    };
    check(None, MISSING, Node, &refused("node", "gateway", "node or auto"));
    check(Some(Sandbox), THERE, Gateway, &refused("gateway", "sandbox", "gateway or auto"));
    check(Some(Gateway), THERE, Sandbox, &refused("sandbox", "gateway", "sandbox or auto"));
    check(Some(Gateway), THERE, Gateway, &format!("gateway/global {ok}"));
    check(Some(Auto), THERE, Gateway, &refused("gateway", "auto", "gateway"));
    check(Some(Auto), THERE, Node, &refused("node", "auto", "node"));
    check(Some(Auto), THERE, Sandbox, &format!("sandbox/tool {ok}"));
    check(Some(Auto), MISSING, Gateway, &format!("gateway/tool {ok}"));
    check(Some(Auto), MISSING, Node, &format!("node/tool {shut}"));
    let missing = "exec host=sandbox requires a sandbox runtime for this session.\nInstall bubblewrap, set tools.exec.sandbox to one that is there, or set tools.exec.host to auto, gateway or node.";
    check(Some(Auto), MISSING, Sandbox, missing);
}

#[test]
fn the_older_release_refuses_any_other_host_in_its_own_words() {
    let around = Surroundings { sandbox: THERE, release: Release::Early };
    let mut world = World { global: host(ExecTarget::Gateway), ..World::default() };
    world.tool.host = Some(ExecTarget::Node);
    let error = resolve(&world.layers(), around).unwrap_err().to_string();
    let expected = "exec host not allowed (requested node; configure tools.exec.host=gateway to allow).";
    assert_eq!(error, expected);
    world.session.elevated = confirmed(Elevated::On);
    assert_eq!(resolve(&world.layers(), around).unwrap().host.value, ExecHost::Gateway);
}

#[test]
fn an_elevated_session_runs_on_the_host_and_off_restores() {
    let mut world = World { global: host(ExecTarget::Sandbox), ..World::default() };
    world.session.elevated = confirmed(Elevated::On);
    check(&world, THERE, "gateway/elevated full/elevated on-miss/built-in");
    world.session.elevated = confirmed(Elevated::Ask);
    check(&world, MISSING, "gateway/elevated full/elevated on-miss/built-in");
    world.session.elevated = confirmed(Elevated::Full);
    check(&world, THERE, "gateway/elevated full/elevated off/elevated");
    // The newest release stays on the node that is set.
    world.global.host = Some(ExecTarget::Node);
    check(&world, THERE, "node/global full/elevated off/elevated");
    // What the message says about its own run is nearer.
    world.message.security = confirmed(Security::Allowlist);
    check(&world, THERE, "node/global allowlist/message off/elevated");
    world.message.elevated = unconfirmed(Elevated::Off);
    world.message.security = None;
    check(&world, THERE, "node/global deny/built-in on-miss/built-in");
}

#[test]
fn a_required_sandbox_is_never_left() {
    let mut world = World { global: host(ExecTarget::Gateway), ..World::default() };
    world.agent.sandbox_required = true;
    check(&world, THERE, "sandbox/global allowlist/built-in on-miss/built-in");
    let missing = "This session requires a sandbox, but its sandbox runtime is unavailable.";
    check(&world, MISSING, missing);
    world.tool.host = Some(ExecTarget::Node);
    let leaves = "exec host not allowed (requested node; this session requires a sandbox).";
    check(&world, THERE, leaves);
    world.session.elevated = confirmed(Elevated::Full);
    let elevated = "Elevated execution is unavailable because this session requires a sandbox.";
    check(&world, THERE, elevated);
}

#[test]
fn what_nobody_confirmed_can_only_harden() {
    let mut world = World { global: host(ExecTarget::Sandbox), ..World::default() };
    world.session = Overrides {
        host: unconfirmed(ExecTarget::Gateway),
        security: unconfirmed(Security::Full),
        ask: unconfirmed(Ask::Off),
        elevated: unconfirmed(Elevated::Full),
        node: None,
    };
    check(&world, THERE, "sandbox/global allowlist/built-in on-miss/built-in");
    world.session.security = unconfirmed(Security::Deny);
    world.session.ask = unconfirmed(Ask::Always);
    check(&world, THERE, "sandbox/global deny/session always/session");
    // It was no change when it was said; the setting got stricter since.
    world.session = Overrides { host: unconfirmed(ExecTarget::Gateway), ..Overrides::default() };
    world.global = host(ExecTarget::Gateway);
    check(&world, THERE, "gateway/session allowlist/built-in on-miss/built-in");
    world.global = host(ExecTarget::Auto);
    check(&world, THERE, "sandbox/global allowlist/built-in on-miss/built-in");
}

#[test]
fn each_way_of_getting_looser_is_named() {
    let before = World { global: host(ExecTarget::Sandbox), ..World::default() };
    let check = |change: &dyn Fn(&mut World), expected: &[(RouteField, &str, &str)]| {
        let mut after = before.clone();
        change(&mut after);
        let found = loosenings(&before.standing(THERE), &after.standing(THERE));
        let expected: Vec<(RouteField, String, String)> =
            expected.iter().map(|(field, from, to)| (*field, (*from).to_owned(), (*to).to_owned())).collect();
        assert_eq!(found, expected);
    };
    check(&|_| {}, &[]);
    check(&|world| world.global.security = Some(Security::Deny), &[]);
    check(
        &|world| world.global.host = Some(ExecTarget::Gateway),
        &[(RouteField::Host, "sandbox", "gateway")],
    );
    check(&|world| world.global.ask = Some(Ask::Off), &[(RouteField::Ask, "on-miss", "off")]);
    check(&|world| world.global.node = Some("n".into()), &[]);
    let outside = World { global: host(ExecTarget::Gateway), ..World::default() };
    assert_eq!(loosenings(&outside.standing(THERE), &before.standing(THERE)), []);
    check(
        &|world| world.session.elevated = confirmed(Elevated::Full),
        &[
            (RouteField::Elevated, "off", "full"),
            (RouteField::Security, "allowlist", "full"),
            (RouteField::Ask, "on-miss", "off"),
        ],
    );
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(|at| all[at])
}

fn settings() -> impl Strategy<Value = Settings> {
    let policy = (of(word(Security::ALL)), of(word(Ask::ALL)), of(word(ExecMode::ALL)));
    (of(word(ExecTarget::ALL)), of("[ab]"), policy, any::<bool>(), any::<bool>()).prop_map(
        |(host, node, (security, ask, mode), by_mode, required)| Settings {
            host,
            node,
            mode: mode.filter(|_| by_mode),
            security: security.filter(|_| !by_mode),
            ask: ask.filter(|_| !by_mode),
            sandbox_required: required && by_mode,
        },
    )
}

fn said<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
    weight: Option<Weight>,
) -> impl Strategy<Value = Option<Said<T>>> {
    of((value, any::<bool>()).prop_map(move |(value, confirmed)| {
        let drawn = if confirmed { Weight::Confirmed } else { Weight::Unconfirmed };
        Said { value, weight: weight.unwrap_or(drawn) }
    }))
}

fn overrides(weight: Option<Weight>) -> impl Strategy<Value = Overrides> {
    (
        said(word(ExecTarget::ALL), weight),
        said("[ab]", weight),
        said(word(Security::ALL), weight),
        said(word(Ask::ALL), weight),
        said(word(Elevated::ALL), weight),
    )
        .prop_map(|(host, node, security, ask, elevated)| Overrides {
            host,
            node,
            security,
            ask,
            elevated,
        })
}

fn tool() -> impl Strategy<Value = Tool> {
    (of(word(ExecTarget::ALL)), of("[ab]"), of(word(Security::ALL)), of(word(Ask::ALL)))
        .prop_map(|(host, node, security, ask)| Tool { host, node, security, ask })
}

fn worlds() -> impl Strategy<Value = World> {
    (tool(), overrides(None), overrides(None), settings(), settings())
        .prop_map(|(tool, message, session, agent, global)| World { tool, message, session, agent, global })
}

fn surroundings() -> impl Strategy<Value = Surroundings> {
    (any::<bool>(), any::<bool>()).prop_map(|(there, newest)| Surroundings {
        sandbox: if there { THERE } else { MISSING },
        release: if newest { Release::Newest } else { Release::Early },
    })
}

/// How shut off a host is: one that is not the same and not shut off further is looser.
fn is_as_shut(of: ExecHost, than: ExecHost) -> bool {
    of == than || of == ExecHost::Sandbox
}

proptest! {
    #[test]
    fn a_run_never_loosens_what_it_goes_by(world in worlds(), around in surroundings()) {
        let plain = World { tool: Tool::default(), ..world.clone() };
        let standing = RouteDefaults::of(&plain.layers(), around);
        if let Ok(route) = resolve(&world.layers(), around) {
            prop_assert!(route.security.value >= standing.security.value);
            prop_assert!(route.ask.value >= standing.ask.value);
            // The older release lets an elevated run come back from a node.
            let comes_back = around.release == Release::Early && standing.elevated.value != Elevated::Off;
            let from_auto = standing.target.value == ExecTarget::Auto && around.sandbox == MISSING;
            prop_assert!(comes_back || from_auto || is_as_shut(route.host.value, standing.host));
        }
    }

    #[test]
    fn nothing_runs_in_a_sandbox_that_is_not_there_or_elsewhere_for_that_reason(
        world in worlds(),
        release in any::<bool>(),
    ) {
        let release = if release { Release::Newest } else { Release::Early };
        let gone = resolve(&world.layers(), Surroundings { sandbox: MISSING, release });
        let there = resolve(&world.layers(), Surroundings { sandbox: THERE, release });
        if let Ok(route) = &gone {
            prop_assert_ne!(route.host.value, ExecHost::Sandbox);
        }
        if let (Ok(gone), Ok(there)) = (gone, there) {
            let standing = world.standing(THERE);
            // Only `auto` means whatever is there.
            prop_assert!(gone.host.value == there.host.value || standing.target.value == ExecTarget::Auto);
        }
    }

    #[test]
    fn a_required_sandbox_holds_whatever_is_said(mut world in worlds(), around in surroundings()) {
        world.global.sandbox_required = true;
        if let Ok(route) = resolve(&world.layers(), around) {
            prop_assert_eq!(route.host.value, ExecHost::Sandbox);
            prop_assert_eq!(route.elevated, Elevated::Off);
        }
    }

    #[test]
    fn nothing_that_was_said_outlives_its_revocation(world in worlds(), around in surroundings()) {
        let revoked = World { session: Overrides::default(), message: Overrides::default(), ..world };
        if let Ok(route) = resolve(&revoked.layers(), around) {
            for layer in [route.host.layer, route.security.layer, route.ask.layer] {
                prop_assert!(!matches!(layer, RouteLayer::Session | RouteLayer::Message | RouteLayer::Elevated));
            }
            prop_assert_eq!(route.elevated, Elevated::Off);
        }
    }

    #[test]
    fn what_nobody_confirmed_never_loosens(
        agent in settings(),
        global in settings(),
        session in overrides(Some(Weight::Unconfirmed)),
        message in overrides(Some(Weight::Unconfirmed)),
        around in surroundings(),
    ) {
        let world = World { tool: Tool::default(), message, session, agent, global };
        let plain = World { message: Overrides::default(), session: Overrides::default(), ..world.clone() };
        let (with, without) = (RouteDefaults::of(&world.layers(), around), RouteDefaults::of(&plain.layers(), around));
        let found = loosenings(&without, &with);
        prop_assert!(found.is_empty(), "{:?}", found);
    }

    #[test]
    fn a_stricter_setting_never_lets_more_run(world in worlds(), around in surroundings(), security in word(Security::ALL)) {
        let mut stricter = world;
        stricter.agent.mode = None;
        let before = RouteDefaults::of(&stricter.layers(), around);
        stricter.agent.security = Some(before.security.value.max(security));
        let after = RouteDefaults::of(&stricter.layers(), around);
        prop_assert!(after.security.value >= before.security.value.min(security));
        prop_assert!(loosenings(&before, &after).iter().all(|(field, _, _)| *field != RouteField::Security));
    }
}
