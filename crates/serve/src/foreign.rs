//! Operations on a session that another process runs: they are passed to its private socket, and its answer is passed
//! back. Both processes offer the same operations, so nothing is translated.

use std::{path::Path, time::Duration};

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use switchboard_client::http::{HttpClient, HttpLimits, ServerAddress};

use crate::{Problem, input};

/// How long the other process may take: longer than any operation needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A longer answer than this is none.
const LARGEST: usize = 64 << 20;

/// Has another process do something.
///
/// # Errors
/// What the other process says is wrong, or that it cannot be reached.
pub async fn call<T: DeserializeOwned>(
    socket: &Path,
    method: Method,
    path: &str,
    body: Option<&impl Serialize>,
) -> Result<T, Problem> {
    let body = body.map(serde_json::to_vec).transpose().map_err(unreachable)?;
    let client = HttpClient::new(ServerAddress::from_socket_path(socket), None).map_err(unreachable)?;
    let client = client.with_limits(HttpLimits { time: PATIENCE, bytes: LARGEST });
    let asked = client.request(method.as_str(), path, body.map(Bytes::from)).await;
    let (status, answer) = asked.map_err(unreachable)?;
    if (200..300).contains(&status) {
        // Where nothing is answered, nothing is what is wanted.
        let answer = if answer.is_empty() { Bytes::from_static(b"null") } else { answer };
        return serde_json::from_slice(&answer).map_err(unreachable);
    }
    Err(input::parse(&answer).unwrap_or_else(|_| unreachable(format!("it answered with {status}"))))
}

#[expect(clippy::needless_pass_by_value, reason = "causes are given as they are")]
fn unreachable(cause: impl ToString) -> Problem {
    let detail = format!("the process that runs the session does not answer: {}", cause.to_string());
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unreachable", detail)
}

/// Text as a part of a path.
#[must_use]
pub fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn whatever_an_id_is_it_is_one_part_of_a_path() {
        assert_eq!(segment("1:a/b c?é"), "1%3Aa%2Fb%20c%3F%C3%A9");
        assert_eq!(segment("0198-x_y.z~"), "0198-x_y.z~");
    }
}
