//! Which desktops there are, and what each has by its own account.

use std::fmt;

/// A desktop as somebody has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// X11 with openbox, tint2 and dunst.
    Openbox,
    /// sway, which makes every window as large as the others leave room for.
    SwayTiled,
    /// sway where windows float.
    SwayFloating,
    /// Weston.
    Weston,
    /// Xfce with its panel and notification server.
    Xfce,
    /// LXQt with its panel and notification server, on openbox.
    Lxqt,
    /// MATE with its panel and notification server.
    Mate,
    /// GNOME Shell, as it comes: without a tray.
    Gnome,
    /// KWin without Plasma's shell.
    Kwin,
    /// cage, which shows one window at a time, as on a kiosk.
    Cage,
    /// X11 with openbox and a session bus on which nothing answers.
    NoTray,
    /// X11 with openbox and no session bus.
    NoBus,
}

/// How a desktop speaks to its programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// X11.
    X11,
    /// Wayland.
    Wayland,
}

/// Where a desktop shows what the app tells of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tray {
    /// In its panel, asked over the session bus.
    Items,
    /// In its panel, asked over the session bus, but not as the app draws it, and why.
    Stand(&'static str),
    /// In its panel, as a window of the app's in it.
    Embedded,
    /// Nowhere, and why.
    Nowhere(&'static str),
}

/// How somebody presses a button of a notification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Buttons {
    /// On it: so many pixels from the right and the lower edge of the notification, which comes up
    /// beside the prompt.
    At(usize, usize),
    /// The same within the banner of GNOME Shell, which unfolds under the pointer at the top of the screen.
    Banner,
    /// By the server's own command.
    Command(&'static [&'static str]),
    /// Not at all, and why.
    None(&'static str),
}

impl Kind {
    /// Every desktop; every change is tried on the first.
    pub const ALL: [Self; 12] = [
        Self::Openbox,
        Self::SwayTiled,
        Self::SwayFloating,
        Self::Weston,
        Self::Xfce,
        Self::Lxqt,
        Self::Mate,
        Self::Gnome,
        Self::Kwin,
        Self::Cage,
        Self::NoTray,
        Self::NoBus,
    ];

    /// Its name, for a command line and for files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Openbox => "openbox",
            Self::SwayTiled => "sway-tiled",
            Self::SwayFloating => "sway-floating",
            Self::Weston => "weston",
            Self::Xfce => "xfce",
            Self::Lxqt => "lxqt",
            Self::Mate => "mate",
            Self::Gnome => "gnome",
            Self::Kwin => "kwin",
            Self::Cage => "cage",
            Self::NoTray => "no-tray",
            Self::NoBus => "no-bus",
        }
    }

    /// What it is, for a reader.
    pub fn title(self) -> &'static str {
        match self {
            Self::Openbox => "openbox with tint2 and dunst",
            Self::SwayTiled => "sway, tiled, with its bar and mako",
            Self::SwayFloating => "sway, floating, with its bar and mako",
            Self::Weston => "Weston",
            Self::Xfce => "Xfce with panel and notification server",
            Self::Lxqt => "LXQt with panel and notification server",
            Self::Mate => "MATE with panel and notification server",
            Self::Gnome => "GNOME Shell without extensions",
            Self::Kwin => "KWin without Plasma",
            Self::Cage => "cage",
            Self::NoTray => "openbox, nothing on the session bus",
            Self::NoBus => "openbox, no session bus",
        }
    }

    /// How it speaks to its programs.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Openbox | Self::Xfce | Self::Lxqt | Self::Mate | Self::NoTray | Self::NoBus => {
                Protocol::X11
            }
            Self::SwayTiled | Self::SwayFloating | Self::Weston | Self::Gnome | Self::Kwin | Self::Cage => {
                Protocol::Wayland
            }
        }
    }

    /// Where it shows the tray icon.
    pub fn tray(self) -> Tray {
        match self {
            Self::Openbox => Tray::Embedded,
            Self::SwayTiled | Self::SwayFloating => Tray::Stand(
                "sway's own bar draws a red dot for icons that are given as files, as libayatana gives them",
            ),
            Self::Xfce | Self::Lxqt | Self::Mate => Tray::Items,
            Self::Weston => Tray::Nowhere("Weston has no tray"),
            Self::Gnome => Tray::Nowhere("GNOME Shell has no tray without an extension"),
            Self::Kwin => Tray::Nowhere("Plasma's shell has the tray, KWin alone has none"),
            Self::Cage => Tray::Nowhere("cage has no tray"),
            Self::NoTray => Tray::Nowhere("nothing on this desktop shows one"),
            Self::NoBus => Tray::Nowhere("trays are asked over the session bus"),
        }
    }

    /// How a notification's button is pressed there.
    pub fn buttons(self) -> Buttons {
        match self {
            Self::Openbox => Buttons::Command(&["dunstctl", "context"]),
            Self::SwayTiled | Self::SwayFloating => Buttons::Command(&["makoctl", "invoke", "deny"]),
            Self::Xfce => Buttons::At(57, 32),
            Self::Lxqt => Buttons::At(107, 36),
            Self::Mate => Buttons::At(65, 27),
            Self::Gnome => Buttons::Banner,
            Self::Weston => Buttons::None("Weston has no notification server"),
            Self::Kwin => Buttons::None("Plasma's shell shows notifications, KWin alone has none"),
            Self::Cage => Buttons::None("cage has no notification server"),
            Self::NoTray => Buttons::None("nothing on this desktop shows any"),
            Self::NoBus => Buttons::None("notifications are sent over the session bus"),
        }
    }

    /// Why windows cannot be had at twice their size there, if so.
    pub fn unscaled(self) -> Option<&'static str> {
        matches!(self, Self::Cage).then_some("cage has no setting for it")
    }

    /// Why a window that comes up has the keyboard at once there, if the desktop gives it that
    /// whatever the app wants.
    pub fn gives_focus(self) -> Option<&'static str> {
        match self {
            Self::Weston => Some("Weston gives the keyboard to each new window"),
            Self::Gnome => Some("GNOME Shell gives the keyboard to each new window of Wayland"),
            Self::Kwin => Some("KWin 5 gives the keyboard to each new window of Wayland"),
            Self::Cage => Some("cage gives the keyboard, and the whole screen, to each new window"),
            Self::Openbox
            | Self::SwayTiled
            | Self::SwayFloating
            | Self::Xfce
            | Self::Lxqt
            | Self::Mate
            | Self::NoTray
            | Self::NoBus => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// How a desktop looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Look {
    /// Its colours.
    pub theme: Theme,
    /// Pixels of the screen to one of a window's.
    pub scale: usize,
}

/// Colours of a desktop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Look {
    /// Light, each pixel one of the screen's.
    pub const PLAIN: Self = Self { theme: Theme::Light, scale: 1 };
    /// Dark, each pixel one of the screen's.
    pub const DARK: Self = Self { theme: Theme::Dark, scale: 1 };
    /// Light, each pixel four of the screen's.
    pub const LARGE: Self = Self { theme: Theme::Light, scale: 2 };

    /// A screen on which the windows have the same room whatever their scale.
    pub fn screen(self) -> (u16, u16) {
        if self.scale == 1 { (1280, 800) } else { (2560, 1600) }
    }
}
