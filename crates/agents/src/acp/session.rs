//! Reads the lifecycle of a session: opening it, its replayed history, its settings, and its end.

use switchboard_event::{EndReason, Fault, Id, Info, Level, Notice, Status, Topic};

use super::{AcpReader, ClientRequestKind, RpcId, answer_notice, control, errors, options};
use crate::{JsonObject, JsonView, RunRecorder, SessionEnding};

/// State of the session on this connection.
#[derive(Default)]
pub struct AcpSession {
    /// The stream includes the messages to the agent.
    pub two_way: bool,
    /// The thread of a history that is being replayed. Items of the history belong to this thread.
    pub replay: Option<Id>,
    replay_count: u32,
    /// The session that is being loaded, resumed or forked.
    source_session: Option<Id>,
    /// The session existed before this connection.
    pub resumed: bool,
    /// The session's default model.
    default_model: Option<String>,
    /// The reason why no session could be opened.
    open_fault: Option<Fault>,
    /// The fault includes a hint.
    has_login_hint: bool,
    closed: bool,
}

impl AcpSession {
    /// Replaces the fault with the driver's version, which may include a hint.
    pub fn add_login_hint(&mut self, hinted: &Fault) {
        if let Some(fault) = &mut self.open_fault
            && fault.code == hinted.code
            && !self.has_login_hint
        {
            (*fault, self.has_login_hint) = (hinted.clone(), true);
        }
    }
}

/// The conversation that an update belongs to.
pub enum SessionScope {
    /// The main conversation.
    Main,
    /// Its replayed history.
    Replay(Id),
    /// Another session on the same connection.
    Other(Id),
}

impl SessionScope {
    pub fn thread(&self) -> Option<&Id> {
        match self {
            Self::Main => None,
            Self::Replay(thread) | Self::Other(thread) => Some(thread),
        }
    }
}

impl AcpReader {
    /// Returns the conversation of a message, and records its events there. The first active session is the main session.
    pub(super) fn enter_scope(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) -> SessionScope {
        let session = session_id(params).unwrap_or_default();
        self.identify_main_session(&session, recorder);
        let other = !session.is_empty() && recorder.agent_session().is_some_and(|main| *main != *session);
        let scope = match (&self.session.replay, other) {
            (_, true) => SessionScope::Other(Id::from(session)),
            (Some(thread), false) => SessionScope::Replay(thread.clone()),
            (None, false) => SessionScope::Main,
        };
        if let Some(thread) = scope.thread() {
            recorder.set_scope(self.subagents.item_of(thread), Some(thread.clone()));
        }
        scope
    }

    /// Identifies the main session by its first activity, and records the session that it continues.
    fn identify_main_session(&mut self, session: &str, recorder: &mut RunRecorder) {
        if let Some(from) = self.session.source_session.take().filter(|_| recorder.agent_session().is_none()) {
            self.session.resumed = true;
            recorder.set_resumed_from(from);
        }
        recorder.set_agent_session(session);
    }

    /// Reads `session/new`, `load`, `resume` and `fork`.
    pub(super) fn read_open_request(
        &mut self,
        method: &str,
        id: Option<RpcId>,
        params: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        self.asked(method, id, params);
        let session = session_id(params);
        let is_main_session =
            recorder.agent_session().is_none() || recorder.agent_session().map(Id::as_str) == session.as_deref();
        if method == "session/load" && is_main_session {
            self.end_replay(recorder);
            self.session.replay_count += 1;
            self.session.replay = Some(recorder.local_id(&format!("replay_{}", self.session.replay_count)));
        }
        if recorder.agent_session().is_none() {
            self.session.source_session = session.map(Id::from);
            let mcp = options::mcp_servers(params);
            recorder.update_info(Info { cwd: params.get_non_empty("cwd"), mcp, ..Info::default() });
        }
        recorder.write_notice_if_no_event(control(method));
    }

    /// Reads a response of the agent.
    pub(super) fn read_response(&mut self, id: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let request = self.client_requests.answered(id).unwrap_or_else(|| infer_request(&fields.get_object("result")));
        if request.method == "session/prompt" {
            return self.prompt_answered(id, &request, fields, recorder);
        }
        match fields.get("error") {
            Some(error) => self.report_error(&request, errors::fault(&error.as_object()), recorder),
            None => self.read_result(&request, &fields.get_object("result"), recorder),
        }
        recorder.write_notice_if_no_event(answer_notice(&request.method, fields));
    }

