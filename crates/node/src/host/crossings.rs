//! Connections out of a box: each destination is judged once in a run, by rules or by a person, and what was
//! reached and refused is told when the run has ended.
//!
//! An answer counts for the destination until the run ends: that is what "once" means here, since no program
//! connects only once. So does a denial, or it would be asked about again at the next try.

mod keys;
mod named;
mod services;

use keys::Keys;
pub use named::{NotNamed, named_destination, registry_kinds};

use super::super::executor::sandbox::Passing;
use super::Host;
use super::calls::{ByRule, Settled};
use super::inquiry::{Inquired, Inquiry};
use super::own_rules::OwnRules;
use super::running::Serving;
use countersign_approvals::book::{Ending, RequestedBy};
use countersign_approvals::question::{
    Crossing as Wanted, Door, Folder, KEYS, Offer, Place as Where, Question, Subject, peer_asks,
};
use countersign_gate::{
    Because, Bytes, Crossings, Destination, Gate, Loopback, Neighbourhood, Place, Refusal, Ruling, Upstream,
    Wish, groups,
};
use countersign_policy::calls::{CallFacts, CallNature, Crossing};
use countersign_policy::display;
use countersign_policy::effective::Effective;
use countersign_protocol::history::ReachedView;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::{Via, Why, WhyReason};
use countersign_protocol::rules::NetPlace;
use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::FuturesUnordered;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener as Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::{Mutex as Turn, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The run that wants something, and who wants it to.
pub(super) struct Run {
    pub(super) agent: AgentId,
    pub(super) session: Option<SessionKey>,
    pub(super) via: Via,
    /// As one text.
    pub(super) command: String,
    /// The folder that the box is around.
    pub(super) folder: String,
    /// How long a person has.
    pub(super) wait: Duration,
    pub(super) policy: Effective,
    /// Hears what is served in its box.
    pub(super) serving: Serving,
}

/// The gate of one run: where it listens, and what comes of it.
pub(super) struct Crossroads {
    wishes: mpsc::Receiver<(Wish, oneshot::Sender<Ruling>)>,
    told: Arc<Told>,
    /// The socket lies in it.
    passing: Passing,
    loopback: Loopback,
    keys: Option<Keys>,
    ends: CancellationToken,
    served: tokio::task::JoinHandle<io::Result<()>>,
}

/// What a run reached, and what it was refused.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// By destination.
    pub(super) reached: Vec<ReachedView>,
    /// A line each, for the agent.
    pub(super) refused: Vec<String>,
}

/// What connections of a run tell.
struct Told {
    wishes: mpsc::Sender<(Wish, oneshot::Sender<Ruling>)>,
    carried: Mutex<BTreeMap<Destination, Bytes>>,
    refused: Mutex<BTreeMap<Destination, String>>,
    /// Where nothing more may go, although it was let out, and why.
    withdrawn: RwLock<BTreeMap<(Destination, Place), String>>,
    /// The person did not lend their keys.
    no_keys: AtomicBool,
}

/// Boxes around the same folder for the same agent: to them each other's servers are there.
#[derive(Debug, Default)]
pub(super) struct Neighbourhoods(Mutex<BTreeMap<(String, AgentId), Neighbourhood>>);

impl Neighbourhoods {
    fn of(&self, run: &Run) -> Neighbourhood {
        let mut all = locked(&self.0);
        all.retain(|_, one| one.is_held());
        all.entry((run.folder.clone(), run.agent.clone())).or_default().clone()
    }
}

/// What was decided about a destination for the rest of a run, by the place that it led to.
type Standing = Arc<Turn<Option<Ruling>>>;

