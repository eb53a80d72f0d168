use super::*;
use pretty_assertions::assert_eq;

fn node(id: &str, name: &str, ip: &str) -> Candidate {
    Candidate {
        id: id.to_owned().into(),
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        remote_ip: Some(ip.to_owned()).filter(|ip| !ip.is_empty()),
        connected: true,
        commands: vec!["system.run".to_owned()],
        ..Candidate::default()
    }
}

fn away(mut node: Candidate) -> Candidate {
    node.connected = false;
    node
}

fn world() -> Vec<Candidate> {
    vec![
        node("abcdef-one", "Büro Rechner", "10.0.0.1"),
        node("abcdef-two", "Living Room", "10.0.0.2"),
        away(node("other-1", "living-room", "")),
        // Called like another one's id.
        node("zzz", "abcdef-one", "10.0.0.9"),
    ]
}

fn said(found: Result<&Candidate, NodeError>) -> String {
    found.map_or_else(|error| error.to_string(), |node| format!("→ {}", node.id))
}

/// What a text names in the newest release and in the older one.
fn check(query: &str, newest: &str, early: &str) {
    let world = world();
    assert_eq!(said(find(&world, query, Release::Newest)), newest, "newest, {query:?}");
    assert_eq!(said(find(&world, query, Release::Early)), early, "early, {query:?}");
}

#[test]
fn a_text_names_one_node_or_says_why_not() {
    check(" ", "node required", "node required");
    check("zzz", "→ zzz", "→ zzz");
    // The id comes before the name in the newest release; the older one knows no order.
    check("abcdef-one", "→ abcdef-one", "ambiguous node: abcdef-one (matches: Büro Rechner, abcdef-one)");
    check("10.0.0.2", "→ abcdef-two", "→ abcdef-two");
    check("BÜRO   rechner!", "→ abcdef-one", "→ abcdef-one");
    check(
        "Bu\u{308}ro-Rechner",
        "→ abcdef-one",
        "unknown node: Bu\u{308}ro-Rechner (known: Büro Rechner, Living Room, living-room, abcdef-one)",
    );
    // A tie goes to the one that is connected.
    check("living room", "→ abcdef-two", "→ abcdef-two");
    check("abcde", &unknown("abcde"), &unknown("abcde"));
    check(
        "abcdef",
        "ambiguous node: abcdef (matches: Büro Rechner [node=abcdef-one], Living Room [node=abcdef-two])",
        "ambiguous node: abcdef (matches: Büro Rechner, Living Room)",
    );
    check("abcdef-t", "→ abcdef-two", "→ abcdef-two");
    check("ABCDEF-T", &unknown("ABCDEF-T"), &unknown("ABCDEF-T"));
}

fn unknown(query: &str) -> String {
    format!("unknown node: {query} (known: Büro Rechner, Living Room, living-room, abcdef-one)")
}

#[test]
fn ambiguity_names_programs_and_prefers_the_one_that_was_renamed() {
    let client =
        |id: &str, client: &str| Candidate { client: Some(client.to_owned()), ..node(id, "Desk", "") };
    let two = [client("aaa", "openclaw-macos"), client("bbb", "openclaw-node")];
    assert_eq!(
        said(find(&two, "desk", Release::Newest)),
        "ambiguous node: desk (matches: Desk [node=aaa, client=openclaw-macos], Desk [node=bbb, client=openclaw-node])"
    );
    let renamed = [client("aaa", "clawdbot-macos"), client("bbb", "openclaw-node")];
    assert_eq!(said(find(&renamed, "desk", Release::Newest)), "→ bbb");
    assert_eq!(said(find(&[], "x", Release::Newest)), "unknown node: x");
}

#[test]
fn marks_and_signs_are_part_of_a_name_only_where_letters_carry_them() {
    for (name, normal) in [
        ("Ｌab  2", "ｌab-2"),
        ("नमस्ते दुनिया", "नमस्ते-दुनिया"),
        ("📱 Phone", "phone"),
        ("1\u{fe0f}\u{20e3} First", "1-first"),
        ("-\u{301}x", "x"),
        ("--", ""),
    ] {
        assert_eq!(normal_name(name), normal, "{name:?}");
    }
}

#[test]
fn the_newest_release_takes_what_can_run_and_asks_when_there_are_several() {
    let check = |nodes: &[Candidate], bound, requested, expected: &str| {
        assert_eq!(said(choose(nodes, bound, requested, Release::Newest)), expected);
    };
    let paired =
        "exec host=node requires a paired node (none available). This requires a companion app or node host.";
    check(&[], None, Some("x"), paired);
    let mute = Candidate { commands: Vec::new(), ..node("mute", "", "") };
    let none = "exec host=node requires a connected node that supports system.run (none available). Start or reconnect the companion app or node host.";
    check(&[mute.clone(), away(node("a", "", ""))], None, None, none);
    check(&[mute.clone(), node("a", "", "")], None, Some(" "), "→ a");
    let several = "exec host=node requires a node when multiple executable nodes are connected: a, b (Bee). Set exec.node, tools.exec.node, or /exec node=...";
    let two = [node("a", "", ""), node("b", "Bee", ""), mute];
    check(&two, None, None, several);
    check(&two, Some("bee"), None, "→ b");
    check(&two, None, Some("b"), "→ b");
    check(&two, Some("bee"), Some("b"), "→ b");
    check(&two, Some("b"), Some("a"), "exec node not allowed (bound to b, requested resolved to a)");
    check(&two, None, Some("c"), "requested node not found: c (unknown node: c (known: a, Bee, mute))");
    let not = "exec host=node requires a connected node that supports system.run (mute is not eligible; eligible node ids: a, b).";
    check(&two, Some("mute"), None, not);
}

#[test]
fn the_older_release_goes_by_what_a_node_shows() {
    let check = |nodes: &[Candidate], bound, requested, expected: &str| {
        assert_eq!(said(choose(nodes, bound, requested, Release::Early)), expected);
    };
    let caps = |id: &str, caps: &[&str]| Candidate {
        caps: Some(caps.iter().map(|cap| (*cap).to_owned()).collect()),
        ..node(id, "", "")
    };
    let several = "exec host=node requires a node id when multiple nodes are available (set tools.exec.node or exec.node).";
    check(&[caps("linux", &["system"])], None, None, several);
    check(&[caps("linux", &["system"]), caps("tablet", &["canvas"])], None, None, "→ tablet");
    check(&[node("a", "", ""), node("b", "", "")], None, None, several);
    let mac = Candidate { platform: Some("macOS".into()), ..node("mac-1", "", "") };
    check(&[node("a", "", ""), mac], None, None, "→ mac-1");
    check(&[node("a", "", "")], Some("a"), Some("b"), "exec node not allowed (bound to a)");
    let mute = Candidate { commands: Vec::new(), ..node("mute", "", "") };
    let nothing = "exec host=node requires a node that supports system.run (companion app or node host).";
    check(&[mute], Some("mute"), None, nothing);
}
