//! What an operation is: how it is called, what it takes, what it answers, and what does it. The router and the OpenAPI
//! document are both made of this, so they cannot disagree.

use axum::{
    extract::DefaultBodyLimit,
    routing::{MethodFilter, MethodRouter},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::Service;

/// Makes the schema of something.
pub type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// How an operation is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Does something.
    Post,
    /// Deletes.
    Delete,
}

impl Method {
    /// As OpenAPI writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// One operation.
pub struct Operation {
    /// How it is called.
    pub method: Method,
    /// Where, with what varies in braces.
    pub path: &'static str,
    /// Its name, for those who generate code.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What else one should know.
    pub description: &'static str,
    /// What may stand in the query: the fields of an object.
    pub query: Option<MakeSchema>,
    /// What must be sent.
    pub body: Option<MakeSchema>,
    /// The largest body, in bytes.
    pub largest: usize,
    /// What it answers when all is well.
    pub answers: &'static [Answer],
    /// How it may refuse, beside [`REFUSALS`].
    pub refusals: &'static [u16],
    /// Anybody may call it.
    pub open: bool,
    /// What does it.
    pub handler: fn(MethodFilter) -> MethodRouter<Service>,
}

/// How every operation may refuse.
pub const REFUSALS: &[u16] = &[400, 401, 403, 408, 413, 414, 421, 429, 431, 500, 503];

/// What an operation with a body may refuse it with.
pub const BODY_REFUSALS: &[u16] = &[415];

/// A body without images.
const SMALL: usize = 1 << 20;

impl Operation {
    /// An operation that is still to be filled in.
    pub const NEW: Self = Self {
        method: Method::Get,
        path: "",
        name: "",
        summary: "",
        description: "",
        query: None,
        body: None,
        largest: SMALL,
        answers: &[],
        refusals: &[],
        open: false,
        handler: |_| MethodRouter::new(),
    };

    /// The statuses that it may refuse with, in order.
    #[must_use]
    pub fn refused_with(&self) -> Vec<u16> {
        let body = if self.body.is_some() { BODY_REFUSALS } else { &[] };
        let mut all = [REFUSALS, body, self.refusals].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Its part of the router.
    pub fn route(&self) -> MethodRouter<Service> {
        (self.handler)(self.method.filter()).layer(DefaultBodyLimit::max(self.largest))
    }
}

/// An answer when all is well.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// What it means.
    pub meaning: &'static str,
    /// What comes with it.
    pub content: Content,
}

/// What comes with an answer.
pub enum Content {
    /// Nothing.
    Nothing,
    /// JSON of this shape.
    Json(MakeSchema),
    /// JSON of this shape or, if that is asked for, text of this media type.
    JsonOr(MakeSchema, &'static str),
    /// Server-sent events.
    Events,
    /// Text of this media type.
    Text(&'static str),
}

/// The schema of a type.
pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
