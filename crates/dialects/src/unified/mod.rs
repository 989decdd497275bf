//! Unified events of the CLI agent streaming protocol: `sessionStarted` … `sessionEnded`, in camelCase.

mod chunk;
mod project;
mod schema;
mod wire;

use crate::{Dialect, saved::restore_projection};

/// The unified dialect.
pub const DIALECT: Dialect = Dialect {
    name: "unified",
    title: "unified agent events: sessionStarted, textChunk, toolStarted, …",
    projection: || Box::new(project::UnifiedProjection::default()),
    restore: restore_projection::<project::UnifiedProjection>,
    revision: 2,
    verbatim: false,
    schema: schema::message_schema,
};
