//! The desktops that people use, without hardware: each is started on a screen of its own, with its own panel
//! and notification server, and the real app in it is seen by its pixels and touched by its keys and clicks.
//! Nothing here talks to the pages of the app: what a person cannot see, these stories do not see either.

pub mod bus;
pub mod kind;
pub mod person;
pub mod picture;
pub mod place;
pub mod recipe;
pub mod screen;
pub mod typist;
