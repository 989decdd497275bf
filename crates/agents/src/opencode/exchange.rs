//! HTTP exchange with OpenCode's server: outgoing records `{"id","method","path","body"?}`, incoming ones
//! `{"id","method","path","status","body"?}` or with an `error`. Most of it only repeats the bus; it is used where the
//! bus is silent or late.

use switchboard_event::{
    Decider, ErrorCode, Fault, Id, Info, Level, Mode, Named, Notice, Origin, Outcome, RequestResolved, Topic,
};

use super::{bus::Bus, errors, offers, routes::Route, sessions};
use crate::{JsonObject, JsonView, RunRecorder, commands};

/// The agent that works in a session by default.
const MODE: &str = "build";

/// Maximum number of prompts remembered until the bus shows them.
const LIMIT: usize = 64;

/// Sent prompts that the bus has not shown yet: request number and text.
#[derive(Default)]
pub struct Posted(Vec<(u64, String)>);

impl Posted {
    fn push(&mut self, number: u64, text: String) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        self.0.push((number, text));
    }

    /// Removes the oldest prompt, because the bus showed a message of the user.
    pub fn arrived(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    fn take(&mut self, number: u64) -> Option<String> {
        let at = self.0.iter().position(|(posted, _)| *posted == number)?;
        Some(self.0.remove(at).1)
    }

    /// Takes the oldest prompt that the bus has not shown.
    pub fn lost(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.remove(0).1)
    }
}

impl Bus {
    /// Reads a request to the server.
    pub(super) fn sent(&mut self, request: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if request.contains_key("set") {
            return self.chosen(&request.get_object("set"), recorder);
        }
        let (method, path) =
            (request.get_str("method").unwrap_or_default(), request.get_str("path").unwrap_or_default());
        let body = request.get_object("body");
        match Route::of(&method, &path) {
            Route::Prompt(_) => self.prompt_sent(request.get_count("id"), &body),
            Route::Command(_) => self.command_sent(request.get_count("id"), &body),
            Route::Permit(id) => self.permission_sent(id, &body, recorder),
            Route::Reply(id) => self.reply_sent(id, &body, recorder),
            Route::Reject(id) => self.reject_sent(id, recorder),
            _ if path.ends_with("/abort") => {
                self.stopped = true;
                recorder.mark_interrupted();
                recorder.write_notice(Notice::new(Topic::Interrupt));
            }
            _ => {}
        }
        recorder.write_notice_if_no_event(Notice { name: request.get_non_empty("path"), ..debug() });
    }

