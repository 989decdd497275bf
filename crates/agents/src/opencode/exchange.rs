//! What we ask of OpenCode's server, and what it answers: outgoing records `{"id","method","path","body"?}`, incoming
//! ones `{"id","method","path","status","body"?}` or with an `error`. Most of it only repeats what the bus says; told
//! is what the bus never says, or says too late.

use switchboard_event::{
    Decider, ErrorCode, Fault, Id, Info, Level, Mode, Named, Notice, Origin, Outcome, RequestResolved, Topic,
};

use super::{bus::Bus, errors, offers, routes::Route, sessions};
use crate::{Json, Object, Scribe, commands};

/// The agent that works in a session if nobody says which.
const MODE: &str = "build";

/// How many prompts are remembered until the bus shows them.
const LIMIT: usize = 64;

/// Prompts that were sent, and of which the bus has shown nothing yet: the number of the request, and the words.
#[derive(Default)]
pub struct Posted(Vec<(u64, String)>);

impl Posted {
    fn push(&mut self, number: u64, text: String) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        self.0.push((number, text));
    }

    /// The bus shows a message of the user: the oldest prompt has arrived.
    pub fn arrived(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    fn take(&mut self, number: u64) -> Option<String> {
        let at = self.0.iter().position(|(posted, _)| *posted == number)?;
        Some(self.0.remove(at).1)
    }

    /// The oldest prompt that has not arrived.
    pub fn lost(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.remove(0).1)
    }
}

impl Bus {
    /// Something was asked of the server.
    pub(super) fn sent(&mut self, request: &Object<'_>, scribe: &mut Scribe) {
        if request.has("set") {
            return self.chosen(&request.object("set"), scribe);
        }
        let (method, path) = (request.str("method").unwrap_or_default(), request.str("path").unwrap_or_default());
        let body = request.object("body");
        match Route::of(&method, &path) {
            Route::Prompt(_) => self.prompt_sent(request.count("id"), &body),
            Route::Command(_) => self.command_sent(request.count("id"), &body),
            Route::Permit(id) => self.permission_sent(id, &body, scribe),
            Route::Reply(id) => self.reply_sent(id, &body, scribe),
            Route::Reject(id) => self.reject_sent(id, scribe),
            _ if path.ends_with("/abort") => {
                self.stopped = true;
                scribe.interrupted();
                scribe.notice(Notice::new(Topic::Interrupt));
            }
            _ => {}
        }
        scribe.otherwise(Notice { name: request.filled("path"), ..debug() });
    }

    /// Something was chosen: OpenCode will hear of it with the next prompt.
    fn chosen(&mut self, what: &Object<'_>, scribe: &mut Scribe) {
        self.offers.uses(what.filled("model"));
        if what.has("variant") {
            self.offers.thinks(what.filled("variant"));
        }
        let (model, mode) = (what.filled("model"), what.filled("agent"));
        self.moded |= mode.is_some();
        scribe.info(Info { model, mode, options: self.offers.options(), ..Info::default() });
        scribe.otherwise(Notice::new(Topic::Control).with_name("set"));
    }

    fn prompt_sent(&mut self, number: u64, body: &Object<'_>) {
        self.stopped = false;
        let parts = body.array("parts").into_iter().map(Json::object);
        let texts: Vec<_> = parts.filter_map(|part| part.filled("text")).collect();
        // Without words it only asks for an answer to what was said before.
        if !body.is_true("noReply") && !texts.is_empty() {
            self.posted.push(number, texts.join("\n"));
        }
    }

    fn command_sent(&mut self, number: u64, body: &Object<'_>) {
        self.stopped = false;
        let (name, arguments) = (body.string("command"), body.string("arguments"));
        let typed = commands::typed(&name.unwrap_or_default(), &arguments.unwrap_or_default());
        self.posted.push(number, typed.text);
    }

    /// A refusal without words ends the turn, unless OpenCode is told to go on: only who cancels sends that.
    fn permission_sent(&mut self, request: &str, body: &Object<'_>, scribe: &mut Scribe) {
        let reply = body.filled("reply").or_else(|| body.filled("response"));
        let message = body.filled("message");
        let outcome = match (reply.as_deref(), &message) {
            (Some("once" | "always"), _) => Outcome::Allowed,
            (_, Some(_)) => Outcome::Declined,
            (_, None) => Outcome::Cancelled,
        };
        self.answered(RequestResolved { outcome, option: reply, message, ..answer(request) }, scribe);
    }

    fn reply_sent(&mut self, request: &str, body: &Object<'_>, scribe: &mut Scribe) {
        let answers = self.questions.answers(request, body.array("answers"));
        self.answered(RequestResolved { outcome: Outcome::Answered, answers, ..answer(request) }, scribe);
    }

    fn reject_sent(&mut self, request: &str, scribe: &mut Scribe) {
        let outcome = if scribe.is_interrupted() { Outcome::Cancelled } else { Outcome::Declined };
        self.answered(RequestResolved { outcome, ..answer(request) }, scribe);
    }

