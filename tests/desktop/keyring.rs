//! Where the secret of a gateway goes: into the desktop's keyring where one works, else into a private file;
//! and what happens when the keyring does not give it out.

use crate::{Story, story};
use anyhow::{Context, Result, anyhow, ensure};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::gateway::Alone;
use countersign_tests::home::Home;
use countersign_tests::keyring::{Keyring, Person, Service};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};

/// A story in which the app may use the keyring of its desktop, and a gateway that knows its token.
fn with_gateway(tell: impl FnOnce(&App, &Alone) -> Story) -> Story {
    let gateway = Alone::start(Home::asking()?)?;
    let home = Home::asking().map(|home| home.with_variable("COUNTERSIGN_KEYRING", "1"));
    story(home, Shell::Full, |app| {
        app.start_again(&[])?;
        tell(app, &gateway)
    })
}

#[test]
fn a_token_goes_into_the_keyring_and_comes_back_from_it() -> Story {
    with_gateway(|app, gateway| {
        let keyring = Keyring::start(app.bus_address(), Service::Answers)?;
        let id = save(app, gateway, None, json!({ "kind": "set", "value": Alone::TOKEN }))?;
        let view = wait_until(app, "the app is connected", |view| view["state"]["kind"] == "connected")?;
        ensure!(view["secret"] == "keyring", "expected it in the keyring, got {view}");
        ensure!(keyring.secrets() == [Alone::TOKEN], "it is not there");
        ensure!(files(app)?.is_empty(), "it is in a file too: {:?}", files(app)?);
        // The person takes it back.
        save(app, gateway, Some(&id), json!({ "kind": "clear" }))?;
        ensure!(keyring.secrets().is_empty(), "it was left in the keyring");
        Ok(())
    })
}

#[test]
fn a_keyring_that_is_locked_keeps_nothing_up_and_nothing_is_lost() -> Story {
    with_gateway(|app, gateway| {
        let keyring = Keyring::start(app.bus_address(), Service::Answers)?;
        let id = save(app, gateway, None, json!({ "kind": "set", "value": Alone::TOKEN }))?;
        wait_until(app, "the app is connected", |view| view["state"]["kind"] == "connected")?;
        keyring.lock(Person::Dismisses);
        save(app, gateway, Some(&id), json!({ "kind": "keep" }))?;
        let view = wait_until(app, "the page says what is wrong", |view| {
            view["state"]["problem"]["kind"] == "secret-withheld"
        })?;
        ensure!(view["secret"] == "keyring", "{view}");
        ensure!(keyring.asked() == 1, "the person was asked {} times", keyring.asked());
        ensure!(keyring.secrets() == [Alone::TOKEN], "the secret is lost");
        keyring.lock(Person::Unlocks);
        app.invoke(Window::Main, "retry_gateway", json!({ "id": id }))?
            .map_err(|error| anyhow!("{error}"))?;
        wait_until(app, "the app is connected again", |view| view["state"]["kind"] == "connected")?;
        ensure!(keyring.asked() == 2, "the person was asked {} times", keyring.asked());
        Ok(())
    })
}

#[test]
fn without_a_keyring_that_answers_a_token_goes_into_a_private_file() -> Story {
    for silent in [true, false] {
        with_gateway(|app, gateway| {
            let keyring = silent.then(|| Keyring::start(app.bus_address(), Service::Silent)).transpose()?;
            save(app, gateway, None, json!({ "kind": "set", "value": Alone::TOKEN }))?;
            let view = wait_until(app, "the app is connected", |view| view["state"]["kind"] == "connected")?;
            ensure!(view["secret"] == "file", "expected it in a file, got {view}");
            ensure!(files(app)?.len() == 1, "expected one file, got {:?}", files(app)?);
            drop(keyring);
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn an_app_with_a_state_folder_of_its_own_leaves_the_keyring_alone() -> Story {
    let gateway = Alone::start(Home::asking()?)?;
    story(Home::asking(), Shell::Full, |app| {
        app.start_again(&[])?;
        let keyring = Keyring::start(app.bus_address(), Service::Answers)?;
        save(app, &gateway, None, json!({ "kind": "set", "value": Alone::TOKEN }))?;
        let view = wait_until(app, "the app is connected", |view| view["state"]["kind"] == "connected")?;
        ensure!(view["secret"] == "file" && keyring.secrets().is_empty(), "it went to the keyring: {view}");
        Ok(())
    })
}

/// Stores the gateway as the form does; the app's id for it.
fn save(app: &App, gateway: &Alone, id: Option<&str>, secret: Value) -> Result<String> {
    let edit = json!({
        "id": id, "name": "kept", "url": gateway.url(), "enabled": true, "seesAgents": false, "secretKind": "token",
        "secret": secret,
    });
    let saved = app.invoke(Window::Main, "save_gateway", json!({ "edit": edit }))?;
    let saved = saved.map_err(|error| anyhow!("the app did not take {edit}: {error}"))?;
    Ok(saved["gateways"][0]["id"].as_str().context("no gateway was stored")?.to_owned())
}

fn wait_until(app: &App, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    let mut last = Value::Null;
    let found = wait_for(what, PATIENCE, || {
        let mut view =
            app.invoke(Window::Main, "connections", json!({}))?.map_err(|error| anyhow!("{error}"))?;
        last = view["gateways"][0].take();
        Ok(wanted(&last).then(|| last.clone()))
    });
    found.with_context(|| format!("the gateway was {last}"))
}

/// Files with secrets that people gave.
fn files(app: &App) -> Result<Vec<String>> {
    let folder = std::fs::read_dir(app.home.state().join("gateways"))?;
    let names = folder.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<Result<Vec<_>>>()?;
    Ok(names.into_iter().filter(|name| name.ends_with(".secret")).collect())
}
