//! What a box costs. Ignored by default: `cargo test -p countersign-node cost -- --ignored --nocapture`.

use super::*;
use std::time::Instant;

#[tokio::test]
#[ignore = "measures, asserts nothing"]
#[expect(clippy::disallowed_methods, reason = "what is compared with")]
async fn what_a_box_costs() {
    let place = Place::new();
    let direct = || {
        std::process::Command::new("/bin/true").status().unwrap();
    };
    told("direct", (0..RUNS).map(|_| timed(direct)).collect());
    let alone = || {
        let arguments = ["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "/bin/true"];
        std::process::Command::new("/usr/bin/bwrap").args(arguments).status().unwrap();
    };
    told("bubblewrap alone", (0..RUNS).map(|_| timed(alone)).collect());
    let mut sealed = Vec::new();
    let mut boxed = Vec::new();
    for _ in 0..RUNS {
        let command = place.rig.bench.approve(&owned(&["/bin/true"]));
        let began = Instant::now();
        place.rig.start(command).await.unwrap();
        sealed.push(began.elapsed());
        let command = place.rig.bench.approve(&owned(&["/bin/true"]));
        let began = Instant::now();
        place.start(command, Controls::default()).await.unwrap();
        boxed.push(began.elapsed());
    }
    told("sealed", sealed);
    told("box", boxed);
}

fn timed(run: impl Fn()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: usize| times[times.len() * part / 100];
    println!("{what}: median {:?}, p99 {:?}", at(50), at(99));
}

const RUNS: usize = 200;
