//! Forwards plain HTTP requests of a confined session, and writes the proxy's own responses.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode, Uri,
    body::Incoming,
    client, header,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;

use super::{
    proxy::{ClientState, ConnectError, HostConnection, ProxiedStream, RefusalReason, ResponseBody},
    rules::bracket_host,
};

/// Headers that apply to one connection only.
const HOP_BY_HOP_HEADERS: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Forwards a plain request, with the host that was checked.
pub(super) async fn forward_request(
    request: Request<Incoming>,
    host: &str,
    port: u16,
    connection: HostConnection,
    authorization: Option<&str>,
    state: &Mutex<ClientState>,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    remove_hop_by_hop(&mut parts.headers);
    let bracketed = bracket_host(host);
    let authority = if port == 80 { bracketed.into_owned() } else { format!("{bracketed}:{port}") };
    let (stream, uri): (Box<dyn ProxiedStream>, _) = match connection {
        HostConnection::Host(stream) => (stream, path.parse()),
        HostConnection::Upstream(stream) => {
            let authorization = authorization.and_then(|value| HeaderValue::from_str(value).ok());
            parts.headers.extend(authorization.map(|value| (header::PROXY_AUTHORIZATION, value)));
            (Box::new(stream), format!("http://{authority}{path}").parse())
        }
    };
    parts.uri = uri.unwrap_or_else(|_| Uri::from_static("/"));
    if let Ok(authority) = HeaderValue::from_str(&authority) {
        parts.headers.insert(header::HOST, authority);
    }
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    {
        let connections = &mut state.lock().connections;
        while connections.try_join_next().is_some() {}
        connections.spawn(async move { drop(connection.await) });
    }
    let mut response = sender.send_request(Request::from_parts(parts, body)).await?;
    remove_hop_by_hop(response.headers_mut());
    Ok(response)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<_> = named.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    for name in HOP_BY_HOP_HEADERS.iter().copied().chain(named.iter().map(String::as_str)) {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            headers.remove(name);
        }
    }
}

pub(super) fn refusal_response(host: &str, port: u16, error: &ConnectError) -> Response<ResponseBody> {
    match error {
        ConnectError::Refused | ConnectError::Never(RefusalReason::TooManyWaiting) => text_response(
            StatusCode::FORBIDDEN,
            &format!(
                "The sandbox does not allow connections to {host}:{port}. Allow it with --allow-domain {host} (config.allowedDomains).\n"
            ),
        ),
        ConnectError::Never(RefusalReason::OwnListener) => text_response(
            StatusCode::FORBIDDEN,
            &format!("The sandbox does not allow connections to {host}:{port}, where Switchboard itself listens.\n"),
        ),
        ConnectError::Never(RefusalReason::Private) => text_response(
            StatusCode::FORBIDDEN,
            &format!(
                "The sandbox does not allow connections to {host}:{port}, which is on this machine or in a private network.\n"
            ),
        ),
        ConnectError::Never(RefusalReason::Unresolved) => text_response(
            StatusCode::FORBIDDEN,
            &format!(
                "The sandbox does not allow connections to {host}:{port}, because this machine cannot resolve the name. Allow it with --allow-domain {host} (config.allowedDomains).\n"
            ),
        ),
        ConnectError::Unreachable(error) => {
            text_response(StatusCode::BAD_GATEWAY, &format!("Cannot connect to {host}:{port}: {error}\n"))
        }
    }
}

pub(super) fn text_response(status: StatusCode, text: &str) -> Response<ResponseBody> {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if !text.is_empty() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}
