//! The operations over HTTP: one table in groups, from which the router and the OpenAPI document are made. Handlers
//! only parse requests and write responses; `commands` and the other modules do the work.

mod events;
mod logs;
mod nodes;
mod operation;
mod server;
mod sessions;
mod streams;

use std::time::Instant;

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Method as HttpMethod, StatusCode, Uri},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};

use crate::{Problem, Service, guard::accepts_html, page};

pub use logs::json_response;
pub use operation::{Operation, ResponseContent, SuccessResponse};
pub use streams::last_event_id;

/// All operations, in the order of the documentation.
pub const GROUPS: &[&[Operation]] = &[
    sessions::OPERATIONS,
    events::OPERATIONS,
    streams::OPERATIONS,
    streams::CONSUMER_OPERATIONS,
    sessions::CONTROL_OPERATIONS,
    sessions::APPROVAL_OPERATIONS,
    logs::OPERATIONS,
    logs::USAGE_OPERATIONS,
    logs::SEARCH_OPERATIONS,
    server::AGENT_OPERATIONS,
    nodes::OPERATIONS,
    server::OPERATIONS,
];

impl Service {
    /// Returns the routes of all operations, without access control: see [`guard`](crate::guard).
    pub fn router(&self) -> Router {
        let mut router = Router::new();
        for operation in GROUPS.iter().copied().flatten() {
            router = router.route(operation.path, operation.route());
        }
        page::routes(router)
            .fallback(handle_unknown_path)
            .method_not_allowed_fallback(handle_unknown_method)
            .layer(from_fn_with_state(self.clone(), count_request))
            .with_state(self.clone())
    }
}

/// Browsers get the page, which shows the error.
async fn handle_unknown_path(method: HttpMethod, address: Uri, headers: HeaderMap) -> Response {
    let is_file = address.path().starts_with("/static/");
    if method == HttpMethod::GET && !is_file && accepts_html(&headers) {
        return page::not_found_page();
    }
    let detail = "nothing at this address";
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", detail);
    problem.with_hint("GET /openapi.json lists all operations").into_response()
}

async fn handle_unknown_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not_allowed", "this address does not support the method")
}

/// Counts a request by its route, not its path, so that the number of metrics is bounded.
async fn count_request(State(service): State<Service>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("", |path| path.as_str()).to_owned();
    let method = method_name(request.method());
    let response = next.run(request).await;
    service.metrics().count_request(method, &route, response.status().as_u16(), started.elapsed());
    response
}

/// Maps unknown methods to one label.
fn method_name(method: &HttpMethod) -> &'static str {
    match *method {
        HttpMethod::GET => "GET",
        HttpMethod::HEAD => "HEAD",
        HttpMethod::POST => "POST",
        HttpMethod::DELETE => "DELETE",
        _ => "other",
    }
}