    fn read_result(&mut self, request: &ClientRequestKind, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let is_main_session =
            request.session.as_deref().is_none_or(|id| recorder.agent_session().is_none_or(|main| *main == *id));
        match request.method.as_str() {
            "initialize" => read_initialize_result(result, recorder),
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.read_open_result(request, result, recorder)
            }
            // Settings of another session on the connection do not concern this one.
            _ if !is_main_session => {}
            "session/set_mode" => recorder.update_info(Info { mode: request.choice.clone(), ..Info::default() }),
            "session/set_model" => recorder.update_info(Info { model: request.choice.clone(), ..Info::default() }),
            "session/set_title" => recorder.update_info(Info { title: request.choice.clone(), ..Info::default() }),
            "session/set_config_option" => self.apply_settings(result, recorder),
            "session/close" => self.session.closed = true,
            _ => {}
        }
    }

    fn read_open_result(&mut self, request: &ClientRequestKind, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let session =
            session_id(result).or_else(|| request.session.clone().filter(|_| request.method != "session/fork"));
        let session = session.unwrap_or_default();
        self.identify_main_session(&session, recorder);
        if recorder.agent_session().is_some_and(|main| *main == *session) {
            self.session.open_fault = None;
            self.session.closed = false;
            if request.method == "session/new" {
                self.session.default_model = options::offers(result).model;
            }
            self.apply_settings(result, recorder);
        } else {
            self.end_thread(&Id::from(session), recorder);
        }
    }

    /// Ends a thread and completes its open items.
    pub(super) fn end_thread(&mut self, thread: &Id, recorder: &mut RunRecorder) {
        self.open_messages.forget(Some(thread));
        self.calls.forget(Some(thread));
        for item in recorder.open_items(Some(thread)) {
            recorder.item_closed(&item, Status::Completed);
        }
    }

    /// Applies the settings in a response or an update.
    pub(super) fn apply_settings(&mut self, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let mut info = options::offers(result);
        for model in &mut info.models {
            model.default = self.session.default_model.as_ref() == Some(&model.id);
        }
        let approval = options::approval(&info);
        recorder.adjust_config(|config| config.approval_mode = config.approval_mode.or(approval));
        recorder.update_info(info);
    }

    /// Reports an error response. Errors of requests that the user waits for are warnings; others are not reported.
    fn report_error(&mut self, request: &ClientRequestKind, fault: Fault, recorder: &mut RunRecorder) {
        let topic = match request.method.as_str() {
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                if request.method == "session/load" {
                    self.end_replay(recorder);
                }
                self.session.source_session = None;
                if recorder.agent_session().is_none() {
                    self.session.open_fault = Some(fault.clone());
                }
                Topic::Warning
            }
            "authenticate" => Topic::Auth,
            "session/set_mode" | "session/set_model" | "session/set_config_option" => Topic::Warning,
            _ => return,
        };
        let notice = Notice::new(topic).with_level(Level::Warning).with_name(request.method.clone());
        recorder.write_notice(Notice { text: Some(fault.message.clone()), error: Some(fault), ..notice });
    }

    /// Ends the replay of the history: later messages are new.
    pub(super) fn end_replay(&mut self, recorder: &mut RunRecorder) {
        if let Some(thread) = self.session.replay.take() {
            self.end_thread(&thread, recorder);
        }
    }

    /// Ends the stream. A connection without any prompt ends as its session did.
    pub(super) fn end_stream(&mut self, recorder: &mut RunRecorder) {
        self.end_replay(recorder);
        self.settle_calls(recorder);
        if recorder.turn_count() > 0 || recorder.in_turn() {
            return;
        }
        if let Some(fault) = self.session.open_fault.take() {
            recorder.session_ending(SessionEnding { reason: EndReason::Failed, error: Some(fault) });
        } else if self.session.closed {
            recorder.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
        }
    }
}

/// Returns the id of a session without surrounding whitespace: Gemini CLI 0.61.0 is sent the id with a leading space to
/// load a session safely.
pub fn session_id(fields: &JsonObject<'_>) -> Option<String> {
    let id = fields.get_str("sessionId")?;
    Some(id.trim()).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Infers the request of a response from its fields, if the request is not in the stream.
fn infer_request(result: &JsonObject<'_>) -> ClientRequestKind {
    let method = if result.contains_key("stopReason") {
        "session/prompt"
    } else if result.contains_key("protocolVersion") {
        "initialize"
    } else if result.contains_key("sessionId") {
        "session/new"
    } else if result.contains_key("configOptions") {
        "session/set_config_option"
    } else {
        "response"
    };
    ClientRequestKind { method: method.to_owned(), session: None, choice: None }
}

fn read_initialize_result(result: &JsonObject<'_>, recorder: &mut RunRecorder) {
    recorder.update_info(Info {
        version: result.get_object("agentInfo").get_non_empty("version"),
        capabilities: result.get("agentCapabilities").map(JsonView::to_raw),
        auth_methods: result.get("authMethods").filter(|methods| !methods.as_array().is_empty()).map(JsonView::to_raw),
        ..Info::default()
    });
}
