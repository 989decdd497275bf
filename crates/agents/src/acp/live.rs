//! Reader of the transcript of an ACP connection. It identifies messages; the other files interpret them.

use switchboard_event::{Dir, Id, Level, Notice, Topic};

use super::{
    calls::Calls,
    elicitation,
    prompts::Prompts,
    rpc::{Key, Ledger, key},
    session::{Session, session_id},
    speech::Speeches,
    subagents::Subagents,
    terminals::Terminals,
    usage::Spending,
};
use crate::{EngineNote, JsonObject, JsonView, RecordReader, RunRecorder, reader::ReplyIdSequence};

/// Reads both directions of a connection.
#[derive(Default)]
pub struct Live {
    /// Requests of the client.
    pub(super) ours: Ledger<Ours>,
    /// Requests of the agent.
    pub(super) theirs: Ledger<Theirs>,
    pub(super) session: Session,
    pub(super) prompts: Prompts,
    pub(super) speeches: Speeches,
    pub(super) calls: Calls,
    pub(super) terminals: Terminals,
    pub(super) subagents: Subagents,
    pub(super) spending: Spending,
    pub(super) replies: ReplyIdSequence,
    /// The agent prefixes call ids with the tool name.
    pub(super) prefixed_ids: bool,
    /// The plans by name, with their items.
    pub(super) plans: Vec<(Id, Id)>,
    ids: u64,
}

/// A request of the client, with the information needed for its response.
pub struct Ours {
    pub method: String,
    pub session: Option<String>,
    /// The mode or model that it selects.
    pub choice: Option<String>,
}

/// A request of the agent, with the information needed for its response.
pub enum Theirs {
    /// A permission request.
    Permission {
        /// Switchboard's id of the request.
        request: Id,
        /// The item of the tool call.
        item: Id,
        /// The options, and whether each allows the call.
        options: Vec<(String, bool)>,
    },
    /// A form or a link for the user.
    Elicitation(Id),
    /// A request about a terminal of the client: the method, and the terminal if it exists already.
    Terminal(String, Option<String>),
    /// Any other request.
    Other(String),
}

impl Live {
    /// Creates a reader for an agent that prefixes call ids with the tool name.
    pub fn with_prefixed_ids() -> Self {
        Self { prefixed_ids: true, ..Self::default() }
    }
}

impl RecordReader for Live {
    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        self.session.two_way |= dir == Dir::Out;
        let (id, params) = (key(fields.get("id")), fields.get_object("params"));
        match (fields.get_str("method"), id) {
            (Some(method), id) => self.message(&method, id, &params, recorder),
            (None, Some(id)) if dir == Dir::Out => self.answer_of_ours(&id, &fields, recorder),
            (None, Some(id)) => self.answer(&id, &fields, recorder),
            (None, None) if fields.contains_key("error") => recorder.write_notice(answer_notice("response", &fields)),
            (None, None) => {}
        }
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, _: &mut RunRecorder) {
        if let EngineNote::Failed(fault) = note {
            self.session.advised(fault);
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.session_over(recorder);
    }
}

impl Live {
    /// Reads a request or a notification. The method identifies the sender, because the two sides share none.
    fn message(&mut self, method: &str, id: Option<Key>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match method {
            "session/update" => self.update(params, recorder),
            "session/request_permission" => self.permission(id, params, recorder),
            "session/prompt" => self.prompt(id, params, recorder),
            "session/cancel" => self.cancel(params, recorder),
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.opening(method, id, params, recorder);
            }
            "elicitation/create" => self.elicitation(id, params, recorder),
            "elicitation/complete" => elicitation::complete(params, recorder),
            "$/cancel_request" => self.cancel_request(params, recorder),
            _ if method.starts_with("fs/") || method.starts_with("terminal/") => {
                self.of_the_host(method, id, params, recorder);
            }
            _ => self.request(method, id, params, recorder),
        }
    }

    /// Reads any other request of the client.
    fn request(&mut self, method: &str, id: Option<Key>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.asked(method, id, params);
        recorder.write_notice(control(method));
    }

    pub(super) fn asked(&mut self, method: &str, id: Option<Key>, params: &JsonObject<'_>) {
        if let Some(id) = id {
            let choice = ["modeId", "modelId", "title"].into_iter().find_map(|field| params.get_non_empty(field));
            let ours = Ours { method: method.to_owned(), session: session_id(params), choice };
            self.ours.asked(id, ours);
        }
    }

    /// Reads a request for a file or a terminal of the host. Switchboard itself refuses these.
    fn of_the_host(&mut self, method: &str, id: Option<Key>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if let Some(id) = id {
            let terminal = params.get_non_empty("terminalId");
            let theirs = match method.strip_prefix("terminal/") {
                Some("create") => Theirs::Terminal(method.to_owned(), self.terminals.asked(params)),
                Some(_) => Theirs::Terminal(method.to_owned(), terminal),
                None => Theirs::Other(method.to_owned()),
            };
            self.theirs.asked(id, theirs);
        }
        let text = params
            .get_non_empty("path")
            .or_else(|| params.get_non_empty("command"))
            .or_else(|| params.get_non_empty("terminalId"));
        recorder.write_notice(Notice { text, ..control(method) });
    }

    /// Reads a response of the client.
    fn answer_of_ours(&mut self, id: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match self.theirs.answered(id) {
            Some(Theirs::Permission { request, item, options }) => {
                self.decided(request, &item, &options, fields, recorder);
            }
            Some(Theirs::Elicitation(request)) => elicitation::answered(request, fields, recorder),
            Some(Theirs::Terminal(method, terminal)) => {
                self.terminal_told(&method, terminal, &fields.get_object("result"), recorder);
                recorder.write_notice_if_no_event(answer_notice(&method, fields));
            }
            Some(Theirs::Other(method)) => recorder.write_notice(answer_notice(&method, fields)),
            None => recorder.write_notice(answer_notice("response", fields)),
        }
    }

    /// `$/cancel_request`: the sender no longer wants a response.
    fn cancel_request(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let request = key(params.get("requestId")).unwrap_or_default();
        match self.theirs.get(&request) {
            Some(Theirs::Permission { request, .. } | Theirs::Elicitation(request)) => {
                elicitation::withdrawn(request.clone(), recorder);
            }
            _ if self.prompts.is_owner(&request) => {
                recorder.mark_interrupted();
                recorder.write_notice(Notice::new(Topic::Interrupt));
            }
            _ => {}
        }
        recorder.write_notice_if_no_event(control("$/cancel_request"));
    }

    pub(super) fn next_id(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.ids += 1;
        recorder.local_id(&format!("{what}_{}", self.ids))
    }
}

/// Returns the notice for protocol traffic.
pub(super) fn control(name: &str) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(name)
}

/// Returns the notice for a response. Its error is reported, but it is not an error of the session.
pub(super) fn answer_notice(method: &str, fields: &JsonObject<'_>) -> Notice {
    let failed = fields.contains_key("error");
    let text = fields.get_object("error").get_non_empty("message");
    Notice { text, ..control(method).with_status(if failed { "failed" } else { "completed" }) }
}
