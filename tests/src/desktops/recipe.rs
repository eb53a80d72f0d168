//! What each desktop is made of, and how it is started: with nothing but what comes with it,
//! and no animations.

use super::bus::Bus;
use super::kind::{Kind, Look, Protocol, Theme};
use super::picture::Colour;
use super::place::Place;
use crate::process::{PATIENCE, wait_for};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The programs of a desktop.
pub(super) fn programs(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Openbox => &["openbox", "tint2", "dunst", "dunstctl"],
        Kind::SwayTiled | Kind::SwayFloating => &["sway", "swaybar", "mako", "makoctl"],
        Kind::Weston => &["weston"],
        Kind::Xfce => &["xfwm4", "xfsettingsd", "xfce4-panel", "xfce4-notifyd"],
        Kind::Lxqt => &["openbox", "lxqt-panel", "lxqt-notificationd"],
        Kind::Mate => &["marco", "mate-panel", "mate-notification-daemon"],
        Kind::Gnome => &["gnome-shell", "gjs"],
        Kind::Kwin => &["kwin_wayland"],
        Kind::Cage => &["cage"],
        Kind::NoTray | Kind::NoBus => &["openbox"],
    }
}

/// How the names of the services begin that can be started on its bus.
pub(super) fn services(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Xfce => &["org.xfce.Xfconf."],
        Kind::Mate => &["org.mate.panel.applet."],
        Kind::Gnome => &["org.gnome.Shell.Notifications."],
        Kind::Openbox
        | Kind::SwayTiled
        | Kind::SwayFloating
        | Kind::Weston
        | Kind::Lxqt
        | Kind::Kwin
        | Kind::Cage
        | Kind::NoTray
        | Kind::NoBus => &[],
    }
}

/// Starts everything that the desktop is made of.
pub(super) fn start(place: &mut Place) -> Result<()> {
    gtk(place)?;
    match place.kind.protocol() {
        Protocol::X11 => x11(place),
        Protocol::Wayland => wayland(place),
    }
}

/// Whether a program is on this machine.
pub(super) fn is_there(program: &str) -> bool {
    find(program).is_ok()
}

/// Where a program is: on the search path, or where desktops keep what nobody starts by hand.
fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let libraries = fs::read_dir("/usr/lib").into_iter().flatten().filter_map(Result::ok);
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/libexec"), PathBuf::from("/usr/lib/mate-notification-daemon")])
        .chain(libraries.map(|folder| folder.path().join("xfce4/notifyd")))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .with_context(|| format!("{program} is not on this machine"))
}

/// What GTK's programs look like, where no desktop tells them.
fn gtk(place: &Place) -> Result<()> {
    let dark = u8::from(place.look.theme == Theme::Dark);
    let settings = format!(
        "[Settings]\ngtk-theme-name=Adwaita\ngtk-application-prefer-dark-theme={dark}\ngtk-enable-animations=0\n"
    );
    place.write(".config/gtk-3.0/settings.ini", &settings)
}

fn x11(place: &mut Place) -> Result<()> {
    place.set("XDG_SESSION_TYPE", "x11".to_owned());
    if place.look.scale > 1 {
        place.set("GDK_SCALE", place.look.scale.to_string());
        place.set("QT_SCALE_FACTOR", place.look.scale.to_string());
    }
    place.set("XDG_CURRENT_DESKTOP", x11_name(place.kind).to_owned());
    match place.kind {
        Kind::Xfce => {
            place.write(
                ".config/xfce4/xfconf/xfce-perchannel-xml/xsettings.xml",
                &xfce_settings(place.look),
            )?;
            place.write(".config/xfce4/xfconf/xfce-perchannel-xml/xfce4-panel.xml", XFCE_PANEL)?;
            place.run("xfsettingsd", find("xfsettingsd")?, &["--no-daemon"])?;
            place.run("xfwm4", find("xfwm4")?, &["--compositor=off"])?;
        }
        Kind::Mate => place.run("marco", find("marco")?, &["--no-composite"])?,
        _ => place.run("openbox", find("openbox")?, &["--sm-disable"])?,
    }
    place.wait_for("a window manager is there", |place| Ok(place.screen.has_manager()?.then_some(())))?;
    match place.kind {
        Kind::Openbox => {
            place.write(".config/tint2/tint2rc", TINT2)?;
            let chooser = place.home.path().join("choose-deny");
            fs::write(&chooser, CHOOSE_DENY)?;
            fs::set_permissions(&chooser, fs::Permissions::from_mode(0o700))?;
            place.write(".config/dunst/dunstrc", &DUNST.replace("CHOOSER", &chooser.to_string_lossy()))?;
            place.run("tint2", find("tint2")?, &[])?;
            place.run("dunst", find("dunst")?, &[])?;
        }
        Kind::Xfce => {
            place.run("xfce4-panel", find("xfce4-panel")?, &["--disable-wm-check"])?;
            place.run("xfce4-notifyd", find("xfce4-notifyd")?, &[])?;
        }
        Kind::Lxqt => {
            place.write(".config/lxqt/panel.conf", LXQT_PANEL)?;
            place.run("lxqt-panel", find("lxqt-panel")?, &[])?;
            place.run("lxqt-notificationd", find("lxqt-notificationd")?, &[])?;
        }
        Kind::Mate => {
            place.run("mate-panel", find("mate-panel")?, &[])?;
            place.run("mate-notification-daemon", find("mate-notification-daemon")?, &[])?;
        }
        _ => return Ok(()),
    }
    place.wait_for_name("org.freedesktop.Notifications")?;
    match place.kind {
        Kind::Openbox => {
            place.wait_for("the tray is there", |place| Ok(place.screen.has_tray()?.then_some(())))
        }
        _ => place.wait_for_name("org.kde.StatusNotifierWatcher"),
    }
}

