//! What breaks, as data: how it is made, what becomes of the app, which doors it ends, and who has to be
//! told in which words.

use crate::requests::Door;
use countersign_tests::home::Home;
use std::path::PathBuf;

/// One fault.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) name: String,
    pub(crate) make: Make,
    pub(crate) fate: Fate,
    /// Doors whose requests end with it, as they should.
    pub(crate) ends: &'static [Door],
    /// A finding of the doctor's that is not well says one of these; empty where there is nothing to say.
    pub(crate) doctor: &'static [&'static str],
    /// What windows, tray and notifications show says one of these.
    pub(crate) person: &'static [&'static str],
    /// Members of the history's line about it, and what they say; empty where there is none.
    pub(crate) recorded: &'static [(&'static str, &'static str)],
    /// Whether the short form has it.
    pub(crate) often: bool,
}

/// How it is made, and ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Make {
    /// `kill -9`.
    Kill(Who),
    /// The app is stopped and goes on later.
    Freeze,
    /// The app may open no file more than it has open, but those that it keeps from its callers: as when too
    /// many of them come.
    Files,
    /// Not even those.
    KeptFiles,
    /// The app may start no process and no thread.
    Processes,
    /// The page's process gets no memory.
    PageMemory,
    /// The disk under the home.
    Disk(Trouble),
    /// The clock of everything in the home, in seconds.
    Clock(i64),
    /// The session bus ends, and another takes its place.
    Bus,
    /// The display ends, and the app starts in another session.
    Display,
    /// The other gateway ends, and another takes its place.
    Gateway,
    /// The connections to the other gateway stay, and nothing gets through.
    HalfOpen,
    /// One of our files is something else.
    Spoil(Spoiled, Way, Moment),
}

/// Whose process ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Who {
    App,
    Page,
    Runner,
    Worker,
    Mcp,
    Hook,
    Exec,
}

/// What is wrong with a disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trouble {
    Full,
    ReadOnly,
    Broken,
    Slow,
}

/// What becomes of the app.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    Lives,
    /// It lives, unless a library of its web view ends it, and then the next start is as after its death.
    MayDie,
    /// It lives, and takes the right file when it is started again.
    StartsAnew,
    Dies,
}

/// A file of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Spoiled {
    Document,
    Rules,
    Settings,
    Tools,
    Forward,
    Gateways,
    PetServers,
    History,
    Devices,
    GatewayToken,
    NodeKey,
    Socket,
    ControlSocket,
}

/// What it is instead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    Truncated,
    Garbage,
    OtherVersion,
    Huge,
    Folder,
    Fifo,
    Unreadable,
    Link,
    Foreign,
    Removed,
}

/// When.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    Running,
    BeforeStart,
}

impl Spoiled {
    const ALL: [Self; 13] = [
        Self::Document,
        Self::Rules,
        Self::Settings,
        Self::Tools,
        Self::Forward,
        Self::Gateways,
        Self::PetServers,
        Self::History,
        Self::Devices,
        Self::GatewayToken,
        Self::NodeKey,
        Self::Socket,
        Self::ControlSocket,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Rules => "rules",
            Self::Settings => "settings",
            Self::Tools => "tools",
            Self::Forward => "forward",
            Self::Gateways => "gateways",
            Self::PetServers => "pet-servers",
            Self::History => "history",
            Self::Devices => "devices",
            Self::GatewayToken => "gateway-token",
            Self::NodeKey => "node-key",
            Self::Socket => "socket",
            Self::ControlSocket => "control-socket",
        }
    }

    /// Where it is; of the history, its newest file.
    pub(crate) fn path(self, home: &Home) -> PathBuf {
        let state = home.state();
        match self {
            Self::Document => home.document_path(),
            Self::Rules => home.rules_path(),
            Self::Settings => state.join("settings.json"),
            Self::Tools => state.join("tools.json"),
            Self::Forward => state.join("forward.json"),
            Self::Gateways => state.join("gateways.json"),
            Self::PetServers => state.join("pet-servers.json"),
            Self::History => {
                let files = std::fs::read_dir(state.join("history")).into_iter().flatten().flatten();
                let mut files: Vec<_> = files.map(|entry| entry.path()).collect();
                files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
                files.sort();
                files.pop().unwrap_or_else(|| state.join("history/none.jsonl"))
            }
            Self::Devices => home.gateway().join("devices.json"),
            Self::GatewayToken => home.gateway().join("token"),
            Self::NodeKey => state.join("node/device.key"),
            Self::Socket => home.socket(),
            Self::ControlSocket => home.control_socket(),
        }
    }

    /// Words of which a finding about it has one.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Document => &["exec-approvals.json"],
            Self::Rules => &["rules.json"],
            Self::Settings => &["settings.json"],
            Self::Tools => &["tools.json"],
            Self::Forward => &["forward.json"],
            Self::Gateways => &["gateways.json"],
            Self::PetServers => &["pet-servers.json"],
            Self::History => &["history"],
            Self::Devices => &["devices.json"],
            Self::GatewayToken => &["gateway/token", "embedded gateway"],
            Self::NodeKey => &["device.key"],
            Self::Socket => &["exec-approvals.sock", "approval socket"],
            Self::ControlSocket => &["control.sock"],
        }
    }

    /// What may be missing without harm: the app makes it, or does without.
    const fn may_be_missing(self) -> bool {
        !matches!(self, Self::Document | Self::History | Self::Socket | Self::ControlSocket)
    }

    const fn is_socket(self) -> bool {
        matches!(self, Self::Socket | Self::ControlSocket)
    }
}

