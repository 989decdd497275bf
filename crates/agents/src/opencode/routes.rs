//! The routes of OpenCode's server that we use: what a request is about, by its method and path.

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// A new session.
    Create,
    /// A session: to look at, or to change.
    Session(&'a str),
    /// A copy of a session.
    Fork(&'a str),
    /// All that was said in a session.
    Messages(&'a str),
    /// A prompt.
    Prompt(&'a str),
    /// Stopping what a session does.
    Abort(&'a str),
    /// What each session does.
    Statuses,
    /// The permissions that are asked for.
    Permissions,
    /// The answer to one of them.
    Permit(&'a str),
    /// The questions that are asked.
    Questions,
    /// The answer to one of them.
    Reply(&'a str),
    /// Not answering one of them.
    Reject(&'a str),
    /// The agents: OpenCode's word for modes and for subagents.
    Agents,
    /// OpenCode's configuration.
    Config,
    /// The models, by provider.
    Providers,
    /// The slash commands.
    Commands,
    /// One of them.
    Command(&'a str),
    /// Something else.
    Other,
}

impl<'a> Route<'a> {
    /// The route of a request.
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
            // The second is older.
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