fn x11_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Xfce => "XFCE",
        Kind::Lxqt => "LXQt",
        Kind::Mate => "MATE",
        _ => "openbox",
    }
}

fn wayland(place: &mut Place) -> Result<()> {
    place.set("XDG_SESSION_TYPE", "x11".to_owned());
    let Look { theme, scale } = place.look;
    let (width, height) = place.screen.size();
    let (wide, high) = (usize::from(width) / scale, usize::from(height) / scale);
    match place.kind {
        Kind::SwayTiled | Kind::SwayFloating => {
            let floating = if place.kind == Kind::SwayFloating {
                "for_window [app_id=\"(?i)countersign\"] floating enable\n"
            } else {
                ""
            };
            let config = SWAY.replace("SCALE", &scale.to_string()).replace("FLOATING", floating);
            place.write(".config/sway/config", &config)?;
            place.set("XDG_CURRENT_DESKTOP", "sway".to_owned());
            let program = find("sway")?;
            let mut sway = place.command(program);
            place.run_as("sway", sway.env("WLR_BACKENDS", "x11").env("WLR_RENDERER", "pixman"))?;
        }
        Kind::Cage => {
            let mut cage = place.command(find("cage")?);
            cage.args(["-d", "--", "sleep", "infinity"])
                .env("WLR_BACKENDS", "x11")
                .env("WLR_RENDERER", "pixman");
            place.run_as("cage", &mut cage)?;
        }
        Kind::Weston => {
            place.write(".config/weston.ini", WESTON)?;
            let size = [format!("--width={wide}"), format!("--height={high}"), format!("--scale={scale}")];
            let mut weston = place.command(find("weston")?);
            weston.args(["--backend=x11-backend.so", "--use-pixman", "--idle-time=0"]).args(size);
            place.run_as("weston", &mut weston)?;
        }
        Kind::Gnome => {
            place.write(".config/glib-2.0/settings/keyfile", &gnome_settings(theme))?;
            place.set("XDG_CURRENT_DESKTOP", "GNOME".to_owned());
            let mut shell = place.command(find("gnome-shell")?);
            shell
                .args(["--nested", "--wayland", "--no-x11"])
                .env("MUTTER_DEBUG_DUMMY_MODE_SPECS", format!("{width}x{height}"))
                .env("MUTTER_DEBUG_DUMMY_MONITOR_SCALES", scale.to_string());
            place.run_as("gnome-shell", &mut shell)?;
        }
        Kind::Kwin => {
            place.set("XDG_CURRENT_DESKTOP", "KDE".to_owned());
            // The installed one has a capability, and cannot be started where that is not to be had.
            let copy = place.runtime().join("kwin_wayland");
            fs::copy(find("kwin_wayland")?, &copy)?;
            let size = [wide.to_string(), high.to_string(), scale.to_string()];
            let display = place.screen.name().to_owned();
            let mut kwin = place.command(copy);
            kwin.args([
                "--no-kactivities",
                "--no-global-shortcuts",
                "--no-lockscreen",
                "--x11-display",
                &display,
            ])
            .args(["--width", &size[0], "--height", &size[1], "--scale", &size[2]])
            .env("KWIN_COMPOSE", "Q");
            place.run_as("kwin", &mut kwin)?;
        }
        Kind::Openbox | Kind::Xfce | Kind::Lxqt | Kind::Mate | Kind::NoTray | Kind::NoBus => {}
    }
    place.enter_wayland()?;
    match place.kind {
        Kind::SwayTiled | Kind::SwayFloating => {
            place.run("mako", find("mako")?, &[])?;
            place.wait_for_name("org.freedesktop.Notifications")?;
            place.wait_for_name("org.kde.StatusNotifierWatcher")
        }
        Kind::Weston => {
            place.screen.have_it_entered()?;
            place.wait_for("the desktop is drawn", |place| {
                let picture = place.screen.picture()?;
                // The pointer is in the middle.
                let middle = picture.area().middle();
                Ok((picture.at(middle.0 / 2, middle.1) == GROUND).then_some(()))
            })
        }
        Kind::Gnome => {
            place.wait_for_name("org.gnome.Shell")?;
            let bus = place.bus()?.context("GNOME has a session bus")?;
            // It begins with an overview of nothing, which has the keyboard.
            place.wait_for("the overview goes", |_| Ok(bus.leave_overview()?.then_some(())))?;
            place.wait_for_name("org.freedesktop.Notifications")?;
            close_first_banner(place, &bus)
        }
        _ => Ok(()),
    }
}

