//! What a machine needs, and how it gets there.
//!
//! One question to dpkg tells what is missing, so that a second run costs nothing. Only Debian and its
//! relatives are changed; elsewhere the missing packages are named.

use crate::process::{self, command, is_on_path, output_of};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

/// Options of `cargo xtask setup`.
#[derive(Args)]
pub(crate) struct Options {
    /// What the machine is for.
    #[arg(long = "for", value_enum, default_value = "test")]
    purpose: Purpose,
}

/// What a machine is prepared for. Each includes the ones before.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(crate) enum Purpose {
    /// Build and start the app.
    Run,
    /// Also start it where there is no display.
    Headless,
    /// Also run every test.
    Test,
    /// Also start the app on every desktop that people use.
    Desktops,
    /// Also draw the icons.
    Icons,
}

/// Install what is missing for the purpose named.
pub(crate) fn main(options: &Options) -> Result<()> {
    ensure(options.purpose)?;
    println!("This machine has everything.");
    Ok(())
}

/// Install what is missing, saying what and why first. Quick and silent when nothing is.
pub(crate) fn ensure(purpose: Purpose) -> Result<()> {
    if is_on_path("dpkg-query") && is_on_path("apt-get") {
        ensure_packages(purpose)?;
    } else {
        explain_other_systems(purpose)?;
    }
    ensure_node()
}

/// A Debian package and the reason it is needed.
struct Package {
    name: &'static str,
    purpose: Purpose,
    why: &'static str,
    /// Programs that make the package unnecessary when one of them is there.
    or_programs: &'static [&'static str],
}

const fn package(purpose: Purpose, name: &'static str, why: &'static str) -> Package {
    Package { name, purpose, why, or_programs: &[] }
}

const PACKAGES: &[Package] = &[
    package(Purpose::Run, "build-essential", "C compiler and linker for Rust"),
    package(Purpose::Run, "pkg-config", "finds the libraries below"),
    package(Purpose::Run, "libwebkit2gtk-4.1-dev", "the web view of the windows"),
    package(Purpose::Run, "libgtk-3-dev", "the windows"),
    package(Purpose::Run, "libdbus-1-dev", "tray and single instance"),
    package(Purpose::Run, "libayatana-appindicator3-1", "the tray icon, loaded when the app starts"),
    package(Purpose::Run, "librsvg2-common", "SVG icons of the desktop theme"),
    package(Purpose::Run, "bubblewrap", "sandboxes for what agents run"),
    package(Purpose::Headless, "xvfb", "a display where there is none"),
    package(Purpose::Headless, "dbus-daemon", "a private session bus"),
    package(Purpose::Headless, "openbox", "a window manager: windows get focus as on a desktop"),
    package(Purpose::Headless, "webkit2gtk-driver", "drives the real windows"),
    package(Purpose::Headless, "fonts-dejavu-core", "Latin text"),
    package(Purpose::Headless, "fonts-noto-cjk", "Chinese and Korean text"),
    package(Purpose::Headless, "adwaita-icon-theme", "icons of GTK itself"),
    package(Purpose::Test, "xauth", "access to the test display"),
    package(Purpose::Test, "dbus-x11", "session bus tools"),
    package(Purpose::Test, "xdotool", "real key presses and clicks"),
    package(Purpose::Test, "x11-utils", "questions to windows"),
    package(Purpose::Test, "at-spi2-core", "the accessibility bus"),
    package(Purpose::Test, "imagemagick", "looks at screenshots"),
    package(Purpose::Test, "python3", "oracles and helpers of tests"),
    package(Purpose::Test, "zsh", "a shell that the analysis is compared with"),
    package(Purpose::Test, "mksh", "another one"),
    package(Purpose::Test, "busybox", "another one, with programs of its own"),
    package(Purpose::Test, "iproute2", "the network of a name space"),
    package(Purpose::Test, "curl", "sends what the documents say to send"),
    package(Purpose::Test, "openssh-client", "an agent with a key, which boxes ask"),
    package(Purpose::Test, "libfaketime", "moves the clock of some processes"),
    package(Purpose::Test, "strace", "sees what a command does that is allowed unasked"),
    Package {
        // Without a browser's own windows, which are pages too, and cost more than those that are tested.
        name: "chromium-headless-shell",
        purpose: Purpose::Test,
        why: "the browser of the UI tests",
        or_programs: &["chromium-headless-shell"],
    },
    package(Purpose::Test, "xterm", "somebody types in it under X11"),
    package(Purpose::Test, "tint2", "a panel with a tray under X11"),
    package(Purpose::Test, "dunst", "a notification server under X11"),
    package(Purpose::Test, "weston", "the desktop of Wayland itself, and its terminal"),
    package(Purpose::Desktops, "sway", "a desktop of tiles on Wayland"),
    package(Purpose::Desktops, "mako-notifier", "sway's notification server"),
    package(Purpose::Desktops, "cage", "a desktop of one window"),
    package(Purpose::Desktops, "gnome-shell", "GNOME"),
    package(Purpose::Desktops, "gjs", "GNOME's notification server"),
    package(Purpose::Desktops, "kwin-wayland", "KDE's compositor"),
    package(Purpose::Desktops, "xfwm4", "Xfce's windows"),
    package(Purpose::Desktops, "xfce4-panel", "Xfce's panel"),
    package(Purpose::Desktops, "xfce4-settings", "Xfce's settings"),
    package(Purpose::Desktops, "xfconf", "where Xfce keeps them"),
    package(Purpose::Desktops, "xfce4-notifyd", "Xfce's notification server"),
    package(Purpose::Desktops, "marco", "MATE's windows"),
    package(Purpose::Desktops, "mate-settings-daemon-common", "what marco asks for"),
    package(Purpose::Desktops, "mate-panel", "MATE's panel"),
    package(Purpose::Desktops, "mate-notification-daemon", "MATE's notification server"),
    package(Purpose::Desktops, "lxqt-panel", "LXQt's panel"),
    package(Purpose::Desktops, "lxqt-notificationd", "LXQt's notification server"),
    package(Purpose::Icons, "librsvg2-bin", "draws PNG from SVG"),
];

