//! Requests of other nodes, answered with the same operations as over HTTP. NATS has authenticated the sender, which
//! has authenticated its client; only operations on sessions and nodes are open to it.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode, header},
    response::IntoResponse as _,
};
use futures_util::FutureExt as _;
use switchboard_cluster::{NodeRequest, NodeResponse, RequestServer};
use tower::ServiceExt as _;

use crate::{Problem, Service};

const MAX_RESPONSE_BYTES: usize = 64 << 20;

impl Service {
    /// Responds to the requests of other nodes until the result is dropped. Does nothing without a cluster.
    #[must_use]
    pub fn serve_nodes(&self) -> Option<RequestServer> {
        let (cluster, router) = (self.cluster()?, self.router());
        let handler = move |request| respond(router.clone(), request).boxed();
        Some(cluster.serve_requests(self.accepts_sessions(), std::sync::Arc::new(handler)))
    }
}

async fn respond(router: Router, request: NodeRequest) -> NodeResponse {
    let refused = |detail: &str| Problem::bad_request("bad_node_request", detail).into_response();
    let response = match build_request(request) {
        Some(request) => router.oneshot(request).await.unwrap_or_else(|never| match never {}),
        None => refused("nodes cannot request this operation of each other"),
    };
    let status = response.status().as_u16();
    match to_bytes(response.into_body(), MAX_RESPONSE_BYTES).await {
        Ok(body) => NodeResponse { status, body },
        Err(error) => {
            let problem = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string());
            NodeResponse { status: problem.status, body: serde_json::to_vec(&problem).unwrap_or_default().into() }
        }
    }
}

/// Returns the request for the router, if its operation is one that nodes forward.
fn build_request(request: NodeRequest) -> Option<Request<Body>> {
    let method: Method = request.method.parse().ok()?;
    if !is_forwarded(&method, &request.path) {
        return None;
    }
    let request = Request::builder()
        .method(method)
        .uri(request.path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(request.body));
    request.ok()
}

fn is_forwarded(method: &Method, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let is_session = path == "/api/sessions" || path.starts_with("/api/sessions/");
    match *method {
        Method::GET => is_session && path.ends_with("/approvals"),
        Method::POST => is_session || path.starts_with("/api/nodes/"),
        Method::DELETE => is_session,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::is_forwarded;

    #[test]
    fn only_operations_on_sessions_and_nodes_are_forwarded() {
        for (method, path, expected) in [
            (Method::POST, "/api/sessions", true),
            (Method::POST, "/api/sessions/s/cancel", true),
            (Method::GET, "/api/sessions/s/approvals", true),
            (Method::DELETE, "/api/sessions/s", true),
            (Method::POST, "/api/nodes/b/drain", true),
            (Method::GET, "/api/sessions/s/stream", false),
            (Method::GET, "/ws/harness", false),
            (Method::POST, "/api/run", false),
            (Method::POST, "/api/sessionsx", false),
            (Method::PUT, "/api/sessions/s", false),
        ] {
            assert_eq!(is_forwarded(&method, path), expected, "{method} {path}");
        }
    }
}
