//! How long keeping takes: `cargo run --release -p countersign-keep --example figures [FILES]`.

#![allow(clippy::print_stdout, reason = "it is what this is for")]
#![allow(clippy::disallowed_methods, reason = "it is a program, with the wall clock's time")]

use countersign_keep::{Keeper, Limits, Span, Spans, StateId, What};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

fn main() -> Result<(), Box<dyn Error>> {
    let files: usize = std::env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    let root = fs::canonicalize(folder.path())?;
    let workspace = root.join("work");
    let write = |number: usize, mark: &str| {
        let folder = workspace.join(format!("crates/part{}/src", number / 20));
        fs::create_dir_all(&folder)?;
        let line = format!("pub fn number_{number}() -> usize {{ {number} }} // {mark}\n");
        fs::write(folder.join(format!("file{number}.rs")), line.repeat(1 + number % 80))
    };
    (0..files).try_for_each(|number| write(number, "first"))?;
    fs::write(workspace.join(".gitignore"), "target/\n*.o\n**/*.rs.bk\n/dist\nnode_modules\n")?;
    let keeper = Keeper::new(root.join("kept"), Limits::default())?;
    // Later than anything was written, so that nothing is too fresh to be taken for unchanged.
    let now = || SystemTime::now() + Duration::from_secs(60);
    let keep = || keeper.keep(&workspace, now(), &|| false);
    let timed = |what: &str, act: &dyn Fn() -> Result<StateId, Box<dyn Error>>| {
        let (start, cpu) = (Instant::now(), worked());
        let id = act()?;
        let (took, worked) = (start.elapsed(), worked() - cpu);
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        println!("{what:<32} {:>9.1} ms, of which {:>9.1} ms of processors", ms(took), ms(worked));
        Ok::<_, Box<dyn Error>>(id)
    };
    println!("{files} files");
    let before = timed("first keep", &|| Ok(keep()?.id))?;
    for _ in 0..5 {
        timed("keep, nothing changed", &|| Ok(keep()?.id))?;
    }
    (0..100).try_for_each(|number| write(number, "second"))?;
    let after = timed("keep, 100 files changed", &|| Ok(keep()?.id))?;
    let spans = Spans::from(Span { workspace: workspace.clone(), before, after });
    timed("changes", &|| keeper.changes(&spans, &|| false).map(|_| after).map_err(Into::into))?;
    timed("put back 100 files", &|| {
        let restored = keeper.put_back(&spans, &What::All, &|_| false, now(), &|| false)?;
        assert_eq!((restored.put.len(), restored.conflicts.len()), (100, 0));
        Ok(restored.undo.after)
    })?;
    timed("prune", &|| {
        let pruned = keeper.prune(now(), &|| false)?;
        println!("{pruned:?}");
        Ok(after)
    })?;
    Ok(())
}

/// Time that processors worked for this process.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