impl Way {
    const ALL: [Self; 10] = [
        Self::Truncated,
        Self::Garbage,
        Self::OtherVersion,
        Self::Huge,
        Self::Folder,
        Self::Fifo,
        Self::Unreadable,
        Self::Link,
        Self::Foreign,
        Self::Removed,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Garbage => "garbage",
            Self::OtherVersion => "other-version",
            Self::Huge => "200-mb",
            Self::Folder => "a-folder",
            Self::Fifo => "a-fifo",
            Self::Unreadable => "unreadable",
            Self::Link => "a-link",
            Self::Foreign => "of-another",
            Self::Removed => "removed",
        }
    }

    /// Nothing can be bound in place of what is not a socket.
    const fn is_in_the_way(self) -> bool {
        matches!(self, Self::Folder | Self::Fifo | Self::Link | Self::Unreadable | Self::Foreign)
    }

    /// Sockets have no content.
    const fn is_content(self) -> bool {
        matches!(self, Self::Truncated | Self::Garbage | Self::OtherVersion | Self::Huge)
    }
}

/// Every fault, in a steady order.
pub(crate) fn all() -> Vec<Fault> {
    let mut all = processes();
    all.extend(machine());
    for file in Spoiled::ALL {
        for way in Way::ALL {
            for moment in [Moment::Running, Moment::BeforeStart] {
                all.extend(spoiled(file, way, moment));
            }
        }
    }
    all
}

fn fault(name: &str, make: Make) -> Fault {
    Fault {
        name: name.to_owned(),
        make,
        fate: Fate::Lives,
        ends: &[],
        doctor: &[],
        person: &[],
        recorded: &[],
        often: true,
    }
}

fn processes() -> Vec<Fault> {
    let kill = |name: &str, who| fault(name, Make::Kill(who));
    vec![
        Fault { fate: Fate::Dies, doctor: &["start it"], ..kill("kill-app", Who::App) },
        Fault { recorded: PAGE, ..kill("kill-page", Who::Page) },
        Fault { ends: &[Door::Node], doctor: &["runner"], ..kill("kill-runner", Who::Runner) },
        Fault { ends: &[Door::Node], ..kill("kill-runner-worker", Who::Worker) },
        Fault { ends: &[Door::Mcp], ..kill("kill-mcp", Who::Mcp) },
        Fault { ends: &[Door::Hook], ..kill("kill-hook", Who::Hook) },
        Fault { ends: &[Door::Exec], ..kill("kill-exec", Who::Exec) },
        Fault { doctor: &["does not answer", "not answer"], ..fault("suspend", Make::Freeze) },
        Fault { doctor: &["files"], person: &["files"], ..fault("out-of-files", Make::Files) },
        // WebKit ends its program when it cannot open what a new page needs: sockets, memory, graphics
        // libraries. The app looks before it makes a window, and cannot know of a limit that falls
        // while it makes one.
        Fault {
            fate: Fate::MayDie,
            doctor: &["files", "start it"],
            person: &["files"],
            ..fault("kept-files-taken", Make::KeptFiles)
        },
        // WebKit ends its program when it gets no thread (`WTF::Thread::create`), and it asks for one when
        // its processes say so. Not in the short form: that happens now and then only.
        Fault {
            fate: Fate::MayDie,
            doctor: &["process", "start it"],
            person: &["process"],
            often: false,
            ..fault("out-of-processes", Make::Processes)
        },
        Fault { recorded: PAGE, often: false, ..fault("page-out-of-memory", Make::PageMemory) },
    ]
}

