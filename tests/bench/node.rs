//! A command that a gateway has a node run: gateway, node, the app's socket and back, ours beside those of
//! published releases, all with the same app and in turns with direct starts, so that each sees the same
//! machine. And what many runs leave behind.

use crate::figures::Figure;
use crate::policy::Peers;
use crate::start::start;
use anyhow::{Context, Result, ensure};
use countersign_tests::gateway::{self, Alone, Client};
use countersign_tests::home::Home;
use countersign_tests::peer::link::{Access, Link, block_on, is_first_of_two};
use countersign_tests::peer::{self, Gateway, NodeHost, Operator, Settings};
use countersign_tests::process::{Background, command, wait_for};
use countersign_tests::runner::Runner;
use countersign_tests::session::Session;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Somebody's gateway and node.
struct Contender {
    name: String,
    url: String,
    access: Access,
    node: String,
    /// What keeps it running.
    parts: Parts,
    samples: Vec<Duration>,
    overhead: Vec<f64>,
}

enum Parts {
    Ours { _gateway: Option<Box<Alone>>, _runner: Runner },
    Theirs { _node: Box<NodeHost>, _owner: Box<Operator>, _gateway: Box<Gateway> },
}

/// Starts everything and measures in turns. The gateway within the app has an app of its own: a home has one
/// runner, for one gateway.
pub(crate) fn measure(count: usize, peers: &Peers) -> Result<Vec<Figure>> {
    let rig = Rig::start()?;
    let mut contenders = vec![rig.alone()?];
    for release in &peers.releases {
        writeln!(std::io::stderr(), "starting OpenClaw {} …", release.version)?;
        let node = peers.node.as_deref().context("no Node to run it with")?;
        let peer = peer::Release::new(&release.version, node.to_owned(), release.package.clone())?;
        contenders.push(theirs(&peer, &rig.home)?);
    }
    let mut figures = rig.compare(contenders, count)?;
    drop(rig);
    let (rig, in_the_app) = Rig::start()?.in_the_app()?;
    figures.extend(rig.compare(vec![in_the_app], count)?);
    drop(rig);
    figures.extend(many()?);
    Ok(figures)
}

/// The app, and a program that it lets run.
struct Rig {
    // Dropped in this order: the app ends before what it runs in.
    app: Background,
    session: Session,
    home: Home,
    program: String,
}

impl Rig {
    fn start() -> Result<Self> {
        let session = Session::start()?;
        let home = Home::asking()?;
        let program = fs::canonicalize("/usr/bin/true")?.display().to_string();
        home.edit_document(|document| {
            document["agents"]["main"]["allowlist"] = json!([{ "id": "true", "pattern": program }]);
        })?;
        gateway::let_in(&home, &[(OPERATOR, SCOPES)])?;
        let app = start_and_wait(&session, &home)?;
        Ok(Self { app, session, home, program })
    }

    /// Our gateway as a process of its own.
    fn alone(&self) -> Result<Contender> {
        let gateway = Alone::start(Home::empty()?)?;
        let url = gateway.url().to_owned();
        let mut runner = Runner::start(&self.home, &url, Alone::TOKEN)?;
        runner.wait_until_connected()?;
        let node = runner.id()?;
        let access = Access::operator("bench", Alone::TOKEN, SCOPES)?;
        let parts = Parts::Ours { _gateway: Some(Box::new(gateway)), _runner: runner };
        Ok(Contender::new("ours", url, access, node, parts))
    }