impl Crossings for Told {
    fn rule(&self, wish: Wish) -> BoxFuture<'_, Ruling> {
        async move {
            let (answer, answered) = oneshot::channel();
            if self.wishes.send((wish, answer)).await.is_err() {
                return refuse(ENDED);
            }
            answered.await.unwrap_or_else(|_| refuse(ENDED))
        }
        .boxed()
    }

    fn withdrawn(&self, wish: &Wish) -> Option<String> {
        let withdrawn = self.withdrawn.read().unwrap_or_else(PoisonError::into_inner);
        if withdrawn.is_empty() {
            return None;
        }
        withdrawn.get(&(wish.destination.clone(), wish.place)).cloned()
    }

    fn account(&self, destination: &Destination, bytes: Bytes) {
        let mut carried = locked(&self.carried);
        // What is not named any more was carried all the same, and only by an allowed connection.
        if carried.len() < DESTINATIONS || carried.contains_key(destination) {
            let sum = carried.entry(destination.clone()).or_default();
            sum.up = sum.up.saturating_add(bytes.up);
            sum.down = sum.down.saturating_add(bytes.down);
        }
    }

    fn refused(&self, wish: &Wish, why: Refusal) {
        let mut refused = locked(&self.refused);
        if refused.len() < DESTINATIONS {
            refused.entry(wish.destination.clone()).or_insert_with(|| why.to_string());
        }
    }
}

impl Crossroads {
    /// Opens the gate of a run. Its socket lies in a folder of its own in `folder`, which is for its owner
    /// alone. The internet is reached as programs with the environment `env` reach it.
    pub(super) fn open(folder: &Path, env: &BTreeMap<String, String>) -> io::Result<Self> {
        let passing = Passing::new(folder)?;
        let listener = bind(passing.path(), SOCKET)?;
        let keys = Keys::open(passing.path(), env)?;
        let (sender, wishes) = mpsc::channel(WISHES);
        let told = Arc::new(Told {
            wishes: sender,
            carried: Mutex::default(),
            refused: Mutex::default(),
            withdrawn: RwLock::default(),
            no_keys: AtomicBool::new(false),
        });
        let ends = CancellationToken::new();
        let mut settings = countersign_gate::Settings::default();
        settings.upstream = Upstream::of(|name| env.get(name).map(String::as_str));
        let loopback = settings.loopback.clone();
        let served = tokio::spawn(Gate::serve(
            listener,
            Arc::clone(&told) as Arc<dyn Crossings>,
            settings,
            ends.clone(),
        ));
        Ok(Self { wishes, told, passing, loopback, keys, ends, served })
    }

    /// Where the box finds it.
    pub(super) fn socket(&self) -> PathBuf {
        self.passing.path().join(SOCKET)
    }

    /// Where the box finds the person's keys, where there is an agent that has them.
    pub(super) fn keys(&self) -> Option<PathBuf> {
        self.keys.as_ref().map(|_| self.passing.path().join(KEYS_SOCKET))
    }

    /// Has `host` judge what `run` wants for as long as `runs` does. What its neighbours serve is there for
    /// it, and so are services of this machine, as `own` knows them. Dropping it ends every connection and
    /// withdraws every question.
    pub(super) async fn attend<Ran>(
        mut self,
        host: &Host,
        own: &OwnRules,
        run: &Run,
        runs: impl Future<Output = Ran>,
    ) -> (Ran, Account) {
        self.loopback.join(&host.neighbourhoods.of(run), services::found(own));
        run.serving.begins(self.loopback.clone());
        let mut servers = self.loopback.servers();
        let told = Arc::clone(&self.told);
        let ends = self.ends.clone();
        let mut standing: BTreeMap<(Destination, Place), Standing> = BTreeMap::new();
        let mut wanted_here: BTreeMap<(Destination, Place), Wish> = BTreeMap::new();
        let (mut rules, mut policies) = (host.parts.rules.watch(), host.parts.store.watch());
        rules.mark_unchanged();
        policies.mark_unchanged();
        let mut judged = FuturesUnordered::new();
        let mut lent = FuturesUnordered::new();
        let mut runs = std::pin::pin!(runs);
        let ran = loop {
            tokio::select! {
                ran = &mut runs => break ran,
                Some((wish, answer)) = self.wishes.recv() => {
                    let key = (wish.destination.clone(), wish.place);
                    if standing.len() >= DESTINATIONS && !standing.contains_key(&key) {
                        let _ = answer.send(refuse(TOO_MANY));
                        continue;
                    }
                    wanted_here.entry(key.clone()).or_insert_with(|| wish.clone());
                    let turn = Arc::clone(standing.entry(key).or_default());
                    judged.push(host.judge_wish(run, wish, answer, turn, &told, &ends));
                }
                Some(()) = judged.next(), if !judged.is_empty() => {}
                (program, agent) = wanted(self.keys.as_ref()), if lent.len() < LENT => {
                    // What was denied once in a run is not asked about again: the program is hung up on.
                    if !told.no_keys.load(Ordering::Relaxed) {
                        lent.push(host.lend_keys(run, program, agent, &ends));
                    }
                }
                Some(refused) = lent.next(), if !lent.is_empty() => {
                    told.no_keys.fetch_or(refused, Ordering::Relaxed);
                }
                Ok(()) = servers.changed() => run.serving.changed(),
                Ok(()) = rules.changed() => host.withdraw(run, &wanted_here, &told).await,
                Ok(()) = policies.changed() => host.withdraw(run, &wanted_here, &told).await,
            }
        };
        run.serving.ends();
        self.ends.cancel();
        while judged.next().await.is_some() {}
        while lent.next().await.is_some() {}
        if let Err(error) = (&mut self.served).await {
            tracing::warn!(%error, "a gate did not end orderly");
        }
        (ran, told.summary())
    }
}