    fn answered(&mut self, resolved: RequestResolved, scribe: &mut Scribe) {
        self.replied.insert(resolved.request.clone(), ());
        scribe.request_resolved(resolved);
    }

    /// The server answered.
    pub(super) fn heard_back(&mut self, answer: &Object<'_>, scribe: &mut Scribe) {
        let (method, path) = (answer.str("method").unwrap_or_default(), answer.str("path").unwrap_or_default());
        let route = Route::of(&method, &path);
        let name = format!("{method} {path}");
        if let Some(fault) = failure(answer) {
            if let Route::Prompt(_) | Route::Command(_) = route {
                self.prompt_failed(answer.count("id"), &fault, scribe);
            }
            let level = if expected(route, &fault) { Level::Debug } else { Level::Warning };
            let notice = Notice { error: Some(fault.clone()), ..debug() };
            return scribe.otherwise(notice.with_level(level).with_name(name).with_text(fault.message));
        }
        if let Some(body) = answer.get("body") {
            self.learned(route, body, scribe);
        }
        let status = answer.u64("status").map(|status| status.to_string());
        scribe.otherwise(Notice { status, ..debug().with_name(name) });
    }

    fn learned(&mut self, route: Route<'_>, body: Json<'_>, scribe: &mut Scribe) {
        match route {
            Route::Create | Route::Fork(_) | Route::Session(_) => {
                let existed = matches!(route, Route::Session(_));
                self.sessions.adopt(&body.object(), existed, scribe);
                self.offers.uses(sessions::about(&body.object()).model);
            }
            Route::Messages(_) => self.catch_up(body, scribe),
            Route::Statuses => self.statuses(&body.object(), scribe),
            Route::Permissions => self.still_asked(body, Self::permission_asked, scribe),
            Route::Questions => self.still_asked(body, Self::question_asked, scribe),
            Route::Agents => scribe.info(agents(body)),
            Route::Config => self.configured(&body.object(), scribe),
            Route::Providers => {
                self.offers.providers(&body.object());
                let (models, options) = (self.offers.models(), self.offers.options());
                scribe.info(Info { models, options, ..Info::default() });
            }
            Route::Commands => scribe.info(Info { commands: offers::commands(body), ..Info::default() }),
            _ => {}
        }
    }

    /// What is used where nothing was chosen.
    fn configured(&mut self, config: &Object<'_>, scribe: &mut Scribe) {
        if self.offers.model().is_none() {
            self.offers.uses(scribe.start().config.model.clone());
        }
        self.offers.config(config);
        let model = self.offers.model().map(str::to_owned);
        // Somebody may have chosen one meanwhile.
        let usual = || config.filled("default_agent").unwrap_or_else(|| MODE.to_owned());
        let mode = (!self.moded).then(usual);
        scribe.info(Info { model, mode, models: self.offers.models(), ..Info::default() });
    }

    /// A prompt was not taken: that is the end of its turn, unless another goes on.
    fn prompt_failed(&mut self, number: u64, fault: &Fault, scribe: &mut Scribe) {
        if let Some(text) = self.posted.take(number).filter(|_| !scribe.in_turn()) {
            self.turn.refused(&text, fault.clone(), scribe);
        }
    }
}

fn debug() -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug)
}

fn answer(request: &str) -> RequestResolved {
    RequestResolved { request: Id::from(request), by: Decider::Client, ..RequestResolved::default() }
}

/// What went wrong with a request, if anything did.
pub fn failure(answer: &Object<'_>) -> Option<Fault> {
    if let Some(error) = answer.str("error") {
        return Some(Fault::new(ErrorCode::ConnectionFailed, format!("OpenCode's server: {error}")));
    }
    let status = answer.status("status").filter(|status| *status >= 400)?;
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

/// An answer that comes too late is nothing to worry about: the turn was stopped meanwhile.
fn expected(route: Route<'_>, fault: &Fault) -> bool {
    matches!(route, Route::Permit(_) | Route::Reply(_) | Route::Reject(_)) && fault.http_status == Some(404)
}

/// OpenCode has one word for what works in a session and for what works below it.
fn agents(list: Json<'_>) -> Info {
    let listed: Vec<_> = list.array().into_iter().map(Json::object).filter(|agent| !agent.is_true("hidden")).collect();
    let name = |agent: &Object<'_>| agent.string("name").unwrap_or_default();
    let modes = listed.iter().filter(|agent| !agent.is("mode", "subagent"));
    let below = listed.iter().filter(|agent| !agent.is("mode", "primary"));
    Info {
        modes: modes
            .map(|agent| Mode { id: name(agent), name: name(agent), description: agent.filled("description") })
            .collect(),
        agents: below.map(|agent| Named { name: name(agent), description: agent.filled("description") }).collect(),
        ..Info::default()
    }
}

impl super::turn::Turn {
    /// A prompt that OpenCode never took up is a turn that failed.
    pub(super) fn refused(&mut self, prompt: &str, fault: Fault, scribe: &mut Scribe) {
        self.prompted(&Id::default(), Origin::Prompt, Some(prompt), scribe);
        self.fault = Some(fault);
        self.close(scribe);
    }
}
