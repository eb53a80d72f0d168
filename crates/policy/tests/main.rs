//! Everything that can be tried of policy from outside, in one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bound;
mod builtins;
mod choices;
mod conformance;
mod containment;
mod contents;
mod decisions;
mod document_properties;
mod documents;
mod extensions;
mod index;
mod kept;
mod ladder;
mod lines;
mod local_rules;
mod meaning;
mod names;
mod properties;
mod refusals;
mod rules;
mod runners;
mod shell_properties;
mod shell_vectors;
mod shells;
mod support;
mod threats;
mod told;
mod vectors;
mod work;