    /// Applies a selection. OpenCode receives it with the next prompt.
    fn chosen(&mut self, what: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.offers.uses(what.get_non_empty("model"));
        if what.contains_key("variant") {
            self.offers.thinks(what.get_non_empty("variant"));
        }
        let (model, mode) = (what.get_non_empty("model"), what.get_non_empty("agent"));
        self.moded |= mode.is_some();
        recorder.update_info(Info { model, mode, options: self.offers.options(), ..Info::default() });
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("set"));
    }

    fn prompt_sent(&mut self, number: u64, body: &JsonObject<'_>) {
        self.stopped = false;
        let parts = body.get_array("parts").into_iter().map(JsonView::as_object);
        let texts: Vec<_> = parts.filter_map(|part| part.get_non_empty("text")).collect();
        // A prompt without text only asks for a reply to earlier messages.
        if !body.is_true("noReply") && !texts.is_empty() {
            self.posted.push(number, texts.join("\n"));
        }
    }

    fn command_sent(&mut self, number: u64, body: &JsonObject<'_>) {
        self.stopped = false;
        let (name, arguments) = (body.get_string("command"), body.get_string("arguments"));
        let typed = commands::command_prompt(&name.unwrap_or_default(), &arguments.unwrap_or_default());
        self.posted.push(number, typed.text);
    }

    /// A refusal without a message ends the turn, unless OpenCode is configured to continue. Only a cancellation sends
    /// one.
    fn permission_sent(&mut self, request: &str, body: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let reply = body.get_non_empty("reply").or_else(|| body.get_non_empty("response"));
        let message = body.get_non_empty("message");
        let outcome = match (reply.as_deref(), &message) {
            (Some("once" | "always"), _) => Outcome::Allowed,
            (_, Some(_)) => Outcome::Declined,
            (_, None) => Outcome::Cancelled,
        };
        self.answered(RequestResolved { outcome, option: reply, message, ..answer(request) }, recorder);
    }

    fn reply_sent(&mut self, request: &str, body: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let answers = self.questions.answers(request, body.get_array("answers"));
        self.answered(RequestResolved { outcome: Outcome::Answered, answers, ..answer(request) }, recorder);
    }

    fn reject_sent(&mut self, request: &str, recorder: &mut RunRecorder) {
        let outcome = if recorder.is_interrupted() { Outcome::Cancelled } else { Outcome::Declined };
        self.answered(RequestResolved { outcome, ..answer(request) }, recorder);
    }

    fn answered(&mut self, resolved: RequestResolved, recorder: &mut RunRecorder) {
        self.replied.insert(resolved.request.clone(), ());
        recorder.request_resolved(resolved);
    }

    /// Reads a response of the server.
    pub(super) fn heard_back(&mut self, answer: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let (method, path) = (answer.get_str("method").unwrap_or_default(), answer.get_str("path").unwrap_or_default());
        let route = Route::of(&method, &path);
        let name = format!("{method} {path}");
        if let Some(fault) = failure(answer) {
            if let Route::Prompt(_) | Route::Command(_) = route {
                self.prompt_failed(answer.get_count("id"), &fault, recorder);
            }
            let level = if expected(route, &fault) { Level::Debug } else { Level::Warning };
            let notice = Notice { error: Some(fault.clone()), ..debug() };
            return recorder
                .write_notice_if_no_event(notice.with_level(level).with_name(name).with_text(fault.message));
        }
        if let Some(body) = answer.get("body") {
            self.learned(route, body, recorder);
        }
        let status = answer.get_u64("status").map(|status| status.to_string());
        recorder.write_notice_if_no_event(Notice { status, ..debug().with_name(name) });
    }

    fn learned(&mut self, route: Route<'_>, body: JsonView<'_>, recorder: &mut RunRecorder) {
        match route {
            Route::Create | Route::Fork(_) | Route::Session(_) => {
                let existed = matches!(route, Route::Session(_));
                self.sessions.adopt(&body.as_object(), existed, recorder);
                self.offers.uses(sessions::about(&body.as_object()).model);
            }
            Route::Messages(_) => self.catch_up(body, recorder),
            Route::Statuses => self.statuses(&body.as_object(), recorder),
            Route::Permissions => self.still_asked(body, Self::permission_asked, recorder),
            Route::Questions => self.still_asked(body, Self::question_asked, recorder),
            Route::Agents => recorder.update_info(agents(body)),
            Route::Config => self.configured(&body.as_object(), recorder),
            Route::Providers => {
                self.offers.providers(&body.as_object());
                let (models, options) = (self.offers.models(), self.offers.options());
                recorder.update_info(Info { models, options, ..Info::default() });
            }
            Route::Commands => recorder.update_info(Info { commands: offers::commands(body), ..Info::default() }),
            _ => {}
        }
    }

    /// Applies the defaults of OpenCode's configuration.
    fn configured(&mut self, config: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.offers.model().is_none() {
            self.offers.uses(recorder.session_context().config.model.clone());
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
            self.turn.refused(&text, fault.clone(), recorder);
        }
    }
}

fn debug() -> Notice {
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
fn expected(route: Route<'_>, fault: &Fault) -> bool {
    matches!(route, Route::Permit(_) | Route::Reply(_) | Route::Reject(_)) && fault.http_status == Some(404)
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

impl super::turn::Turn {
    /// Reports a prompt that OpenCode never started as a failed turn.
    pub(super) fn refused(&mut self, prompt: &str, fault: Fault, recorder: &mut RunRecorder) {
        self.prompted(&Id::default(), Origin::Prompt, Some(prompt), recorder);
        self.fault = Some(fault);
        self.close(recorder);
    }
}
