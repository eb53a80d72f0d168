//! Stories in the real app: its windows, its tray, its notifications, and the real command line beside them.
//! Each test is named as what a person is promised.

mod agents;
mod answers;
mod arming;
mod box_doors;
mod boxes;
mod crossings;
mod display;
mod documented;
mod ending;
mod far;
mod first_run;
mod gateway;
mod hostile;
mod instances;
mod kept;
mod keyboard;
mod keyring;
mod limits;
mod looks;
mod node;
mod pets;
mod place;
mod pointer;
mod policy;
mod queue;
mod refusals;
mod served;
mod shell;
mod surroundings;
mod threats;

use anyhow::{Result, anyhow};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;

/// How a story ends.
type Story = Result<()>;

/// Tells a story with the app in this home. When it fails, the cause comes first, and the end of
/// the app's log last.
fn story(home: Result<Home>, shell: Shell, tell: impl FnOnce(&App) -> Story) -> Story {
    let app = App::start(home?, shell)?;
    tell(&app).map_err(|error| {
        // The picture is a help for whoever looks; without it the story has failed all the same.
        let name = std::thread::current().name().unwrap_or("story").replace("::", "-");
        app.shoot(Window::Prompt, &format!("failed-{name}")).ok();
        let told: Vec<String> = error.chain().map(ToString::to_string).rev().chain([app.log()]).collect();
        anyhow!("{}", told.join("\n"))
    })
}

/// A story in a home where everything is asked, on a desktop without tray and notifications.
fn asking(tell: impl FnOnce(&App) -> Story) -> Story {
    story(Home::asking(), Shell::Bare, tell)
}
