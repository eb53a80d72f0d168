//! Published releases of OpenClaw as the other end of a story: the real gateway, its node host and its
//! command line, in throw-away homes on loopback, with a scripted model for its agents and
//! operators who are not us.
//!
//! Nothing of a release is changed. What is started here is ended by its process id when its value is
//! dropped. Start to end, with `COUNTERSIGN_PEER`, `COUNTERSIGN_PEER_NODE` and `COUNTERSIGN_PEER_PACKAGE`
//! naming an installed release:
//!
//! ```no_run
//! # use countersign_tests::peer::{Gateway, Model, Operator, Release, Settings};
//! # fn main() -> anyhow::Result<()> {
//! let model = Model::start()?;
//! let gateway = Gateway::start(&Release::from_env()?, Settings::new(&model))?;
//! let person = Operator::connect(&gateway.url(), gateway.access("person", &["operator.approvals"])?)?;
//! # Ok(())
//! # }
//! ```

mod command_line;
mod gateway;
mod home;
pub mod link;
mod model;
mod node_host;
mod operator;
mod relay;
mod release;

pub use command_line::CommandLine;
pub use gateway::Gateway;
pub use home::Settings;
pub use link::{Access, Refusal};
pub use model::Model;
pub use node_host::{NodeHost, let_in};
pub use operator::Operator;
pub use relay::{Relay, Seen};
pub use release::{Release, Store};
