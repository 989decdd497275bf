//! A row of the table of operations: its method and path, its parameters and responses, and its handler. The router and
//! the OpenAPI document are both made of it, so they cannot disagree.

use axum::{
    extract::DefaultBodyLimit,
    routing::{MethodFilter, MethodRouter},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::Service;

type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationMethod {
    Get,
    Post,
    Delete,
}

impl OperationMethod {
    /// Returns the name that OpenAPI uses.
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

pub struct Operation {
    pub method: OperationMethod,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// The operation ID, for generated clients.
    pub name: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    /// The schema of the query parameters, as an object.
    pub query: Option<SchemaFn>,
    pub body: Option<SchemaFn>,
    /// The maximum size of the body, in bytes.
    pub max_body_bytes: usize,
    /// The successful responses.
    pub responses: &'static [SuccessResponse],
    /// The error statuses besides [`COMMON_REFUSALS`].
    pub refusals: &'static [u16],
    /// Whether it needs no token.
    pub is_public: bool,
    pub handler: fn(MethodFilter) -> MethodRouter<Service>,
}

/// The error statuses of every operation.
const COMMON_REFUSALS: &[u16] = &[400, 401, 403, 408, 413, 414, 421, 429, 431, 500, 503];

/// The error statuses of operations with a body.
const BODY_REFUSALS: &[u16] = &[415];

/// The maximum size of a body without images.
const MAX_SMALL_BODY_BYTES: usize = 1 << 20;

impl Operation {
    /// The defaults of all operations.
    pub const NEW: Self = Self {
        method: OperationMethod::Get,
        path: "",
        name: "",
        summary: "",
        description: "",
        query: None,
        body: None,
        max_body_bytes: MAX_SMALL_BODY_BYTES,
        responses: &[],
        refusals: &[],
        is_public: false,
        handler: |_| MethodRouter::new(),
    };

    /// Returns all error statuses, in order.
    #[must_use]
    pub fn error_statuses(&self) -> Vec<u16> {
        let body = if self.body.is_some() { BODY_REFUSALS } else { &[] };
        let mut all = [COMMON_REFUSALS, body, self.refusals].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub fn route(&self) -> MethodRouter<Service> {
        (self.handler)(self.method.filter()).layer(DefaultBodyLimit::max(self.max_body_bytes))
    }
}

pub struct SuccessResponse {
    pub status: u16,
    pub meaning: &'static str,
    pub content: ResponseContent,
}

pub enum ResponseContent {
    Nothing,
    Json(SchemaFn),
    /// JSON, or text of this media type if the client requests it.
    JsonOr(SchemaFn, &'static str),
    Events,
    Text(&'static str),
}

pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
