//! The first steps and the page of agents, as a person goes through them in the main window.

use crate::app::{App, Window};
use crate::driver::Key;
use anyhow::{Result, bail, ensure};
use serde_json::json;

/// What an element of an agent's card is found by.
#[must_use]
pub fn of(agent: &str, testid: &str) -> String {
    format!("[data-agent=\"{agent}\"] [data-testid=\"{testid}\"]")
}

impl App {
    /// Waits until this is in the main window, and clicks it.
    pub fn click_on(&self, selector: &str) -> Result<()> {
        self.wait_for_element(Window::Main, selector)?;
        ensure!(self.browser()?.click(selector)?, "{selector} went away before it was clicked");
        Ok(())
    }

    /// Waits until the first steps are at this one.
    pub fn wait_for_step(&self, name: &str) -> Result<()> {
        self.wait_for_element(Window::Main, &format!("[data-testid=\"first-steps\"][data-step=\"{name}\"]"))
    }

    /// Waits until nothing in the main window is called so any more.
    pub fn wait_until_gone(&self, testid: &str) -> Result<()> {
        let gone = format!("return document.querySelector('[data-testid=\"{testid}\"]') === null");
        self.wait_in(Window::Main, &format!("{testid} has gone"), &gone).map(|_| ())
    }

    /// Presses Tab until this, which comes into the main window, has the keyboard.
    pub fn tab_to(&self, selector: &str) -> Result<()> {
        self.wait_for_element(Window::Main, selector)?;
        let here = format!("return document.activeElement?.matches({}) ?? false", json!(selector));
        for _ in 0..MOST_TABS {
            if self.browser()?.run::<bool>(&here, json!([]))? {
                return Ok(());
            }
            self.browser()?.press(&[Key::Tab])?;
        }
        bail!("{selector} is not reached by Tab")
    }
}

/// Stops of Tab between any two things of a page that stories look for.
const MOST_TABS: usize = 40;
