//! The operations over HTTP: one table of them, in groups, behind the router and the OpenAPI document. A handler takes a
//! request apart and puts an answer together; what is done is in `commands/`.

mod about;
mod agents;
mod approvals;
mod consumers;
mod events;
mod found;
mod logs;
mod operation;
mod sessions;
mod steering;
mod streams;
mod usage;

use std::time::Instant;

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Method as HttpMethod, StatusCode, Uri},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};

pub use logs::answer;
pub use operation::{Answer, Content, Operation};
pub use streams::last_event_id;

use crate::{Problem, Service, guard::reads_pages, page};

/// All operations, in groups, in the order in which they are shown.
pub const GROUPS: &[&[Operation]] = &[
    sessions::OPERATIONS,
    events::OPERATIONS,
    streams::OPERATIONS,
    consumers::OPERATIONS,
    steering::OPERATIONS,
    approvals::OPERATIONS,
    logs::OPERATIONS,
    usage::OPERATIONS,
    found::OPERATIONS,
    agents::OPERATIONS,
    about::OPERATIONS,
];

impl Service {
    /// The routes of all operations. It lets in whoever reaches it: what guards it is put around it.
    pub fn router(&self) -> Router {
        let mut router = Router::new();
        for operation in GROUPS.iter().copied().flatten() {
            router = router.route(operation.path, operation.route());
        }
        page::routes(router)
            .fallback(nothing_here)
            .method_not_allowed_fallback(not_that_way)
            .layer(from_fn_with_state(self.clone(), count))
            .with_state(self.clone())
    }
}

/// A person gets the page, which says the same.
async fn nothing_here(method: HttpMethod, address: Uri, headers: HeaderMap) -> Response {
    let is_file = address.path().starts_with("/static/");
    if method == HttpMethod::GET && !is_file && reads_pages(&headers) {
        return page::nothing_here();
    }
    let detail = "there is nothing at this address";
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", detail);
    problem.with_hint("GET /openapi.json lists all operations").into_response()
}

async fn not_that_way() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not_allowed", "this address does not take this method")
}

/// Counts a request by its route, never by its path: paths are without number.
async fn count(State(service): State<Service>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("", |path| path.as_str()).to_owned();
    let method = method_name(request.method());
    let response = next.run(request).await;
    service.metrics().answered(method, &route, response.status().as_u16(), begin.elapsed());
    response
}

/// Methods that nobody has heard of are one.
fn method_name(method: &HttpMethod) -> &'static str {
    match *method {
        HttpMethod::GET => "GET",
        HttpMethod::HEAD => "HEAD",
        HttpMethod::POST => "POST",
        HttpMethod::DELETE => "DELETE",
        _ => "other",
    }
}
