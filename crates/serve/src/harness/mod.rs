//! The harness protocol: a connection on which a client runs any number of threads, each with its own agent. It is
//! independent of the transport: input and output are lines. The transports are standard input and output (in the CLI)
//! and WebSockets.
//!
//! * `connection` dispatches requests: concurrently, except those about the same thread (`request_order`).
//! * `threads`, `turns` and `settings` implement the methods.
//! * `open_thread` sends what happens in a thread, and keeps its open requests.
//! * `transport` is the outgoing queue, which blocks when the client does not read, and the WebSocket.

mod connection;
mod open_thread;
mod request_order;
mod settings;
mod threads;
mod transport;
mod turns;

use switchboard_dialects::harness::{RpcError, code};

use crate::Problem;

pub use connection::{HarnessConnection, HarnessOptions};
pub use transport::{OutgoingLine, OutgoingLines, serve};

pub const MAX_LINE_BYTES: usize = crate::requests::MAX_BODY_BYTES;

/// Settings that clients know by other names.
const FIELD_NAMES: [(&str, &str); 4] =
    [("config.workingDirectory:", "cwd:"), ("prompt:", "input:"), ("agentType:", "agent:"), ("images[", "image[")];

/// Converts a problem. Its code becomes data.
pub fn to_rpc_error(problem: Problem) -> RpcError {
    let code = match (&*problem.code, problem.status) {
        ("no_session", _) => code::THREAD_NOT_FOUND,
        ("turn_in_progress", _) => code::TURN_IN_PROGRESS,
        ("bad_folder" | "outside_roots" | "too_large", _) | (_, 400) => code::INVALID_PARAMS,
        _ => code::INTERNAL_ERROR,
    };
    let detail = String::from(problem.detail);
    let renamed = FIELD_NAMES.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", detail.strip_prefix(ours)?)));
    RpcError::new(code, renamed.unwrap_or(detail)).with_data(problem.code, problem.hint.map(Into::into))
}

pub fn thread_not_open(id: &str) -> RpcError {
    let error = RpcError::new(code::THREAD_NOT_FOUND, format!("thread {id} is not open on this connection"));
    error.with_data("not_open", Some("start one with thread/start, or resume one with thread/resume".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_a_number_and_keeps_its_code() {
        for (problem, number, message) in [
            (Problem::no_session("x"), code::THREAD_NOT_FOUND, "no session x"),
            (Problem::bad_field("config.workingDirectory", "no"), code::INVALID_PARAMS, "cwd: no"),
            (Problem::bad_field("prompt", "must not be empty"), code::INVALID_PARAMS, "input: must not be empty"),
            (Problem::conflict("turn_in_progress", "later"), code::TURN_IN_PROGRESS, "later"),
            (Problem::conflict("not_installed", "none"), code::INTERNAL_ERROR, "none"),
        ] {
            let (name, error) = (problem.code.clone(), to_rpc_error(problem.with_hint("try")));
            assert_eq!((error.code, error.message.as_str()), (number, message));
            let data = error.data.unwrap();
            assert_eq!((data.code, data.hint.as_deref()), (name.into_owned(), Some("try")));
        }
    }
}
