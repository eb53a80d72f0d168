//! Looks at real pixels of the X server.

use anyhow::{Context, Result, bail};
use countersign_tests::process::wait_for;
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConnectionExt, EventMask, ImageFormat, MapState, Window,
};
use x11rb::rust_connection::RustConnection;

/// A connection to the display that the app draws on.
pub(crate) struct Screen {
    connection: RustConnection,
    root: Window,
}

impl Screen {
    pub(crate) fn open(display: &str) -> Result<Self> {
        let (connection, number) = x11rb::connect(Some(display))?;
        let root = connection.setup().roots.get(number).context("no screen")?.root;
        Ok(Self { connection, root })
    }

    /// Returns as soon as the prompt's Deny button has its colour on the screen.
    pub(crate) fn wait_for_deny_button(&self, limit: Duration) -> Result<()> {
        let started = Instant::now();
        // The hidden window of a warm prompt is known before: searching the whole tree again and again would
        // take a core from those who draw, and so would asking without a pause.
        let known = self.app_windows()?;
        while started.elapsed() < limit {
            let found = if known.is_empty() { self.app_windows()? } else { known.clone() };
            for window in found {
                if self.shows_deny_button(window).unwrap_or(false) {
                    return Ok(());
                }
            }
            std::thread::sleep(GLANCE);
        }
        bail!("no prompt on the screen within {} s", limit.as_secs())
    }

    /// Returns when no prompt window is visible.
    pub(crate) fn wait_until_hidden(&self, limit: Duration) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < limit {
            if self.prompt()?.is_none() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        bail!("the prompt is still on the screen after {} s", limit.as_secs())
    }

    /// Whether a GTK program has already asked GL about this display.
    pub(crate) fn has_gdk_visuals(&self) -> Result<bool> {
        let atom = self.connection.intern_atom(false, b"GDK_VISUALS")?.reply()?.atom;
        let property = self.connection.get_property(false, self.root, atom, AtomEnum::ANY, 0, 8)?.reply()?;
        Ok(property.value_len > 0)
    }

    /// Has the hidden prompt window destroyed, as its close button does.
    pub(crate) fn close_prompt(&self) -> Result<()> {
        let protocols = self.connection.intern_atom(false, b"WM_PROTOCOLS")?.reply()?.atom;
        let delete = self.connection.intern_atom(false, b"WM_DELETE_WINDOW")?.reply()?.atom;
        // It has just been hidden.
        let find = || Ok(Some(self.app_windows()?).filter(|windows| !windows.is_empty()));
        let windows = wait_for("there is a prompt window to close", CLOSE_LIMIT, find)?;
        for window in &windows {
            let event =
                ClientMessageEvent::new(32, *window, protocols, [delete, x11rb::CURRENT_TIME, 0, 0, 0]);
            self.connection.send_event(false, *window, EventMask::NO_EVENT, event)?;
        }
        self.connection.flush()?;
        let started = Instant::now();
        while started.elapsed() < CLOSE_LIMIT {
            let left = self.app_windows()?;
            if windows.iter().all(|window| !left.contains(window)) {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        bail!("the prompt window was not destroyed")
    }

    /// The visible prompt window.
    fn prompt(&self) -> Result<Option<Window>> {
        for window in self.app_windows()? {
            let Ok(attributes) = self.connection.get_window_attributes(window)?.reply() else { continue };
            if attributes.map_state == MapState::VIEWABLE {
                return Ok(Some(window));
            }
        }
        Ok(None)
    }

    /// Windows of the app as large as a prompt, whatever frames a window manager puts around them. Their
    /// titles say what they show.
    fn app_windows(&self) -> Result<Vec<Window>> {
        let mut found = Vec::new();
        let mut todo = vec![self.root];
        while let Some(parent) = todo.pop() {
            let Ok(tree) = self.connection.query_tree(parent)?.reply() else { continue };
            for child in tree.children {
                let class =
                    self.connection.get_property(false, child, AtomEnum::WM_CLASS, AtomEnum::ANY, 0, 64)?;
                let Ok(geometry) = self.connection.get_geometry(child)?.reply() else { continue };
                if geometry.width < MIN_WIDTH {
                    continue;
                }
                match class.reply() {
                    Ok(class) if class.value.starts_with(APP_CLASS) => found.push(child),
                    _ => todo.push(child),
                }
            }
        }
        Ok(found)
    }

    /// Looks at a column through the button, beside its label; a window that is not visible has no
    /// pixels to look at.
    fn shows_deny_button(&self, window: Window) -> Result<bool> {
        let geometry = self.connection.get_geometry(window)?.reply()?;
        let top = i16::try_from(geometry.height.saturating_sub(STRIP))?;
        let image =
            self.connection.get_image(ImageFormat::Z_PIXMAP, window, COLUMN, top, 1, STRIP, u32::MAX)?;
        let pixels = image.reply()?.data;
        let dark = pixels.chunks_exact(4).filter(|pixel| pixel.starts_with(&DENY_FILL)).count();
        Ok(dark >= MIN_DARK)
    }
}

/// How the class of the app's windows begins.
const APP_CLASS: &[u8] = b"Countersign";

/// Fill of the Deny button in the light theme (#1f2732), as the server stores it: blue, green, red.
const DENY_FILL: [u8; 3] = [0x32, 0x27, 0x1f];

/// Pixels from the window's left edge: inside the button, left of its label.
const COLUMN: i16 = 30;

/// Pixels from the window's bottom that are looked at.
const STRIP: u16 = 70;

/// Rows of the button that must have its colour: most of its 40.
const MIN_DARK: usize = 25;

/// Anything narrower is a tray icon or a helper window.
const MIN_WIDTH: u16 = 300;

/// Between two looks at the pixels; it is the error of a time measured with them.
const GLANCE: Duration = Duration::from_millis(1);

const POLL: Duration = Duration::from_millis(5);
const CLOSE_LIMIT: Duration = Duration::from_secs(5);
