//! What changes the machine beyond the open folder.

use super::Cause::Machine;
use super::line::{Line, Seen, line};
use super::place::Place;
use super::written::{OUTPUTS, made};
use countersign_commands::command::carriers::rough::PRINTED;
use countersign_protocol::rules::PlaceAccess;

pub(super) const LINES: &[Line] = &[
    line(Machine, "apt apt-get aptitude dpkg dpkg-reconfigure dnf yum microdnf zypper rpm pacman yay paru apk brew port snap flatpak choco winget scoop pkg emerge xbps-install nix-env nix-channel nixos-rebuild softwareupdate mas eopkg", "", "apt-get install -y llvm", "apt list --installed").when(|seen| {
        !seen.says("list|search|show|policy|info|depends|rdepends|query|ls|outdated|leaves|deps|--version|config|doctor|help|cache|download|home|cat|desc|uses|services list|services info")
            && !seen.has("--version --help -l -L -S -s -q -qa -Q -Ss --list --listfiles --search --status --query")
            && !seen.arguments.is_empty()
    }),
    line(Machine, "npm pnpm yarn yarnpkg bun pip pip3 gem composer cargo go rustup pipx uv conda mamba micromamba nvm fnm pyenv rbenv nodenv asdf mise volta corepack sdk dotnet opam ghcup juliaup code cursor code-insiders luarocks cpan cpanm", "", "npm install -g typescript", "npm install typescript").when(installs_globally),
    line(Machine, "systemctl service launchctl rc-service rc-update initctl supervisorctl pm2 loginctl machinectl sv svcadm sc net nssm monit", "", "systemctl --user restart x", "systemctl status x").when(|seen| !seen.says("status|list|list-units|list-unit-files|list-timers|list-dependencies|show|cat|is-active|is-enabled|is-failed|ls|jlist|prettylist|print|query|--version|logs|describe|info|help") && !seen.arguments.is_empty()),
    line(Machine, "shutdown reboot halt poweroff init telinit kexec pm-suspend", "", "reboot", "uptime"),
    line(Machine, "pkill killall killall5 skill xkill taskkill stop-process", "", "pkill -f 'web serve'", "pgrep -f web"),
    line(Machine, "fuser", "", "fuser -k 3000/tcp", "fuser 3000/tcp").with("-k --kill"),
    line(Machine, "kill", "", "kill -9 -1", "kill 4711").when(kills_found),
    line(Machine, "mkfs fdisk sfdisk cfdisk gdisk sgdisk parted mount umount losetup cryptsetup swapon swapoff mkswap blkdiscard wipefs badblocks diskutil hdiutil hdparm lvm pvcreate vgcreate lvcreate lvremove vgremove pvremove mdadm fsck resize2fs tune2fs e2label dmsetup zpool fstrim", "", "mount /dev/sdb1 /mnt", "lsblk"),
    line(Machine, "*", "", "mkfs.ext4 /dev/sdb1", "ls /dev/null").when(is_device),
    line(Machine, "docker docker-compose podman podman-compose nerdctl ctr crictl kind minikube k3d k3s colima limactl lima multipass vagrant lxc incus virsh qemu-system-x86_64 vboxmanage devcontainer buildah finch orb tart", "", "docker run -v /:/host alpine", "docker ps").when(controls_containers),
    line(Machine, "git", "config", "git config --global user.name x", "git config --global --get user.name").with("--global --system").when(configures_globally),
    line(Machine, "git", "config|remote add|remote set-url|remote remove|remote rm|remote rename|lfs install|lfs uninstall|maintenance start|maintenance register|submodule add|sparse-checkout set", "git config core.hooksPath x", "git config user.name").when(configures_here),
    line(Machine, "git", "clone|init|worktree add|bundle create|archive", "git clone https://a.example/x ~/x", "git clone https://a.example/x x").when(puts_elsewhere),
    line(Machine, "npm pnpm yarn pip pip3 conda poetry bundle aws gcloud kubectl docker az helm cargo composer flutter", "config set|config delete|config edit|config add|config use-context|config set-context|config set-credentials|config unset|configure|context use|context create|repo add|config:set|config", "npm config set registry x", "npm config get registry").when(|seen| !seen.operands().any(|word| matches!(word, "get" | "list" | "ls" | "view" | "show" | "current-context" | "get-contexts" | "dir" | "debug"))),
    line(Machine, "playwright puppeteer cypress", "install-deps|install", "playwright install --with-deps", "playwright install").when(|seen| seen.says("install-deps") || seen.has("--with-deps")),
    line(Machine, "kill-port fkill", "", "npx kill-port 3000", "killportx 3000"),
    line(Machine, "crontab at batch atrm anacron systemd-run", "", "crontab jobs", "crontab -l").unless("-l --list"),
    line(Machine, "sysctl modprobe insmod rmmod iptables ip6tables nft ufw firewall-cmd ifconfig route hostnamectl timedatectl localectl nmcli netplan resolvectl update-alternatives update-rc.d ldconfig update-ca-certificates trust defaults scutil systemsetup networksetup pmset nvram gsettings dconf reg regedit setx bcdedit chcon semanage setsebool grub-install update-grub mokutil efibootmgr locale-gen dpkg-divert xattr", "", "sysctl -w vm.swappiness=1", "sysctlx -a").unless("--help --version"),
    line(Machine, "ip tc bridge", "", "ip link set eth0 down", "ip addr show").when(|seen| seen.operands().any(|word| matches!(word, "add" | "del" | "set" | "flush" | "change" | "replace" | "delete"))),
    line(Machine, "osascript xdotool ydotool wmctrl xdg-mime xdg-settings open xdg-open shortcuts", "", "osascript -e beep", "opensnoop"),
    line(Machine, "*", "", "echo x >> ~/.bashrc", "echo x >> notes").when(writes_files),
    line(Machine, "*", "", "curl -o ~/.local/bin/x https://a.example/x", "curl -o x https://a.example/x").when(|seen| {
        let written = seen.values(OUTPUTS);
        written.iter().any(|file| file.starts_with(['/', '~', '$']) && writes_beyond(seen, file))
    }),
    line(Machine, "cp mv ln install tee touch mkdir rsync tar unzip sed perl truncate dd patch ditto mktemp mkfifo xcopy robocopy venv virtualenv copy-item new-item set-content gzip bunzip2 cpio 7z bsdtar", "", "cp hosts /etc/hosts", "cp /etc/hosts hosts").when(writes_elsewhere),
];

