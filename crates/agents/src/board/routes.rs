//! The paths of a server's sessions: building and parsing.

use std::borrow::Cow;

/// Purpose of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum BoardRoute<'a> {
    /// All sessions, where new ones are started.
    Sessions,
    State,
    /// A follow-up prompt.
    Prompt,
    /// Cancels the session.
    Cancel,
    /// The open requests of the agent.
    Approvals,
    /// One request of the agent.
    Approval(Cow<'a, str>),
    Other,
}

pub const SESSIONS: &str = "/api/sessions";

impl<'a> BoardRoute<'a> {
    pub fn of(path: &'a str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let Some(rest) = path.strip_prefix(SESSIONS) else { return Self::Other };
        let mut parts = rest.split('/').skip(1);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (None, ..) => Self::Sessions,
            (Some(_), None, ..) => Self::State,
            (Some(_), Some("prompt"), None, _) => Self::Prompt,
            (Some(_), Some("cancel"), None, _) => Self::Cancel,
            (Some(_), Some("approvals"), None, _) => Self::Approvals,
            (Some(_), Some("approvals"), Some(request), None) => Self::Approval(decoded(request)),
            _ => Self::Other,
        }
    }
}

pub fn of_session(session: &str, rest: &str) -> String {
    format!("{SESSIONS}/{}{rest}", encoded(session))
}

/// Percent-encodes a path segment.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {

    use super::{BoardRoute, encoded};

    #[test]
    fn paths_are_read_as_they_are_written() {
        let check = |path: &str, route: BoardRoute<'_>| assert_eq!(BoardRoute::of(path), route, "{path}");
        check("/api/sessions", BoardRoute::Sessions);
        check("/api/sessions/a", BoardRoute::State);
        check("/api/sessions/a?x=1", BoardRoute::State);
        check("/api/sessions/a/prompt", BoardRoute::Prompt);
        check("/api/sessions/a/cancel", BoardRoute::Cancel);
        check("/api/sessions/a/approvals", BoardRoute::Approvals);
        check("/api/sessions/a/events?offset=1", BoardRoute::Other);
        check("/api/health", BoardRoute::Other);
        for request in ["r-1", "a/b c%é"] {
            check(&format!("/api/sessions/s/approvals/{}", encoded(request)), BoardRoute::Approval(request.into()));
        }
    }
}
