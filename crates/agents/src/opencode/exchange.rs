//! HTTP exchange with OpenCode's server: outgoing records `{"id","method","path","body"?}`, incoming ones
//! `{"id","method","path","status","body"?}` or with an `error`. Most of it only repeats the bus; it is used where the
//! bus is silent or late.

use switchboard_event::{
    Decider, ErrorCode, Fault, Id, Info, Level, Mode, Named, Notice, Origin, Outcome, RequestResolved, Topic,
};

use super::{bus::BusReader, errors, offers, sessions};
use crate::{JsonObject, JsonView, RunRecorder, commands};

/// The agent that works in a session by default.
const MODE: &str = "build";

/// Maximum number of prompts remembered until the bus shows them.
const LIMIT: usize = 64;

/// Sent prompts that the bus has not shown yet: request number and text.
#[derive(Default)]
pub struct OutstandingPrompts(Vec<(u64, String)>);

impl OutstandingPrompts {
    fn push(&mut self, number: u64, text: String) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        self.0.push((number, text));
    }

    /// Removes the oldest prompt, because the bus showed a message of the user.
    pub fn remove_oldest(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    fn take(&mut self, number: u64) -> Option<String> {
        let at = self.0.iter().position(|(posted, _)| *posted == number)?;
        Some(self.0.remove(at).1)
    }

    /// Takes the oldest prompt that the bus has not shown.
    pub fn take_oldest(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.remove(0).1)
    }
}

impl BusReader {
    /// Reads a request to the server.
    pub(super) fn read_request(&mut self, request: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if request.contains_key("set") {
            return self.apply_selection(&request.get_object("set"), recorder);
        }
        let (method, path) =
            (request.get_str("method").unwrap_or_default(), request.get_str("path").unwrap_or_default());
        let body = request.get_object("body");
        match OpenCodeRoute::of(&method, &path) {
            OpenCodeRoute::Prompt(_) => self.read_prompt_request(request.get_count("id"), &body),
            OpenCodeRoute::Command(_) => self.read_command_request(request.get_count("id"), &body),
            OpenCodeRoute::Permit(id) => self.read_permission_reply(id, &body, recorder),
            OpenCodeRoute::Reply(id) => self.read_question_reply(id, &body, recorder),
            OpenCodeRoute::Reject(id) => self.read_question_rejection(id, recorder),
            _ if path.ends_with("/abort") => {
                self.stopped = true;
                recorder.mark_interrupted();
                recorder.write_notice(Notice::new(Topic::Interrupt));
            }
            _ => {}
        }
        recorder.write_notice_if_no_event(Notice { name: request.get_non_empty("path"), ..debug_notice() });
    }

