//! What a person is told of another agent's call besides the call.

use super::*;
use countersign_protocol::change::ChangeNote;
use countersign_protocol::tools::SubAgent;
use countersign_protocol::ui::{Card, Fact};
use countersign_questions::card::card;
use pretty_assertions::assert_eq;

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** End Patch\n";

impl Rig {
    /// The card of a call that an agent asks about, which is then denied.
    async fn card_of(&self, tool: &str, params: &Value, caller: ToolCaller) -> Card {
        let call = ToolCall { caller, ..self.call(tool, params) };
        let permitted = self.tools.permit(call, &PEER, CancellationToken::new());
        let (_, record) = Box::pin(self.answered(permitted, NO)).await;
        card(&record.unwrap())
    }
}

fn changed<'a>(card: &'a Card) -> Vec<&'a ChangeView> {
    let change = |fact: &'a Fact| match fact {
        Fact::Change { change } => Some(change),
        _ => None,
    };
    card.facts.iter().filter_map(change).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_in_a_command_is_shown_as_its_difference_beside_the_command() {
    let rig = rig();
    fs::write(rig.work().join("a.txt"), "one\n").unwrap();
    let text = format!("apply_patch <<'EOF'\n{PATCH}EOF\n");
    for command in [json!(text), json!(["apply_patch", PATCH]), json!(["bash", "-lc", text])] {
        let card = rig.card_of("shell", &json!({ "command": command }), rig.caller()).await;
        assert_eq!(card.kind, QuestionKind::Permit);
        let [change] = changed(&card)[..] else { panic!("{command}: {:?}", card.facts) };
        assert_eq!((change.change, change.added, change.removed), (ChangeKind::Edit, 1, 1));
        let shown = card.command.segments.iter().flat_map(|segment| &segment.args);
        let texts: Vec<String> = shown.filter_map(|arg| display::original(&arg.shown)).collect();
        assert!(texts.iter().any(|text| text.contains(PATCH)), "all of the text is there: {texts:?}");
        assert_eq!(card.command.hidden, 0);
    }
    assert_eq!(fs::read_to_string(rig.work().join("a.txt")).unwrap(), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_that_does_not_fit_or_comes_with_more_is_only_text() {
    let rig = rig();
    fs::write(rig.work().join("a.txt"), "other\n").unwrap();
    for text in [
        format!("apply_patch <<'EOF'\n{PATCH}EOF\n"),
        format!("apply_patch <<'EOF'\n{}EOF\nwipe\n", PATCH.replace("one", "other")),
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: ../../x\n*** End Patch\nEOF".to_owned(),
    ] {
        let card = rig.card_of("shell", &json!({ "command": text }), rig.caller()).await;
        assert!(changed(&card).is_empty(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_below_an_agent_and_what_goes_on_in_the_background_is_told() {
    let rig = rig();
    let below = SubAgent { id: "a2d1".into(), kind: Some("explorer".into()) };
    let by = |sub_agent| ToolCaller { sub_agent, ..rig.caller() };
    let said = |card: &Card| {
        let sub_agent =
            card.facts.iter().any(|fact| matches!(fact, Fact::SubAgent { made_for: Some(_), .. }));
        (sub_agent, card.facts.contains(&Fact::Background))
    };
    let run = |params: Value, sub_agent| {
        let caller = by(sub_agent);
        let rig = &rig;
        async move { said(&rig.card_of("Bash", &params, caller).await) }
    };
    let command = json!({ "command": "touch a" });
    assert_eq!(run(command.clone(), None).await, (false, false));
    assert_eq!(run(command, Some(below.clone())).await, (true, false));
    let goes_on = json!({ "command": "touch a", "run_in_background": true });
    assert_eq!(run(goes_on, Some(below.clone())).await, (true, true));
    let waits = json!({ "command": "touch a", "is_background": false });
    assert_eq!(run(waits, None).await, (false, false));
    let other = rig.card_of("mcp__chat__post", &json!({}), by(Some(below))).await;
    assert_eq!(said(&other), (true, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_outside_the_agents_folder_is_marked() {
    let rig = rig();
    let inside = rig.work().join("in.txt");
    let outside = rig.home.path().join("out.txt");
    let link = rig.home.path().join("link");
    std::os::unix::fs::symlink(rig.work(), &link).unwrap();
    let through = ToolCaller { workspace: link.display().to_string(), ..rig.caller() };
    for (path, caller, expected) in [
        (&inside, rig.caller(), false),
        (&outside, rig.caller(), true),
        (&inside, through.clone(), false),
        (&outside, through, true),
    ] {
        let params = json!({ "file_path": path, "content": "x\n" });
        let workspace = caller.workspace.clone();
        let card = rig.card_of("Write", &params, caller).await;
        let [change] = changed(&card)[..] else { panic!("{:?}", card.facts) };
        assert_eq!(change.notes.contains(&ChangeNote::Outside), expected, "{path:?} from {workspace}");
        let folder = card.facts.iter().find_map(|fact| match fact {
            Fact::Folder { path, .. } => display::original(path),
            _ => None,
        });
        assert_eq!(folder, Some(workspace), "the folder is the agent's, whatever it writes");
    }
}
