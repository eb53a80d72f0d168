//! A screen without hardware: what is on it, and the keyboard and mouse in front of it. Desktops that draw
//! themselves are nested in it, so that all of them are seen and touched in the same way, from outside.

use super::picture::Picture;
use crate::process::{Background, PATIENCE, command, wait_for};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConfigureWindowAux, ConnectionExt, CreateWindowAux,
    ImageFormat, InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, MapState, Window,
    WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// A key by what is on it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Control.
    Control,
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// Shift.
    Shift,
    /// Tabulator.
    Tab,
}

impl Key {
    /// What X calls it.
    fn symbol(self) -> u32 {
        match self {
            // The printable characters of ASCII stand for themselves.
            Self::Char(char) => char.into(),
            Self::Control => 0xFFE3,
            Self::Enter => 0xFF0D,
            Self::Escape => 0xFF1B,
            Self::Shift => 0xFFE1,
            Self::Tab => 0xFF09,
        }
    }
}

/// The screen. It goes dark when dropped.
pub struct Screen {
    connection: RustConnection,
    root: Window,
    size: (u16, u16),
    keys: HashMap<u32, u8>,
    name: String,
    /// See [`Screen::have_it_entered`].
    entered_from: Option<(usize, usize)>,
    _server: Background,
}

impl Screen {
    /// Starts one of this size, in pixels.
    pub fn start(size: (u16, u16)) -> Result<Self> {
        let mut server = command("Xvfb");
        let geometry = format!("{}x{}x24", size.0, size.1);
        server.args(["-displayfd", "1", "-screen", "0", &geometry, "-nolisten", "tcp", "-noreset"]);
        let (server, number) = Background::start_and_read_line(server.stderr(Stdio::null()))?;
        let name = format!(":{number}");
        let (connection, screen) = x11rb::connect(Some(&name))?;
        let setup = connection.setup();
        let root = setup.roots.get(screen).context("no screen")?.root;
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let map = connection.get_keyboard_mapping(first, last - first + 1)?.reply()?;
        let columns = usize::from(map.keysyms_per_keycode).max(1);
        let mut keys = HashMap::new();
        for (code, symbols) in (first..=last).zip(map.keysyms.chunks(columns)) {
            // Only what a key gives without Shift, and by the first key that has it.
            keys.entry(symbols[0]).or_insert(code);
        }
        Ok(Self { connection, root, size, keys, name, entered_from: None, _server: server })
    }