    /// The gateway that the app itself serves. A new node opens the window in which it is let in; what is
    /// measured is the app that rests in the tray, so it starts once more when that has been done.
    fn in_the_app(self) -> Result<(Self, Contender)> {
        let Self { app, session, home, program } = self;
        let token = home.gateway_token()?;
        let mut runner = Runner::start(&home, &home.gateway_url()?, &token)?;
        let mut owner = Client::connect(&home, OPERATOR, SCOPES)?.welcome()?;
        let node = runner.id()?;
        let request = wait_for("the runner asks to be let in", LIMIT, || {
            let devices = owner.call("device.pair.list", &json!({}))?.map_err(anyhow::Error::msg)?;
            let mut pending = devices["pending"].as_array().into_iter().flatten();
            let own = pending.find(|request| request["deviceId"] == node);
            Ok(own.and_then(|request| request["requestId"].as_str()).map(str::to_owned))
        })?;
        owner.call("device.pair.approve", &json!({ "requestId": request }))?.map_err(anyhow::Error::msg)?;
        runner.end(LIMIT)?;
        app.end(LIMIT)?;
        let app = start_and_wait(&session, &home)?;
        let url = home.gateway_url()?;
        let mut runner = Runner::start(&home, &url, &token)?;
        runner.wait_until_connected()?;
        let identity = Some(gateway::identity(OPERATOR));
        let access = Access { identity, ..Access::operator("bench", &token, SCOPES)? };
        let parts = Parts::Ours { _gateway: None, _runner: runner };
        let contender = Contender::new("ours, within the app", url, access, node, parts);
        Ok((Self { app, session, home, program }, contender))
    }

    fn compare(&self, mut contenders: Vec<Contender>, count: usize) -> Result<Vec<Figure>> {
        let direct = block_on(take_turns(&mut contenders, &self.program, count))??;
        let mut figures = vec![Figure::times("direct start of `true`", &direct, "")];
        for Contender { name, samples, overhead, parts, .. } in contenders {
            let target = if matches!(parts, Parts::Ours { .. }) { "≤ 1.5 median" } else { "" };
            figures.push(Figure::times(format!("system.run to its answer, {name}"), &samples, ""));
            figures.push(Figure::new(
                format!("the same above a direct start, {name}"),
                "ms",
                overhead,
                target,
            ));
        }
        Ok(figures)
    }
}

fn start_and_wait(session: &Session, home: &Home) -> Result<Background> {
    let app = start(session, home)?;
    wait_for("the app answers", LIMIT, || home.status())?;
    home.wait_until_listening()?;
    Ok(app)
}

fn theirs(release: &peer::Release, home: &Home) -> Result<Contender> {
    let gateway = Gateway::start(release, Settings::without_model())?;
    let (url, access) = (gateway.url(), Access::operator("bench", gateway.token(), SCOPES)?);
    let owner = Operator::connect(&url, gateway.access("owner", SCOPES)?)?;
    let node = NodeHost::start_for_app(&gateway, &owner, home)?;
    let id = node.id().to_owned();
    let name = format!("OpenClaw {release}");
    let parts = Parts::Theirs { _node: Box::new(node), _owner: Box::new(owner), _gateway: Box::new(gateway) };
    Ok(Contender::new(&name, url, access, id, parts))
}

impl Contender {
    fn new(name: &str, url: String, access: Access, node: String, parts: Parts) -> Self {
        let name = name.to_owned();
        Self { name, url, access, node, parts, samples: Vec::new(), overhead: Vec::new() }
    }
}

async fn take_turns(contenders: &mut [Contender], program: &str, count: usize) -> Result<Vec<Duration>> {
    let mut links = Vec::new();
    for contender in contenders.iter() {
        links.push(Link::connect(&contender.url, &contender.access).await.map_err(anyhow::Error::new)?);
    }
    let mut direct = Vec::new();
    for turn in 0..count + WARM_UP {
        for (contender, link) in contenders.iter_mut().zip(&mut links) {
            // The rate limit of the app's socket is part of the product: stay below it.
            tokio::time::sleep(PAUSE).await;
            let begun = Instant::now();
            ensure!(command(program).output()?.status.success(), "{program} failed");
            let spawned = begun.elapsed();
            let begun = Instant::now();
            let ran = timeout(LIMIT, run(link, &contender.node)).await;
            let ran = ran.with_context(|| format!("{} did not answer", contender.name))?;
            let answered = begun.elapsed();
            ran.with_context(|| contender.name.clone())?;
            if turn >= WARM_UP {
                direct.push(spawned);
                contender.samples.push(answered);
                contender.overhead.push((answered.as_secs_f64() - spawned.as_secs_f64()) * 1e3);
            }
        }
    }
    Ok(direct)
}