/// Without a display manager, GNOME Shell begins with a notification about it; others wait until it is gone.
fn close_first_banner(place: &mut Place, bus: &Bus) -> Result<()> {
    let scale = place.look.scale;
    let middle = usize::from(place.screen.size().0) / 2;
    let close = (middle + BANNER_CLOSE.0 * scale, BANNER_CLOSE.1 * scale);
    let shown = |place: &Place| -> Result<bool> {
        // The overview comes again when what it begins with was late.
        wait_for("the overview goes", PATIENCE, || Ok(bus.leave_overview()?.then_some(())))?;
        let picture = place.screen.picture()?;
        Ok(picture.at(close.0, close.1) != picture.at(2, close.1))
    };
    place.wait_for("GNOME Shell's first notification", |place| Ok(shown(place)?.then_some(())))?;
    place.wait_for("that notification goes", |place| {
        // Its button comes up under the pointer.
        place.screen.hover(close)?;
        place.screen.click_here()?;
        place.screen.point_at((2, usize::from(place.screen.size().1) / 2))?;
        Ok((!shown(place)?).then_some(()))
    })
}

fn gnome_settings(theme: Theme) -> String {
    let (gtk, scheme) = match theme {
        Theme::Light => ("Adwaita", "default"),
        Theme::Dark => ("Adwaita-dark", "prefer-dark"),
    };
    format!(
        "[org/gnome/desktop/interface]\nenable-animations=false\ngtk-theme='{gtk}'\ncolor-scheme='{scheme}'\n\
         [org/gnome/shell]\nwelcome-dialog-last-shown-version='99'\n"
    )
}

fn xfce_settings(look: Look) -> String {
    let theme = if look.theme == Theme::Dark { "Adwaita-dark" } else { "Adwaita" };
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<channel name="xsettings" version="1.0">
  <property name="Net" type="empty"><property name="ThemeName" type="string" value="{theme}"/></property>
  <property name="Gdk" type="empty"><property name="WindowScalingFactor" type="int" value="{}"/></property>
</channel>
"#,
        look.scale
    )
}

/// The button that closes a notification of GNOME Shell: from the middle and the top of the
/// screen, in pixels.
const BANNER_CLOSE: (usize, usize) = (226, 59);

const XFCE_PANEL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=10;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="28"/>
      <property name="plugin-ids" type="array">
        <value type="int" value="1"/>
      </property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="systray"/>
  </property>
</channel>
"#;

const LXQT_PANEL: &str = "\
[General]
panels=panel1
[panel1]
plugins=taskbar,statusnotifier
position=Bottom
[taskbar]
type=taskbar
[statusnotifier]
type=statusnotifier
alignment=Right
";

const TINT2: &str = "\
panel_items = TS
panel_position = bottom center horizontal
panel_size = 100% 30
panel_background_id = 1
background_color = #d0d4da 100
rounded = 0
";

/// dunst shows the buttons of a notification in a menu program; this one chooses for the person.
const DUNST: &str = "[global]\ndmenu = CHOOSER\norigin = top-right\n";

const CHOOSE_DENY: &str = "#!/bin/sh\ngrep -m 1 -i deny\n";

const SWAY: &str = "\
output * scale SCALE
xwayland disable
FLOATINGbar {
  position bottom
  tray_output *
}
";

/// What Weston's desktop is coloured below.
const GROUND: Colour = [0x28, 0x48, 0x58];

const WESTON: &str = "\
[core]
xwayland=false
[shell]
animation=none
startup-animation=none
close-animation=none
focus-animation=none
background-color=0xff284858
locking=false
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_desktop_is_made_of_something() {
        assert!(Kind::ALL.iter().all(|kind| !programs(*kind).is_empty()));
        assert!(!is_there("no-such-program"));
    }
}
