//! The scenarios, by what they are about.

pub mod entry;