/// The next program that wants a key, where there may be one.
async fn wanted(keys: Option<&Keys>) -> (tokio::net::UnixStream, &Path) {
    match keys {
        Some(keys) => keys.wanted().await,
        None => std::future::pending().await,
    }
}

impl Drop for Crossroads {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}

impl Told {
    /// What there was of both.
    fn summary(&self) -> Account {
        let view = |(destination, bytes): (&Destination, &Bytes)| ReachedView {
            destination: destination.to_string(),
            up: bytes.up,
            down: bytes.down,
        };
        let line = |(destination, why): (&Destination, &String)| {
            format!("{REFUSED} {destination}: {}; {ASK_OUTSIDE}\n", display::escape(why))
        };
        let keys = self.no_keys.load(Ordering::Relaxed).then(|| format!("{NO_KEYS}; {ASK_OUTSIDE}\n"));
        Account {
            reached: locked(&self.carried).iter().map(view).collect(),
            refused: locked(&self.refused).iter().map(line).chain(keys).collect(),
        }
    }

    fn reached(&self) -> Vec<String> {
        locked(&self.carried).keys().map(ToString::to_string).collect()
    }
}

impl Host {
    /// Judges again where a run may go, by the rules and the policy of now: what they refuse
    /// carries nothing more.
    async fn withdraw(&self, run: &Run, wanted: &BTreeMap<(Destination, Place), Wish>, told: &Told) {
        let mut withdrawn = BTreeMap::new();
        for (place, wish) in wanted {
            let question = run.question(wish, None, Vec::new(), Vec::new());
            if let Some(refusal) = self.refused_by_now(&question).await {
                withdrawn.insert(place.clone(), refusal.said_by_rule().unwrap_or(BY_RULE).to_owned());
            }
        }
        *told.withdrawn.write().unwrap_or_else(PoisonError::into_inner) = withdrawn;
    }

    /// Answers one wish: by what was decided in this run, by rules, or by a person. Where whoever waits hangs
    /// up, or the run ends, the question is withdrawn.
    async fn judge_wish(
        &self,
        run: &Run,
        wish: Wish,
        mut answer: oneshot::Sender<Ruling>,
        turn: Standing,
        told: &Told,
        ends: &CancellationToken,
    ) {
        // Connections to the same place wait for the first one's answer.
        let mut standing = tokio::select! {
            standing = turn.lock() => standing,
            () = answer.closed() => return,
            () = ends.cancelled() => return,
        };
        let sent = match wish.because {
            Because::Upload { sent } => Some(sent),
            _ => None,
        };
        if let (Some(ruling), None) = (&*standing, sent) {
            // What was let out once is not let out again where a rule refuses it by now.
            let refusal = match ruling {
                Ruling::Open => self.refused_by_now(&run.question(&wish, None, Vec::new(), Vec::new())).await,
                _ => None,
            };
            let ruling = match refusal {
                Some(refusal) => refuse(refusal.said_by_rule().unwrap_or(BY_RULE)),
                None => ruling.clone(),
            };
            let _ = answer.send(ruling);
            return;
        }
        let gone = ends.child_token();
        let ruling = {
            let mut ruled = std::pin::pin!(self.ruled(run, &wish, sent, told.reached(), &gone));
            tokio::select! {
                ruling = &mut ruled => ruling,
                () = answer.closed() => {
                    gone.cancel();
                    ruled.await
                }
            }
        };
        if gone.is_cancelled() {
            return;
        }
        *standing = Some(ruling.clone());
        let _ = answer.send(ruling);
    }

