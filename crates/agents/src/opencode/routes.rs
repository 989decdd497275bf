//! The routes of OpenCode's server that Switchboard uses, by method and path.

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// Creates a session.
    Create,
    /// Reads or changes a session.
    Session(&'a str),
    /// Copies a session.
    Fork(&'a str),
    /// Lists all messages of a session.
    Messages(&'a str),
    /// Sends a prompt.
    Prompt(&'a str),
    /// Stops the turn of a session.
    Abort(&'a str),
    /// Lists the status of each session.
    Statuses,
    /// Lists the open permission requests.
    Permissions,
    /// Answers a permission request.
    Permit(&'a str),
    /// Lists the open questions.
    Questions,
    /// Answers a question.
    Reply(&'a str),
    /// Rejects a question.
    Reject(&'a str),
    /// Lists the agents, OpenCode's term for both modes and subagents.
    Agents,
    /// Reads OpenCode's configuration.
    Config,
    /// Lists the models by provider.
    Providers,
    /// Lists the slash commands.
    Commands,
    /// Runs a slash command.
    Command(&'a str),
    /// Any other request.
    Other,
}

impl<'a> Route<'a> {
    pub fn of(method: &str, path: &'a str) -> Self {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match (method, parts.as_slice()) {
            ("POST", ["session"]) => Self::Create,
            ("GET", ["session", "status"]) => Self::Statuses,
            ("GET" | "PATCH", ["session", session]) => Self::Session(session),
            ("POST", ["session", session, "fork"]) => Self::Fork(session),
            ("GET", ["session", session, "message"]) => Self::Messages(session),
            ("POST", ["session", session, "message" | "prompt_async"]) => Self::Prompt(session),
            ("POST", ["session", session, "abort"]) => Self::Abort(session),
            ("GET", ["permission"]) => Self::Permissions,
            // The second path is the older one.
            ("POST", ["permission", request, "reply"] | ["session", _, "permissions", request]) => {
                Self::Permit(request)
            }
            ("GET", ["question"]) => Self::Questions,
            ("POST", ["question", request, "reply"]) => Self::Reply(request),
            ("POST", ["question", request, "reject"]) => Self::Reject(request),
            ("GET", ["agent"]) => Self::Agents,
            ("GET", ["config"]) => Self::Config,
            ("GET", ["config", "providers"]) => Self::Providers,
            ("GET", ["command"]) => Self::Commands,
            ("POST", ["session", session, "command"]) => Self::Command(session),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {

    use super::Route;

    #[test]
    fn the_path_says_what_a_request_is_about() {
        let check = |method, path, route| assert_eq!(Route::of(method, path), route, "{method} {path}");
        check("POST", "/session?directory=%2Fw", Route::Create);
        check("GET", "/session", Route::Other);
        check("GET", "/session/status", Route::Statuses);
        check("PATCH", "/session/ses_1", Route::Session("ses_1"));
        check("DELETE", "/session/ses_1", Route::Other);
        check("POST", "/session/ses_1/prompt_async", Route::Prompt("ses_1"));
        check("GET", "/session/ses_1/message?limit=1", Route::Messages("ses_1"));
        check("POST", "/session/ses_1/permissions/per_1", Route::Permit("per_1"));
        check("POST", "/question/que_1/reject", Route::Reject("que_1"));
        check("", "", Route::Other);
    }
}
