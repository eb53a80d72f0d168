//! Where questions meet programs of others: gateways that this one is connected to ([`connections`]) and pet
//! servers ([`pets`]), the gateway that it is itself ([`gateway`]), this machine as a node of one
//! ([`runner`]), and whoever is told elsewhere ([`forward`]). What gateways and pet servers have in common as
//! the person keeps them is in [`list`], and what they gave or were given in [`secrets`]; [`nodes`] is how
//! nodes of any gateway are seen.

pub mod connections;
pub mod file;
pub mod forward;
pub mod gateway;
pub mod list;
pub mod nodes;
pub mod pets;
pub mod runner;
pub mod secrets;
#[cfg(test)]
mod testing;