    /// Applies a selection. OpenCode receives it with the next prompt.
    fn apply_selection(&mut self, what: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.offers.set_current_model(what.get_non_empty("model"));
        if what.contains_key("variant") {
            self.offers.set_current_variant(what.get_non_empty("variant"));
        }
        let (model, mode) = (what.get_non_empty("model"), what.get_non_empty("agent"));
        self.moded |= mode.is_some();
        recorder.update_info(Info { model, mode, options: self.offers.options(), ..Info::default() });
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("set"));
    }

    fn read_prompt_request(&mut self, number: u64, body: &JsonObject<'_>) {
        self.stopped = false;
        let parts = body.get_array("parts").into_iter().map(JsonView::as_object);
        let texts: Vec<_> = parts.filter_map(|part| part.get_non_empty("text")).collect();
        // A prompt without text only asks for a reply to earlier messages.
        if !body.is_true("noReply") && !texts.is_empty() {
            self.posted.push(number, texts.join("\n"));
        }
    }

    fn read_command_request(&mut self, number: u64, body: &JsonObject<'_>) {
        self.stopped = false;
        let (name, arguments) = (body.get_string("command"), body.get_string("arguments"));
        let typed = commands::command_prompt(&name.unwrap_or_default(), &arguments.unwrap_or_default());
        self.posted.push(number, typed.text);
    }

    /// A refusal without a message ends the turn, unless OpenCode is configured to continue. Only a cancellation sends
    /// one.
    fn read_permission_reply(&mut self, request: &str, body: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let reply = body.get_non_empty("reply").or_else(|| body.get_non_empty("response"));
        let message = body.get_non_empty("message");
        let outcome = match (reply.as_deref(), &message) {
            (Some("once" | "always"), _) => Outcome::Allowed,
            (_, Some(_)) => Outcome::Declined,
            (_, None) => Outcome::Cancelled,
        };
        self.resolve_if_open(RequestResolved { outcome, option: reply, message, ..answer(request) }, recorder);
    }

    fn read_question_reply(&mut self, request: &str, body: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let answers = self.questions.answers(request, body.get_array("answers"));
        self.resolve_if_open(RequestResolved { outcome: Outcome::Answered, answers, ..answer(request) }, recorder);
    }

    fn read_question_rejection(&mut self, request: &str, recorder: &mut RunRecorder) {
        let outcome = if recorder.is_interrupted() { Outcome::Cancelled } else { Outcome::Declined };
        self.resolve_if_open(RequestResolved { outcome, ..answer(request) }, recorder);
    }

    fn resolve_if_open(&mut self, resolved: RequestResolved, recorder: &mut RunRecorder) {
        self.replied.insert(resolved.request.clone(), ());
        recorder.request_resolved(resolved);
    }

    /// Reads a response of the server.
    pub(super) fn read_response(&mut self, answer: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let (method, path) = (answer.get_str("method").unwrap_or_default(), answer.get_str("path").unwrap_or_default());
        let route = OpenCodeRoute::of(&method, &path);
        let name = format!("{method} {path}");
        if let Some(fault) = failure(answer) {
            if let OpenCodeRoute::Prompt(_) | OpenCodeRoute::Command(_) = route {
                self.prompt_failed(answer.get_count("id"), &fault, recorder);
            }
            let level = if is_expected_failure(route, &fault) { Level::Debug } else { Level::Warning };
            let notice = Notice { error: Some(fault.clone()), ..debug_notice() };
            return recorder
                .write_notice_if_no_event(notice.with_level(level).with_name(name).with_text(fault.message));
        }
        if let Some(body) = answer.get("body") {
            self.apply_response_body(route, body, recorder);
        }
        let status = answer.get_u64("status").map(|status| status.to_string());
        recorder.write_notice_if_no_event(Notice { status, ..debug_notice().with_name(name) });
    }

    fn apply_response_body(&mut self, route: OpenCodeRoute<'_>, body: JsonView<'_>, recorder: &mut RunRecorder) {
        match route {
            OpenCodeRoute::Create | OpenCodeRoute::Fork(_) | OpenCodeRoute::Session(_) => {
                let existed = matches!(route, OpenCodeRoute::Session(_));
                self.sessions.adopt_main(&body.as_object(), existed, recorder);
                self.offers.set_current_model(sessions::about(&body.as_object()).model);
            }
            OpenCodeRoute::Messages(_) => self.catch_up(body, recorder),
            OpenCodeRoute::Statuses => self.read_statuses(&body.as_object(), recorder),
            OpenCodeRoute::Permissions => self.read_open_requests(body, Self::permission_asked, recorder),
            OpenCodeRoute::Questions => self.read_open_requests(body, Self::question_asked, recorder),
            OpenCodeRoute::Agents => recorder.update_info(agents(body)),
            OpenCodeRoute::Config => self.apply_config_defaults(&body.as_object(), recorder),
            OpenCodeRoute::Providers => {
                self.offers.providers(&body.as_object());
                let (models, options) = (self.offers.models(), self.offers.options());
                recorder.update_info(Info { models, options, ..Info::default() });
            }
            OpenCodeRoute::Commands => {
                recorder.update_info(Info { commands: offers::commands(body), ..Info::default() })
            }
            _ => {}
        }
    }

    /// Applies the defaults of OpenCode's configuration.
    fn apply_config_defaults(&mut self, config: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.offers.model().is_none() {
            self.offers.set_current_model(recorder.session_context().config.model.clone());
        }
        self.offers.config(config);
        let model = self.offers.model().map(str::to_owned);
        // A mode may have been chosen in the meantime.
        let usual = || config.get_non_empty("default_agent").unwrap_or_else(|| MODE.to_owned());
        let mode = (!self.moded).then(usual);
        recorder.update_info(Info { model, mode, models: self.offers.models(), ..Info::default() });
    }

    /// Ends the turn of a prompt that was rejected, unless another turn is running.
    fn prompt_failed(&mut self, number: u64, fault: &Fault, recorder: &mut RunRecorder) {
        if let Some(text) = self.posted.take(number).filter(|_| !recorder.in_turn()) {
            self.turn.report_refused_prompt(&text, fault.clone(), recorder);
        }
    }
}

