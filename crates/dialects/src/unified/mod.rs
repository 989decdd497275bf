//! The unified events of the CLI agent streaming protocol: `sessionStarted` … `sessionEnded`, camelCase.

mod chunk;
mod project;
mod schema;
mod wire;

use crate::{Dialect, saved::restored};

/// The unified events.
pub const DIALECT: Dialect = Dialect {
    name: "unified",
    title: "unified agent events: sessionStarted, textChunk, toolStarted, …",
    projection: || Box::new(project::Unified::default()),
    restore: restored::<project::Unified>,
    revision: 2,
    verbatim: false,
    schema: schema::schema,
};
