//! The private socket of a process that runs sessions. Other processes of the same user control those sessions through
//! it, with the same operations as over the network, so nothing is translated. The permissions of the socket file and
//! its directory replace the token; callers that descend from a session are refused as everywhere.

use std::{path::Path, time::Duration};

use axum::http::Method;
use bytes::Bytes;
use switchboard_client::http::{HttpClient, HttpLimits, ServerAddress};

use crate::{
    Problem, Service,
    guard::{Guard, GuardConfig, RateLimit},
    listen::{ConnectionLimits, HttpServer, ListenError, Listener},
    nodes::unreachable_problem,
};

/// The maximum time of a forwarded request, longer than any operation takes.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(20);

const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// The server of the private socket, until it is closed.
pub struct PrivateServer(HttpServer);

/// Serves the private socket `NUMBER.sock` in the directory of the owners.
pub fn serve_private_socket(owners: &Path, number: u64, service: &Service) -> Result<PrivateServer, ListenError> {
    let listener = Listener::unix(&owners.join(format!("{number}.sock")))?;
    let guard = Guard::new(GuardConfig { rate: RateLimit::Unlimited, ..GuardConfig::default() });
    let mut server = HttpServer::new(ConnectionLimits::default(), service.drain().clone());
    server.listen(listener, guard.around(service.router()));
    Ok(PrivateServer(server))
}

impl PrivateServer {
    /// Removes the socket. Connected clients may finish for a while and are then disconnected.
    pub async fn close(mut self, within: Duration) -> bool {
        self.0.stop().await;
        self.0.wait_until_idle(within / 2).await || self.0.close(within / 2).await
    }
}

/// The response of another process.
pub struct PeerResponse {
    pub status: u16,
    pub body: Bytes,
}

/// Sends a request to a process that shares the data directory.
pub async fn send_request(
    socket: &Path,
    method: &Method,
    path: &str,
    body: Option<Bytes>,
) -> Result<PeerResponse, Problem> {
    let unreachable = |error: &dyn std::fmt::Display| unreachable_problem(&error.to_string());
    let client = HttpClient::new(ServerAddress::from_socket_path(socket), None).map_err(|error| unreachable(&error))?;
    let client = client.with_limits(HttpLimits { time: FORWARD_TIMEOUT, bytes: MAX_RESPONSE_BYTES });
    let response = client.request(method.as_str(), path, body).await;
    let (status, body) = response.map_err(|error| unreachable(&error))?;
    Ok(PeerResponse { status, body })
}

/// Percent-encodes text as a segment of a path.
#[must_use]
pub fn encode_path_segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::encode_path_segment;

    #[test]
    fn any_id_is_one_segment_of_a_path() {
        assert_eq!(encode_path_segment("1:a/b c?é"), "1%3Aa%2Fb%20c%3F%C3%A9");
        assert_eq!(encode_path_segment("0198-x_y.z~"), "0198-x_y.z~");
    }
}