fn debug_notice() -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug)
}

fn answer(request: &str) -> RequestResolved {
    RequestResolved { request: Id::from(request), by: Decider::Client, ..RequestResolved::default() }
}

/// Returns the fault of a failed request.
pub fn failure(answer: &JsonObject<'_>) -> Option<Fault> {
    if let Some(error) = answer.get_str("error") {
        return Some(Fault::new(ErrorCode::ConnectionFailed, format!("OpenCode's server: {error}")));
    }
    let status = answer.get_http_status("status").filter(|status| *status >= 400)?;
    let fault = answer.get("body").map(errors::fault);
    let fault = fault.unwrap_or_else(|| Fault::new(ErrorCode::Unknown, format!("OpenCode answered {status}")));
    let code = match fault.code {
        ErrorCode::Unknown if status == 401 => ErrorCode::PermissionDenied,
        ErrorCode::Unknown if status < 500 => ErrorCode::ProtocolError,
        ErrorCode::Unknown => ErrorCode::ExecutionError,
        code => code,
    };
    Some(Fault { code, ..fault }.with_status(Some(status)))
}

/// A late answer to a request fails with 404 because the turn was stopped in the meantime. This is expected.
fn is_expected_failure(route: OpenCodeRoute<'_>, fault: &Fault) -> bool {
    matches!(route, OpenCodeRoute::Permit(_) | OpenCodeRoute::Reply(_) | OpenCodeRoute::Reject(_))
        && fault.http_status == Some(404)
}

/// OpenCode calls both modes and subagents "agents".
fn agents(list: JsonView<'_>) -> Info {
    let listed: Vec<_> =
        list.as_array().into_iter().map(JsonView::as_object).filter(|agent| !agent.is_true("hidden")).collect();
    let name = |agent: &JsonObject<'_>| agent.get_string("name").unwrap_or_default();
    let modes = listed.iter().filter(|agent| !agent.str_equals("mode", "subagent"));
    let below = listed.iter().filter(|agent| !agent.str_equals("mode", "primary"));
    Info {
        modes: modes
            .map(|agent| Mode { id: name(agent), name: name(agent), description: agent.get_non_empty("description") })
            .collect(),
        agents: below
            .map(|agent| Named { name: name(agent), description: agent.get_non_empty("description") })
            .collect(),
        ..Info::default()
    }
}

impl super::turn::OpenCodeTurn {
    /// Reports a prompt that OpenCode never started as a failed turn.
    pub(super) fn report_refused_prompt(&mut self, prompt: &str, fault: Fault, recorder: &mut RunRecorder) {
        self.begin_prompted_turn(&Id::default(), Origin::Prompt, Some(prompt), recorder);
        self.fault = Some(fault);
        self.close(recorder);
    }
}

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenCodeRoute<'a> {
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

impl<'a> OpenCodeRoute<'a> {
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

    use super::OpenCodeRoute;

    #[test]
    fn the_path_says_what_a_request_is_about() {
        let check = |method, path, route| assert_eq!(OpenCodeRoute::of(method, path), route, "{method} {path}");
        check("POST", "/session?directory=%2Fw", OpenCodeRoute::Create);
        check("GET", "/session", OpenCodeRoute::Other);
        check("GET", "/session/status", OpenCodeRoute::Statuses);
        check("PATCH", "/session/ses_1", OpenCodeRoute::Session("ses_1"));
        check("DELETE", "/session/ses_1", OpenCodeRoute::Other);
        check("POST", "/session/ses_1/prompt_async", OpenCodeRoute::Prompt("ses_1"));
        check("GET", "/session/ses_1/message?limit=1", OpenCodeRoute::Messages("ses_1"));
        check("POST", "/session/ses_1/permissions/per_1", OpenCodeRoute::Permit("per_1"));
        check("POST", "/question/que_1/reject", OpenCodeRoute::Reject("que_1"));
        check("", "", OpenCodeRoute::Other);
    }
}