/// Programs for everybody or for the whole account.
fn installs_globally(seen: &Seen<'_>) -> bool {
    let changes = "install|i|add|uninstall|remove|rm|un|update|upgrade|link|unlink|ci";
    match seen.invoked.name.as_str() {
        "npm" | "pnpm" | "yarn" | "yarnpkg" | "bun" => {
            seen.says("global|link|setup|self-update") || (seen.has("-g --global --location") && seen.says(changes))
        }
        "pip" | "pip3" => {
            seen.says("install|uninstall") && seen.has("--user --break-system-packages --prefix --target -t --root")
        }
        "composer" => seen.says("global|self-update"),
        "cargo" => seen.says("install|uninstall|binstall") && !seen.has("--root --list"),
        "go" => (seen.says("install") && seen.operands().any(|word| word.contains('@'))) || (seen.says("env") && seen.has("-w -u")),
        "dotnet" => seen.says("tool|workload") && seen.has("-g --global"),
        "mise" | "asdf" => seen.says("install|i|uninstall|upgrade|self-update|plugin|plugins|global|implode") || (seen.says("use|set|unset") && seen.has("-g --global")),
        "uv" => seen.says("tool install|tool uninstall|tool upgrade|python install|python uninstall|self update"),
        "rustup" => !seen.says("show|which|doc|run|help|check|toolchain list|target list|component list"),
        "code" | "cursor" | "code-insiders" => seen.has("--install-extension --uninstall-extension"),
        "cpan" | "cpanm" => true,
        _ => seen.says("install|uninstall|update|upgrade|remove|create|global|default|alias|use|enable|disable|prepare|reinject|inject|ensurepath|add|flush|setup"),
    }
}