    async fn ruled(
        &self,
        run: &Run,
        wish: &Wish,
        sent: Option<u64>,
        reached: Vec<String>,
        gone: &CancellationToken,
    ) -> Ruling {
        let client = wish.caller.named().await;
        let chain = client.map(|client| client.chain).unwrap_or_default();
        let question = run.question(wish, sent, reached, chain);
        // A rule says where something may go, not how much.
        let by_rule = if sent.is_some() { ByRule::Asks } else { ByRule::Decides };
        self.ruled_by(question, run, by_rule, gone).await
    }

    /// What rules and a person say.
    async fn ruled_by(
        &self,
        mut question: Question,
        run: &Run,
        by_rule: ByRule,
        gone: &CancellationToken,
    ) -> Ruling {
        match self.settle_crossing(&mut question, &run.policy, by_rule).await {
            Settled::Allowed => return Ruling::Open,
            Settled::Refused(refusal) => return refuse(refusal.said_by_rule().unwrap_or(BY_RULE)),
            Settled::Open => {}
        }
        let by = RequestedBy { connection: None, device: None, client: None, gateway: None };
        let inquiry = Inquiry { question, analysis: None, wait: run.wait, id: None, by, run: None };
        let waiting = match self.inquire(inquiry).await {
            Ok(Inquired::Waits(waiting)) => waiting,
            Ok(Inquired::Refused { rule, .. }) => return refuse(&rule),
            Err(error) => return refuse(&error.to_string()),
        };
        let ended = waiting.ended_unless(self, gone).await;
        let ruling = match ended.ending() {
            Ending::Decided { decision, .. } if decision.allows() => Ruling::Open,
            Ending::Decided { .. } => refuse(BY_PERSON),
            Ending::Expired => refuse(EXPIRED),
            Ending::NotShown => refuse(NOT_SHOWN),
            Ending::Cancelled(_) | Ending::Contained | Ending::Elsewhere { .. } => refuse(WITHDRAWN),
        };
        ended.written().await;
        ruling
    }
}

impl Run {
    fn question(&self, wish: &Wish, sent: Option<u64>, reached: Vec<String>, chain: Vec<String>) -> Question {
        let Wish { destination, addresses, place, .. } = wish;
        let crossing = Crossing {
            host: destination.host.to_string().trim_matches(['[', ']']).to_owned(),
            port: destination.port,
            place: net_place(*place),
            folder: self.folder.clone(),
            groups: groups()
                .iter()
                .filter(|group| group.covers(destination))
                .map(|group| group.id.to_owned())
                .collect(),
        };
        let subject = Wanted {
            view: display::command_view(&[destination.to_string()], &[]),
            facts: Box::new(CallFacts {
                nature: CallNature::Unknown,
                crossing: Some(crossing),
                ..CallFacts::default()
            }),
            // Of an address there is nothing to tell, and of a name only what it leads to elsewhere.
            addresses: match wish.because {
                Because::Resolved => addresses.clone(),
                _ => Vec::new(),
            },
            reached,
            sent,
            ..self.wants(chain)
        };
        self.asks(subject)
    }

    /// One use of the person's SSH keys.
    fn question_about_keys(&self, chain: Vec<String>) -> Question {
        self.asks(self.wants(chain))
    }