    /// Its name, as `DISPLAY`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// What it shows now.
    pub fn picture(&self) -> Result<Picture> {
        let (width, height) = self.size;
        let image = self
            .connection
            .get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, u32::MAX)?
            .reply()?;
        // Blue, green, red, nothing.
        let pixels = image.data.chunks_exact(4).map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect();
        Picture::new(width.into(), pixels)
    }

    /// Waits for the window of a desktop that draws itself, has it fill the screen, and gives it the
    /// keyboard: there is no window manager outside of it.
    pub fn give_all_to_nested(&self) -> Result<()> {
        let window = wait_for("the desktop has a window", PATIENCE, || {
            for window in self.connection.query_tree(self.root)?.reply()?.children {
                let Ok(shown) = self.connection.get_window_attributes(window)?.reply() else { continue };
                let Ok(size) = self.connection.get_geometry(window)?.reply() else { continue };
                if shown.map_state == MapState::VIEWABLE && size.width > 100 {
                    return Ok(Some(window));
                }
            }
            Ok(None)
        })?;
        let all =
            ConfigureWindowAux::new().x(0).y(0).width(u32::from(self.size.0)).height(u32::from(self.size.1));
        self.connection.configure_window(window, &all)?;
        self.connection.set_input_focus(InputFocus::POINTER_ROOT, window, x11rb::CURRENT_TIME)?;
        self.settle()
    }

    /// From now on the pointer goes to any place from a corner that is not the nested desktop's. One that
    /// adds up how far the pointer went hears where it is only when it comes in, and is soon wrong about it.
    pub fn have_it_entered(&mut self) -> Result<()> {
        let corner = (self.size.0 - 1, self.size.1 - 1);
        let window = self.connection.generate_id()?;
        let (left, top) = (i16::try_from(corner.0)?, i16::try_from(corner.1)?);
        let above = CreateWindowAux::new().override_redirect(1);
        let kind = WindowClass::INPUT_ONLY;
        self.connection.create_window(0, window, self.root, left, top, 1, 1, 0, kind, 0, &above)?;
        self.connection.map_window(window)?;
        self.entered_from = Some((corner.0.into(), corner.1.into()));
        self.settle()
    }

    /// Whether a window manager has said that it is there.
    pub fn has_manager(&self) -> Result<bool> {
        let atom = self.connection.intern_atom(false, b"_NET_SUPPORTING_WM_CHECK")?.reply()?.atom;
        let told = self.connection.get_property(false, self.root, atom, AtomEnum::WINDOW, 0, 1)?.reply()?;
        Ok(told.value_len > 0)
    }

    /// Whether a panel takes the windows of tray icons.
    pub fn has_tray(&self) -> Result<bool> {
        let atom = self.connection.intern_atom(false, b"_NET_SYSTEM_TRAY_S0")?.reply()?.atom;
        Ok(self.connection.get_selection_owner(atom)?.reply()?.owner != x11rb::NONE)
    }

    /// Presses keys in order, holding each until the last is down, then releases them.
    pub fn press(&self, keys: &[Key]) -> Result<()> {
        for key in keys {
            self.fake(KEY_PRESS_EVENT, self.code(*key)?)?;
        }
        for key in keys.iter().rev() {
            self.fake(KEY_RELEASE_EVENT, self.code(*key)?)?;
        }
        self.settle()
    }

    /// Puts the pointer somewhere.
    pub fn point_at(&self, place: (usize, usize)) -> Result<()> {
        for (left, top) in self.entered_from.into_iter().chain([place]) {
            self.move_to(left, top)?;
        }
        Ok(())
    }

    fn move_to(&self, left: usize, top: usize) -> Result<()> {
        let (left, top) = (i16::try_from(left)?, i16::try_from(top)?);
        self.connection.xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, self.root, left, top, 0)?;
        self.settle()
    }

    /// Puts the pointer somewhere and leaves it there for as long as things take to unfold under it.
    pub fn hover(&self, (left, top): (usize, usize)) -> Result<()> {
        self.point_at((left.saturating_sub(2), top))?;
        self.after(HOVER).point_at((left, top))?;
        self.after(UNFOLD);
        Ok(())
    }

    /// Clicks somewhere with the first button.
    pub fn click(&self, place: (usize, usize)) -> Result<()> {
        self.point_at(place)?;
        self.click_here()
    }

    /// Clicks where the pointer is, with the first button, as long as a finger does.
    pub fn click_here(&self) -> Result<()> {
        self.after(HOVER).fake(BUTTON_PRESS_EVENT, 1)?;
        self.settle()?;
        self.after(HOLD).fake(BUTTON_RELEASE_EVENT, 1)?;
        self.settle()?;
        self.after(HOLD);
        Ok(())
    }

    /// Lets a moment pass: hands are slow, and what is faster than any is taken for something else.
    fn after(&self, moment: Duration) -> &Self {
        std::thread::sleep(moment);
        self
    }

    fn code(&self, key: Key) -> Result<u8> {
        self.keys.get(&key.symbol()).copied().with_context(|| format!("the keyboard has no {key:?}"))
    }

    fn fake(&self, kind: u8, detail: u8) -> Result<()> {
        self.connection.xtest_fake_input(kind, detail, 0, x11rb::NONE, 0, 0, 0)?;
        Ok(())
    }

    /// Returns when the server has done what it was told.
    fn settle(&self) -> Result<()> {
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }
}

/// How long a pointer is on something before it is pressed, and how long it is pressed.
const HOVER: Duration = Duration::from_millis(120);
const UNFOLD: Duration = Duration::from_secs(1);
const HOLD: Duration = Duration::from_millis(60);
