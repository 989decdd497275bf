//! `agtrace.event.v1`: what an agent did as a log of flat events, one for each thing that happened, with the native
//! record beside it.

mod about;
mod items;
mod languages;
mod models;
mod notices;
mod project;
mod prompts;
mod records;
mod schema;
#[cfg(test)]
mod tests;
mod tokens;
mod wire;

use crate::{Dialect, saved::restored};

/// The normalised log events.
pub const DIALECT: Dialect = Dialect {
    name: "trace",
    title: "agtrace.event.v1: flat log events with their native records",
    projection: || Box::new(project::Trace::default()),
    restore: restored::<project::Trace>,
    revision: 3,
    verbatim: false,
    schema: schema::schema,
};