    /// Keys, until it is said what else.
    fn wants(&self, chain: Vec<String>) -> Wanted {
        Wanted {
            view: display::command_view(&[KEYS.to_owned()], &[]),
            facts: Box::new(CallFacts { nature: CallNature::Unknown, ..CallFacts::default() }),
            addresses: Vec::new(),
            command: self.command.clone(),
            folder: Folder::named(self.folder.clone()),
            chain,
            reached: Vec::new(),
            sent: None,
        }
    }

    fn asks(&self, subject: Wanted) -> Question {
        let why = Why {
            reason: WhyReason::LeavesTheBox,
            security: self.policy.security.value,
            ask: self.policy.ask.value,
            ..peer_asks(self.policy.ask.layer)
        };
        Question {
            subject: Subject::Crossing(Box::new(subject)),
            door: Door { via: self.via, gateway: None, program: None, generation: 1 },
            agent: self.agent.clone(),
            session: self.session.clone(),
            place: Where::ThisMachine,
            why,
            facts: Vec::new(),
            offer: Offer::once(),
            blocked: None,
        }
    }
}

/// Where a destination lies, as rules say it.
fn net_place(place: Place) -> NetPlace {
    match place {
        Place::Internet => NetPlace::Internet,
        Place::Private => NetPlace::Private,
        Place::LinkLocal => NetPlace::LinkLocal,
        Place::ThisMachine => NetPlace::ThisMachine,
        Place::Metadata => NetPlace::Metadata,
        // Whatever else there will be is nowhere that a rule leads to.
        _ => NetPlace::Unroutable,
    }
}

/// Binds a socket in a folder, however long its path is: addresses of sockets are short.
fn bind(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, how, Mode::empty())?;
    let listener = Bound::bind(format!("/proc/self/fd/{}/{name}", opened.as_raw_fd()))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

fn refuse(why: &str) -> Ruling {
    Ruling::Refuse { why: why.to_owned() }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a program in the box hears.
const BY_PERSON: &str = "the person denied it";
const BY_RULE: &str = "a rule of the person's refuses it";
const EXPIRED: &str = "nobody answered in time";
const NOT_SHOWN: &str = "nobody could be asked";
const WITHDRAWN: &str = "the question was withdrawn";
const ENDED: &str = "the run has ended";
const TOO_MANY: &str = "this run wants to reach too many places";

/// What its agent hears at the end.
const REFUSED: &str = "countersign: the box refused to reach";
const NO_KEYS: &str = "countersign: the box refused to use your SSH keys";
pub(super) const ASK_OUTSIDE: &str = "ask for it with `countersign exec --outside -- …`";

/// Most destinations that one run is asked about or that are told of it: a crawler has no business in a box.
const DESTINATIONS: usize = 256;

/// Wishes that wait to be looked at; a connection whose wish does not fit waits itself.
const WISHES: usize = 64;

/// The names of their sockets.
const SOCKET: &str = "gate";
const KEYS_SOCKET: &str = "keys";

/// Programs of a box that talk to the agent of keys at once.
const LENT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_gate_leaves_no_socket() {
        let top = tempfile::tempdir().unwrap();
        // Longer than the address of a socket can be.
        let folder = top.path().join("long".repeat(40));
        let served = Crossroads::open(&folder, &BTreeMap::new()).unwrap();
        let another = Crossroads::open(&folder, &BTreeMap::new()).unwrap();
        assert!(served.socket().exists() && another.socket().exists());
        drop((served, another));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        let mode = std::os::unix::fs::PermissionsExt::mode(&folder.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
    }
    #[tokio::test]
    async fn the_internet_is_reached_as_the_apps_environment_says() {
        let folder = tempfile::tempdir().unwrap();
        // Names are not looked up where a proxy does it, and this proxy cannot be spoken to.
        let env = BTreeMap::from([("ALL_PROXY".to_owned(), "socks5://127.0.0.1:9".to_owned())]);
        let mut served = Crossroads::open(folder.path(), &env).unwrap();
        let mut client = tokio::net::UnixStream::connect(served.socket()).await.unwrap();
        client.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
        let (_, answer) = served.wishes.recv().await.unwrap();
        answer.send(Ruling::Open).unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        assert!(
            said.contains("this machine's own proxy cannot be used: only proxies with http://"),
            "{said}"
        );
    }
}
