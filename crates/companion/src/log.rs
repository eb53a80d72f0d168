//! The app's log, on standard error.
//!
//! Libraries print whole messages when they are asked for every detail: a token on its way to a gateway, a
//! secret on its way to the keyring. So `COUNTERSIGN_LOG` opens up our own words only, and of theirs no more
//! than `info` is ever written.

use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, filter};

/// Writes from now on what `COUNTERSIGN_LOG` wants; without it, what `info` does.
pub fn start() {
    let wanted = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("info"));
    log(wanted, std::io::stderr).init();
}

fn log<W>(wanted: EnvFilter, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::registry()
        .with(wanted)
        .with(filter::filter_fn(may_be_written))
        .with(tracing_subscriber::fmt::layer().with_writer(writer))
}

fn may_be_written(about: &Metadata<'_>) -> bool {
    let is_ours = about.target().split("::").next().is_some_and(|crate_| crate_.starts_with(OURS));
    is_ours || *about.level() <= MOST_OF_OTHERS
}

/// Says what is written.
const VARIABLE: &str = "COUNTERSIGN_LOG";

/// How the names of our crates begin, which print no secret.
const OURS: &str = "countersign_";

const MOST_OF_OTHERS: LevelFilter = LevelFilter::INFO;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn t03_what_libraries_say_of_their_messages_is_written_at_no_level() {
        for wanted in ["error", "info", "debug", "trace", "tungstenite=trace", "trace,hyper=trace,zbus=trace"]
        {
            let written = Written::default();
            let into = written.clone();
            let subscriber = log(EnvFilter::new(wanted), move || into.clone());
            tracing::subscriber::with_default(subscriber, || {
                tracing::trace!(target: "tungstenite::protocol", "writing frame with secret-one");
                tracing::debug!(target: "hyper::proto::h1", "authorization: secret-two");
                tracing::trace!(target: "zbus::connection", "secret-three");
                tracing::trace!(target: "countersignature", "secret-four");
                tracing::trace!(target: "countersign_node::host", "ours");
                tracing::trace!("ours too");
            });
            let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
            assert!(!text.contains("secret-"), "{wanted}: {text}");
            for ours in ["ours\n", "ours too"] {
                assert_eq!(text.contains(ours), wanted.starts_with("trace"), "{wanted}: {text}");
            }
        }
    }
}
