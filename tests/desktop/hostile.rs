//! Commands that try to look like something else.

use crate::{Story, asking};
use anyhow::ensure;
use countersign_tests::app::Window;
use countersign_tests::wire::Wire;
use serde_json::json;

#[test]
fn hidden_characters_are_shown_as_what_they_are_and_markup_stays_text() -> Story {
    asking(|app| {
        let argv = [
            "printf",
            "%s\\n",
            "safe\u{202E}cod.exe",
            "zero\u{200B}width\u{FEFF}",
            "\u{1B}[2J\u{1B}[31mred",
            "שלום\u{2067}עולם",
            "p\u{0430}ypal",
            "line\nbreak\ttab\rback",
            "<img src=x onerror=\"document.body.dataset.owned='yes'\">",
            "<script>document.body.dataset.owned='yes'</script></div></main>",
            "{{7*7}}${7*7}",
            "trailing ",
            "",
        ];
        let (running, prompt) = app.raise(&argv)?;
        assert_eq!(prompt.words.len(), argv.len(), "{:?}", prompt.words);
        assert_eq!(prompt.words[2], "safeU+202Ecod.exe");
        assert_eq!(prompt.words[3], "zeroU+200BwidthU+FEFF");
        assert_eq!(prompt.words[4], "U+001B[2JU+001B[31mred");
        // Lines of an argument are lines, each with a sign at its end; what goes back over what was
        // there is not one.
        assert_eq!(prompt.words[7], "linebreak\ttabU+000Dback");
        assert_eq!(prompt.words[9], argv[9]);
        assert_eq!(app.browser()?.run::<Vec<String>>(INJECTED, json!([]))?, Vec::<String>::new());
        app.shoot(Window::Prompt, "prompt-hostile")?;
        app.allow_once()?;
        let expected: String = argv[2..].iter().map(|word| format!("{word}\n")).collect();
        assert_eq!(running.finish()?.expect_code(0)?.stdout, expected);
        Ok(())
    })
}

#[test]
fn names_of_agent_and_session_cannot_break_the_header() -> Story {
    asking(|app| {
        let agent = format!("<b>root</b>\u{202E}{}", "very long ".repeat(200));
        let session = "\n\n\n</p><h1>Allowed</h1>";
        let arguments = ["exec", "--agent", &agent, "--session", session, "--", "echo", "who"];
        let running = app.home.start(&arguments)?;
        app.wait_for_card("who")?;
        assert_eq!(app.browser()?.run::<Vec<String>>(INJECTED, json!([]))?, Vec::<String>::new());
        let verdict: bool = app.browser()?.run(VERDICT_IN_VIEW, json!([]))?;
        ensure!(verdict, "a long name pushed the buttons away");
        app.shoot(Window::Prompt, "prompt-hostile-names")?;
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn a_command_with_a_nul_is_refused_before_anybody_is_asked() -> Story {
    asking(|app| {
        let wire = Wire::exec(&app.home, &json!({ "command": ["echo", "a\u{0}b"] }))?;
        let answer = wire.answer()?.unwrap_or_default();
        assert_eq!(
            (&answer["ok"], &answer["error"]["code"]),
            (&json!(false), &json!("INVALID_REQUEST")),
            "{answer}"
        );
        assert_eq!(app.pending_ids()?, Vec::<String>::new());
        Ok(())
    })
}

#[test]
fn as_many_arguments_as_can_be_shown_can_be_allowed_and_one_more_cannot() -> Story {
    asking(|app| {
        let mut argv = vec!["true"];
        argv.extend(["x"; 4_095]);
        let (running, _) = app.raise(&argv)?;
        let blocked = "return document.querySelector('[data-testid=\"blocked\"]') !== null";
        ensure!(!app.browser()?.run::<bool>(blocked, json!([]))?, "4 096 words cannot be allowed");
        app.deny()?;
        running.finish()?.expect_code(200)?;
        app.wait_for_blank()?;

        argv.extend(["x"; 2]);
        let (running, prompt) = app.raise(&argv)?;
        app.wait_for_element(Window::Prompt, "[data-testid=\"blocked\"]")?;
        let params = json!({
            "id": prompt.card, "generation": prompt.generation, "paint": 1, "decision": "allow-once",
        });
        let refused = app.invoke(Window::Prompt, "decide", json!({ "params": params }))?;
        assert_eq!(refused.err().map(|error| error["code"].clone()), Some(json!("invalid")));
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

#[test]
fn one_huge_word_stays_inside_the_window() -> Story {
    asking(|app| {
        let word = "W".repeat(100_000);
        let (running, _) = app.raise(&["echo", &word])?;
        let inside = "return document.documentElement.scrollWidth <= innerWidth";
        ensure!(app.browser()?.run::<bool>(inside, json!([]))?, "the page is wider than its window");
        ensure!(app.browser()?.run::<bool>(VERDICT_IN_VIEW, json!([]))?, "the buttons are out of view");
        app.deny()?;
        running.finish()?.expect_code(200).map(|_| ())
    })
}

/// What would be in the page if text of a request had become part of it.
const INJECTED: &str = r#"
    const alien = [...document.querySelectorAll('img, h1:not(#verb), main script, [onerror], main ~ main, b b')];
    const owned = document.body.dataset.owned;
    return [...alien.map((element) => element.outerHTML), ...(owned ? [owned] : [])];
"#;

/// Whether every button of the verdict can be seen and pointed at.
pub(crate) const VERDICT_IN_VIEW: &str = r#"
    const buttons = ['deny', 'allow-once'].map((id) => document.querySelector(`[data-testid="${id}"]`));
    return buttons.every((button) => {
      if (!button) return false;
      const { left, top, right, bottom, width, height } = button.getBoundingClientRect();
      const hit = document.elementFromPoint(left + width / 2, top + height / 2);
      return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && button.contains(hit);
    });
"#;
