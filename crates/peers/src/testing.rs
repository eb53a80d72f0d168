//! What the tests of this crate share.

use std::time::Duration;

/// Longest wait for what has to happen, in real time. It says that a test fails, and never how fast the
/// machine is: where all is well, nothing takes nearly as long, however slow and busy that is.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