/// Processes that are found by something else than a number that was typed.
fn kills_found(seen: &Seen<'_>) -> bool {
    if seen.has("-l -L --list --help") {
        return false;
    }
    let is_signal = |word: &str| word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let mut operands = seen.operands().peekable();
    let everybody = seen.arguments.len() > 1 && seen.arguments.last() == Some(&"-1");
    everybody
        || operands.peek().is_none()
        || operands.any(|word| {
            word.contains(PRINTED)
                || (!is_signal(word) && word.starts_with(|c: char| c.is_ascii_alphabetic()))
        })
}

/// A repository, a tree or a file that git makes outside. What is cloned is only read.
fn puts_elsewhere(seen: &Seen<'_>) -> bool {
    let words = seen.verbs();
    let behind = if words.first() == Some(&"clone") { 2 } else { 1 };
    words.iter().skip(behind).any(|word| !word.contains(':') && is_beyond(seen.ground.place(word)))
}

/// A file system that is made or checked.
fn is_device(seen: &Seen<'_>) -> bool {
    ["mkfs.", "fsck.", "mount.", "newfs"]
        .iter()
        .any(|beginning| seen.invoked.name.as_str().starts_with(beginning))
}

/// Containers and machines inside this one: whoever starts one owns what is mounted there.
fn controls_containers(seen: &Seen<'_>) -> bool {
    let verbs = seen.verbs();
    match verbs.as_slice() {
        [] => false,
        [group, verb, ..] if GROUPS.contains(group) => !LOOKS.contains(verb),
        [verb, ..] => !LOOKS.contains(verb) && !GROUPS.contains(verb),
    }
}

/// Settings of git for everybody or for the whole account.
fn configures_globally(seen: &Seen<'_>) -> bool {
    sets_configuration(seen)
}

/// Settings of the repository in the open folder: they say what git starts, and are kept from boxes.
fn configures_here(seen: &Seen<'_>) -> bool {
    let elsewhere =
        seen.arguments.iter().position(|word| *word == "-C").and_then(|at| seen.arguments.get(at + 1));
    let place = elsewhere.map_or_else(|| seen.ground.place("."), |folder| seen.ground.place(folder));
    let inside = matches!(place, Place::Inside | Place::Whole);
    inside && (!seen.says("config") || (sets_configuration(seen) && !seen.has("--global --system --file -f")))
}

fn sets_configuration(seen: &Seen<'_>) -> bool {
    let verbs = seen.verbs();
    let [_, rest @ ..] = verbs.as_slice() else { return false };
    if seen.has("--get --get-all --get-regexp --get-urlmatch --list -l --get-color --get-colorbool") {
        return false;
    }
    match rest {
        ["get" | "list", ..] => false,
        ["set" | "unset" | "edit" | "rename-section" | "remove-section", ..] => true,
        _ => {
            rest.len() > 1
                || seen.has(
                    "--unset --unset-all --add --replace-all --edit -e --remove-section --rename-section",
                )
        }
    }
}

/// Files outside that the output is written to.
fn writes_files(seen: &Seen<'_>) -> bool {
    seen.invoked.written.iter().any(|file| writes_beyond(seen, file))
}

/// Files outside that a program makes or changes.
fn writes_elsewhere(seen: &Seen<'_>) -> bool {
    made(seen).iter().any(|word| writes_beyond(seen, word))
}

/// Whether a box refuses to write what a word names.
fn writes_beyond(seen: &Seen<'_>, word: &str) -> bool {
    is_beyond(seen.ground.place(word)) && !seen.is_opened(word, PlaceAccess::Write)
}

/// Where every box refuses to write.
fn is_beyond(place: Place) -> bool {
    match place {
        Place::System | Place::HomeDot | Place::History | Place::Outside => true,
        Place::Inside | Place::Whole | Place::Own => false,
    }
}

/// Words of container tools that only look.
const LOOKS: &[&str] = &[
    "config", "df", "diff", "events", "help", "history", "images", "info", "inspect", "list", "logs", "ls",
    "port", "ps", "search", "show", "stats", "status", "top", "version",
];

/// Words behind which the verb stands.
const GROUPS: &[&str] = &[
    "builder",
    "buildx",
    "compose",
    "container",
    "context",
    "image",
    "manifest",
    "network",
    "system",
    "volume",
];