async fn run(link: &mut Link, node: &str) -> Result<()> {
    let call = link.send("node.invoke", &invoke(node)).await?;
    let answer = answer(link, |id| id == call).await?;
    ensure!(answer["payload"]["payload"]["exitCode"] == 0, "expected exit code 0, got {answer}");
    Ok(())
}

fn invoke(node: &str) -> Value {
    let key = countersign_approvals::ports::Ports::system().ids.uuid();
    json!({
        "nodeId": node, "command": "system.run", "timeoutMs": 20_000, "idempotencyKey": key,
        "params": { "command": ["true"], "agentId": "main", "sessionKey": "agent:main:bench" },
    })
}

async fn answer(link: &mut Link, is_wanted: impl Fn(&str) -> bool) -> Result<Value> {
    loop {
        let frame = link.next().await?.context("the gateway closed the connection")?;
        let is_answer = frame["type"] == "res" && frame["id"].as_str().is_some_and(&is_wanted);
        if is_answer && !is_first_of_two(&frame) {
            ensure!(frame["ok"] == true, "the gateway answered {frame}");
            return Ok(frame);
        }
    }
}

/// What the runner holds after half of [`MANY`] runs and after all: memory, open files, children. Without an
/// app, so that all runs are its own. The first half is for the allocator: what [`AT_ONCE`] runs take
/// together it keeps, and comes to use all of it.
fn many() -> Result<Vec<Figure>> {
    writeln!(std::io::stderr(), "{MANY} runs, {AT_ONCE} at once …")?;
    let gateway = Alone::start(Home::empty()?)?;
    let home = Home::with_defaults("full", "off", "deny")?;
    let mut runner = Runner::start(&home, gateway.url(), Alone::TOKEN)?;
    runner.wait_until_connected()?;
    let (node, worker) = (runner.id()?, runner.worker()?);
    let (mut rss, mut files, mut left) = (Vec::new(), Vec::new(), 0);
    let begun = Instant::now();
    block_on(async {
        let access = Access::operator("bench", Alone::TOKEN, SCOPES)?;
        let mut link = Link::connect(gateway.url(), &access).await.map_err(anyhow::Error::new)?;
        for _ in 0..MANY / AT_ONCE {
            let mut waiting = BTreeSet::new();
            for _ in 0..AT_ONCE {
                waiting.insert(link.send("node.invoke", &invoke(&node)).await?);
            }
            while !waiting.is_empty() {
                let answer = timeout(LIMIT, answer(&mut link, |id| waiting.contains(id))).await??;
                ensure!(answer["payload"]["payload"]["exitCode"] == 0, "expected exit code 0, got {answer}");
                waiting.remove(answer["id"].as_str().unwrap_or_default());
            }
            rss.push(resident(worker)?);
            files.push(fs::read_dir(format!("/proc/{worker}/fd"))?.count() as f64);
            let children = fs::read_to_string(format!("/proc/{worker}/task/{worker}/children"))?;
            left = left.max(children.split_whitespace().count());
        }
        anyhow::Ok(())
    })??;
    let per_second = MANY as f64 / begun.elapsed().as_secs_f64();
    let halves = |series: &[f64]| -> Vec<f64> {
        series.get(series.len() / 2 - 1).into_iter().chain(series.last()).copied().collect()
    };
    Ok(vec![
        Figure::new(format!("runs a second, {AT_ONCE} at once, {MANY} in all"), "1/s", vec![per_second], ""),
        Figure::new("the runner's memory after half of them and after all", "MB", halves(&rss), "no growth"),
        Figure::new("its open files, the same", "files", halves(&files), "no growth"),
        Figure::new("children that were left", "", vec![left as f64], "0"),
    ])
}

/// MB of 10^6 bytes that a process holds.
fn resident(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
    let kilobytes: u64 = line.context("no VmRSS")?.trim().parse()?;
    Ok((kilobytes * 1_024) as f64 / 1e6)
}

/// Number of the device that the person let in.
const OPERATOR: u8 = 1;

/// Newer releases take commands for a node from whoever may do everything.
const SCOPES: &[&str] =
    &["operator.read", "operator.write", "operator.approvals", "operator.admin", "operator.pairing"];

const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(25);
const WARM_UP: usize = 20;
const MANY: usize = 20_000;
const AT_ONCE: usize = 200;
