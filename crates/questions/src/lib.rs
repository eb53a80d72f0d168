//! Questions between doors and windows: what a door brings becomes a question ([`gateway`], [`tools`]), and a
//! question becomes what a window paints ([`card`]).

pub mod card;
pub mod gateway;
pub mod tools;