fn ensure_packages(purpose: Purpose) -> Result<()> {
    let missing = missing_packages(purpose)?;
    if missing.is_empty() {
        return Ok(());
    }
    println!("Missing on this machine:");
    for package in &missing {
        println!("  {:<28} {}", package.name, package.why);
    }
    run_apt(&["update", "-qq"])?;
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(missing.iter().map(|package| package.name));
    run_apt(&arguments)
}

fn missing_packages(purpose: Purpose) -> Result<Vec<&'static Package>> {
    let wanted: Vec<_> = PACKAGES.iter().filter(|package| package.purpose <= purpose).collect();
    let mut query = command("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status} ${Package}\n"]);
    query.args(wanted.iter().map(|package| package.name));
    let answer = output_of(&mut query).context("could not start dpkg-query")?;
    let is_installed = |name: &str| answer.lines().any(|line| line.strip_prefix("installed ") == Some(name));
    Ok(wanted
        .into_iter()
        .filter(|package| {
            !is_installed(package.name) && !package.or_programs.iter().any(|name| is_on_path(name))
        })
        .collect())
}

fn run_apt(arguments: &[&str]) -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root && !is_on_path("sudo") {
        bail!("not root, and there is no sudo. As root, run: apt-get {}", arguments.join(" "));
    }
    let mut apt = if is_root {
        command("env")
    } else {
        let mut sudo = command("sudo");
        sudo.arg("env");
        sudo
    };
    apt.args([
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-o",
        "Dpkg::Use-Pty=0",
        "-o",
        "Acquire::Retries=3",
    ]);
    apt.args(arguments);
    println!("$ {}", process::describe(&apt));
    process::run(&mut apt)
}

/// Node is used to build and test the UI only. Debian 12 carries an older one, so it is not
/// always apt's to give.
fn ensure_node() -> Result<()> {
    let found = node_version();
    if found.as_deref().is_some_and(builds_the_ui) && is_on_path("npm") {
        return Ok(());
    }
    let found = found.map_or_else(|| "none".to_owned(), |version| format!("version {version}"));
    if is_on_path("apt-get") && apt_node_version().as_deref().is_some_and(builds_the_ui) {
        println!("Missing on this machine:\n  {:<28} builds the UI (found: {found})", "nodejs npm");
        return run_apt(&["install", "-y", "-qq", "--no-install-recommends", "nodejs", "npm"]);
    }
    bail!("{NODE} with npm builds the UI (found: {found}). Get it from https://nodejs.org");
}

fn node_version() -> Option<String> {
    Some(output_of(command("node").arg("--version"))?.trim().strip_prefix('v')?.to_owned())
}

fn apt_node_version() -> Option<String> {
    let answer = output_of(command("apt-cache").args(["policy", "nodejs"]))?;
    answer.lines().find_map(|line| line.trim().strip_prefix("Candidate: ")).map(str::to_owned)
}