fn machine() -> Vec<Fault> {
    let disk = |name: &str, trouble, words: &'static [&'static str]| Fault {
        doctor: words,
        person: words,
        ..fault(name, Make::Disk(trouble))
    };
    // Nobody is told of the clock: it is there to be set, and what the app promises does not change. That
    // what waits keeps its time, and that what is signed and recorded still counts, is looked at as
    // after any fault.
    let clock = |name: &str, seconds| Fault { often: seconds == HOUR, ..fault(name, Make::Clock(seconds)) };
    vec![
        disk("disk-full", Trouble::Full, &["disk is full"]),
        disk("disk-read-only", Trouble::ReadOnly, &["disk is read-only"]),
        disk("disk-broken", Trouble::Broken, &["disk fails"]),
        Fault { often: false, ..disk("disk-slow", Trouble::Slow, &["slow"]) },
        clock("clock-hour-ahead", HOUR),
        clock("clock-hour-back", -HOUR),
        clock("clock-year-ahead", YEAR),
        clock("clock-year-back", -YEAR),
        Fault { doctor: &["bus"], ..fault("bus-gone", Make::Bus) },
        Fault { fate: Fate::Dies, doctor: &["start it"], ..fault("display-gone", Make::Display) },
        Fault { ends: &[Door::Node], doctor: &["the other gateway"], ..fault("gateway-gone", Make::Gateway) },
        Fault {
            ends: &[Door::Node],
            doctor: &["the other gateway"],
            often: false,
            ..fault("gateway-half-open", Make::HalfOpen)
        },
    ]
}

fn spoiled(file: Spoiled, way: Way, moment: Moment) -> Option<Fault> {
    // Before a start there is no socket.
    if file.is_socket() && (way.is_content() || moment == Moment::BeforeStart && way == Way::Removed) {
        return None;
    }
    let when = match moment {
        Moment::Running => "running",
        Moment::BeforeStart => "start",
    };
    // A socket that is removed is bound again before anybody can ask about it; the history says so.
    let is_restored = file.is_socket() && way == Way::Removed;
    // As at a first start; the history says that it had been there.
    let is_made_anew = file == Spoiled::Document && way == Way::Removed && moment == Moment::BeforeStart;
    let is_harmless = match way {
        Way::Removed => file.may_be_missing() || is_restored,
        Way::Link => !file.is_socket(),
        // Half of a token is another token, which counts as long as it is there.
        Way::Truncated => file == Spoiled::GatewayToken,
        // These have no version, and what an app does not know in them it passes over.
        Way::OtherVersion => matches!(file, Spoiled::Settings | Spoiled::Tools),
        _ => false,
    };
    let fate = match (file, moment) {
        // Without its lock and this socket no app runs; one that serves already goes on.
        (Spoiled::ControlSocket, Moment::BeforeStart) if way.is_in_the_way() => Fate::Dies,
        // Whoever removes it sends all devices away, and the app writes its own one with the next that comes.
        (Spoiled::Devices, Moment::BeforeStart) if way == Way::Removed => Fate::StartsAnew,
        _ => Fate::Lives,
    };
    Some(Fault {
        fate,
        doctor: if is_harmless || is_made_anew { &[] } else { file.words() },
        recorded: match file {
            _ if is_restored => &[("kind", "socket")],
            _ if is_made_anew => &[("kind", "document"), ("writer", "another-program")],
            _ => &[],
        },
        often: way == Way::Fifo
            && matches!(file, Spoiled::Settings | Spoiled::Rules)
            && moment == Moment::BeforeStart
            || way == Way::Garbage
                && matches!(file, Spoiled::Document | Spoiled::History)
                && moment == Moment::Running
            || file == Spoiled::Socket && way == Way::Removed,
        // A document that cannot be used names no agent, and what is on its way is withdrawn.
        ends: if file == Spoiled::Document || file.is_socket() { &ALL_DOORS } else { &[] },
        ..fault(&format!("{}-{}-{when}", file.name(), way.name()), Make::Spoil(file, way, moment))
    })
}

const PAGE: &[(&str, &str)] = &[("kind", "page")];

const ALL_DOORS: [Door; 6] = [Door::Socket, Door::Exec, Door::Gateway, Door::Mcp, Door::Hook, Door::Node];

/// In seconds.
const HOUR: i64 = 3_600;
const YEAR: i64 = 31_536_000;
