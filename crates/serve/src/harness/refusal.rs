//! Problems, as the protocol tells them.

use switchboard_dialects::harness::{RpcError, code};

use crate::Problem;

/// Names of settings that the client knows by others.
const NAMES: [(&str, &str); 4] =
    [("config.workingDirectory:", "cwd:"), ("prompt:", "input:"), ("agentType:", "agent:"), ("images[", "image[")];

/// A problem, in the numbers of the protocol. What it is called otherwise goes along.
pub fn refusal(problem: Problem) -> RpcError {
    let number = match (&*problem.code, problem.status) {
        ("no_session", _) => code::THREAD_NOT_FOUND,
        ("turn_in_progress", _) => code::TURN_IN_PROGRESS,
        ("bad_folder" | "outside_roots" | "too_large", _) | (_, 400) => code::INVALID_PARAMS,
        _ => code::INTERNAL_ERROR,
    };
    let detail = String::from(problem.detail);
    let renamed = NAMES.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", detail.strip_prefix(ours)?)));
    RpcError::new(number, renamed.unwrap_or(detail)).with_data(problem.code, problem.hint.map(Into::into))
}

/// There is no such thread.
pub fn no_thread(id: &str) -> RpcError {
    let error = RpcError::new(code::THREAD_NOT_FOUND, format!("thread {id} is not open on this connection"));
    error.with_data("not_open", Some("thread/start begins one, thread/resume goes on with one".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_a_number_and_keeps_its_name() {
        for (problem, number, message) in [
            (Problem::no_session("x"), code::THREAD_NOT_FOUND, "there is no session x"),
            (Problem::bad_field("config.workingDirectory", "no"), code::INVALID_PARAMS, "cwd: no"),
            (Problem::bad_field("prompt", "it is empty"), code::INVALID_PARAMS, "input: it is empty"),
            (Problem::conflict("turn_in_progress", "later"), code::TURN_IN_PROGRESS, "later"),
            (Problem::conflict("not_installed", "none"), code::INTERNAL_ERROR, "none"),
        ] {
            let (name, error) = (problem.code.clone(), refusal(problem.with_hint("try")));
            assert_eq!((error.code, error.message.as_str()), (number, message));
            let data = error.data.unwrap();
            assert_eq!((data.code, data.hint.as_deref()), (name.into_owned(), Some("try")));
        }
    }
}