/// Whether npm takes this version of Node for what the UI is built and tested with, as `engines` in
/// `ui/package.json` says.
fn builds_the_ui(version: &str) -> bool {
    let mut numbers = version.split(['.', '~', '+', '-']).map(|number| number.parse::<u32>().ok());
    let (Some(major), minor) = (numbers.next().flatten(), numbers.next().flatten().unwrap_or(0)) else {
        return false;
    };
    matches!((major, minor), (20, 19..) | (22, 13..) | (24.., _))
}

fn explain_other_systems(purpose: Purpose) -> Result<()> {
    if cfg!(target_os = "macos") {
        if purpose == Purpose::Run && is_on_path("cc") {
            return Ok(());
        }
        bail!("{MACOS}");
    }
    let has_libraries = is_on_path("pkg-config")
        && command("pkg-config")
            .args(["--exists", "webkit2gtk-4.1", "gtk+-3.0", "dbus-1"])
            .status()
            .is_ok_and(|status| status.success());
    let lacks_program = PROGRAMS_TO_TEST.iter().find(|name| !is_on_path(name));
    match (has_libraries, lacks_program) {
        (false, _) => bail!("the libraries of the app are not all there.\n{FEDORA_AND_ARCH}"),
        (true, Some(name)) if purpose > Purpose::Run => bail!("`{name}` is not there.\n{FEDORA_AND_ARCH}"),
        (true, _) => Ok(()),
    }
}

/// The versions of Node that build the UI, for people.
const NODE: &str = "Node 20 (from 20.19 on), 22 (from 22.13 on), or 24 and newer";

const PROGRAMS_TO_TEST: &[&str] =
    &["Xvfb", "bwrap", "dbus-daemon", "openbox", "WebKitWebDriver", "weston", "xterm", "tint2", "dunst"];

const FEDORA_AND_ARCH: &str = "\
Fedora, to run:  sudo dnf install gcc pkgconf-pkg-config webkit2gtk4.1-devel gtk3-devel dbus-devel \\
                   libayatana-appindicator-gtk3 librsvg2 bubblewrap
Fedora, to test: sudo dnf install webkit2gtk-driver xorg-x11-server-Xvfb xauth dbus-daemon dbus-x11 \\
                   openbox xterm tint2 dunst sway mako weston xdotool xprop xwininfo at-spi2-core ImageMagick python3 zsh mksh busybox curl openssh-clients chromium dejavu-sans-fonts \\
                   google-noto-sans-cjk-fonts adwaita-icon-theme
Arch, to run:    sudo pacman -S base-devel webkit2gtk-4.1 gtk3 dbus libayatana-appindicator librsvg bubblewrap
Arch, to test:   sudo pacman -S xorg-server-xvfb xorg-xauth openbox xterm tint2 dunst sway mako weston xdotool xorg-xprop xorg-xwininfo at-spi2-core \\
                   imagemagick python zsh mksh busybox curl openssh chromium ttf-dejavu noto-fonts-cjk adwaita-icon-theme
Both also need Node 20 (from 20.19 on), 22 (from 22.13 on), or 24 and newer, with npm.";

const MACOS: &str = "\
macOS, to run:   xcode-select --install   (WebKit is part of the system); brew install node
The desktop tests need Xvfb, a D-Bus session and WebKitWebDriver, and run on Linux only.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_includes_the_ones_before_it() {
        let names = |purpose| PACKAGES.iter().filter(move |package| package.purpose <= purpose).count();
        assert!(names(Purpose::Run) < names(Purpose::Headless));
        assert!(names(Purpose::Headless) < names(Purpose::Test));
        assert!(names(Purpose::Test) < names(Purpose::Desktops));
        assert!(names(Purpose::Desktops) < names(Purpose::Icons));
    }

    #[test]
    fn no_package_is_listed_twice() {
        let mut names: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PACKAGES.len());
    }

    #[test]
    fn a_node_that_npm_would_refuse_does_not_build_the_ui() {
        for version in ["20.19.0", "20.20.2", "22.13.1", "24.0.0", "26.1.0", "20.19.2+dfsg-1", "24.1~rc1"] {
            assert!(builds_the_ui(version), "{version}");
        }
        for version in ["18.20.4", "20.18.3", "21.7.3", "22.12.0", "23.11.0", "", "x", "(none)"] {
            assert!(!builds_the_ui(version), "{version}");
        }
    }
}
