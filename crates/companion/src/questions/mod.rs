//! What other programs want, as questions: requests that come over a gateway, and calls of tools.

pub(crate) mod gateway;
pub(crate) mod tools;
