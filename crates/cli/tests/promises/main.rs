//! What docs/policy.md, docs/hooks.md, docs/tools.md and docs/box.md promise about rules and boxes, tried as
//! people and agents try it: the real command line beside everything of the app but its windows, and a
//! person who answers as a window does. docs/promises.md says which promise is tried where.
//!
//! No test writes a rule itself: what stands in the rules is what a command put there.

mod agents;
mod allowances;
mod beside;
mod comes;
mod connections;
mod folders;
mod person;
mod places;
mod refusals;
mod rig;
mod told;
mod tools;
