//! ACP, the Agent Client Protocol: both directions of a connection between a client and any ACP agent. Several agents
//! are supported by this module alone; `README.md` lists their quirks.

mod approval_policy;
mod call_tracker;
mod driver;
mod errors;
mod items;
mod launch;
mod messages;
mod options;
mod prompts;
mod requests;
mod session;
mod tool_call;
mod tool_names;
mod updates;
mod usage;

use std::collections::VecDeque;

use call_tracker::{ClientTerminals, ToolCallTracker};
pub use driver::{AcpAgentQuirks, AcpDriver, AcpSessionSetup, AcpSessionStart};
pub use launch::{AGENT, AcpAgentEntry, agent_entry, forking, start, with_endpoints, with_protected_paths};
use messages::OpenMessages;
use prompts::PromptTracker;
use session::{AcpSession, session_id};
use switchboard_event::{Dir, Id, Level, Notice, Topic};
pub use tool_call::ShellDisplay;
use updates::AcpSubagents;
use usage::AcpUsage;

use crate::{
    EngineNote, JsonObject, JsonView, RecordReader, RecordSource, RunRecorder, bounded::push_bounded,
    reader::ReplyIdSequence,
};

/// Record sources of ACP agents.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "acp",
    agent: "acp",
    title: "any ACP agent, a transcript of both directions",
    schema: None,
    reader,
}];

/// Maximum number of pending requests. An agent that never answers must not consume memory without bound.
const MAX_OUTSTANDING_REQUESTS: usize = 256;

/// Creates a reader for a transcript of any ACP agent.
pub fn reader() -> Box<dyn RecordReader> {
    Box::new(AcpReader::default())
}

/// Creates a reader for an agent whose call ids begin with the tool name.
pub fn reader_of_prefixed_ids() -> Box<dyn RecordReader> {
    Box::new(AcpReader::with_prefixed_ids())
}

/// Reads both directions of a connection.
#[derive(Default)]
pub struct AcpReader {
    /// Requests of the client.
    pub(super) client_requests: OutstandingRequests<ClientRequestKind>,
    /// Requests of the agent.
    pub(super) theirs: OutstandingRequests<AgentRequestKind>,
    pub(super) session: AcpSession,
    pub(super) prompts: PromptTracker,
    pub(super) open_messages: OpenMessages,
    pub(super) calls: ToolCallTracker,
    pub(super) terminals: ClientTerminals,
    pub(super) subagents: AcpSubagents,
    pub(super) spending: AcpUsage,
    pub(super) replies: ReplyIdSequence,
    /// The agent prefixes call ids with the tool name.
    pub(super) prefixed_ids: bool,
    /// The plans by name, with their items.
    pub(super) plans: Vec<(Id, Id)>,
    ids: u64,
}

/// A request of the client, with the information needed for its response.
pub struct ClientRequestKind {
    pub method: String,
    pub session: Option<String>,
    /// The mode or model that it selects.
    pub choice: Option<String>,
}

/// A request of the agent, with the information needed for its response.
pub enum AgentRequestKind {
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

impl AcpReader {
    /// Creates a reader for an agent that prefixes call ids with the tool name.
    fn with_prefixed_ids() -> Self {
        Self { prefixed_ids: true, ..Self::default() }
    }
}

impl RecordReader for AcpReader {
    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        self.session.two_way |= dir == Dir::Out;
        let (id, params) = (rpc_id(fields.get("id")), fields.get_object("params"));
        match (fields.get_str("method"), id) {
            (Some(method), id) => self.message(&method, id, &params, recorder),
            (None, Some(id)) if dir == Dir::Out => self.read_client_response(&id, &fields, recorder),
            (None, Some(id)) => self.read_response(&id, &fields, recorder),
            (None, None) if fields.contains_key("error") => recorder.write_notice(answer_notice("response", &fields)),
            (None, None) => {}
        }
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, _: &mut RunRecorder) {
        if let EngineNote::Failed(fault) = note {
            self.session.add_login_hint(fault);
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.end_stream(recorder);
    }
}

impl AcpReader {
    /// Reads a request or a notification. The method identifies the sender, because the two sides share none.
    fn message(&mut self, method: &str, id: Option<RpcId>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match method {
            "session/update" => self.update(params, recorder),
            "session/request_permission" => self.permission(id, params, recorder),
            "session/prompt" => self.prompt(id, params, recorder),
            "session/cancel" => self.cancel(params, recorder),
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.read_open_request(method, id, params, recorder);
            }
            "elicitation/create" => self.elicitation(id, params, recorder),
            "elicitation/complete" => requests::complete(params, recorder),
            "$/cancel_request" => self.cancel_request(params, recorder),
            _ if method.starts_with("fs/") || method.starts_with("terminal/") => {
                self.of_the_host(method, id, params, recorder);
            }
            _ => self.request(method, id, params, recorder),
        }
    }

    /// Reads any other request of the client.
    fn request(&mut self, method: &str, id: Option<RpcId>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.asked(method, id, params);
        recorder.write_notice(control(method));
    }

    pub(super) fn asked(&mut self, method: &str, id: Option<RpcId>, params: &JsonObject<'_>) {
        if let Some(id) = id {
            let choice = ["modeId", "modelId", "title"].into_iter().find_map(|field| params.get_non_empty(field));
            let request = ClientRequestKind { method: method.to_owned(), session: session_id(params), choice };
            self.client_requests.asked(id, request);
        }
    }

    /// Reads a request for a file or a terminal of the host. Switchboard itself refuses these.
    fn of_the_host(&mut self, method: &str, id: Option<RpcId>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if let Some(id) = id {
            let terminal = params.get_non_empty("terminalId");
            let theirs = match method.strip_prefix("terminal/") {
                Some("create") => AgentRequestKind::Terminal(method.to_owned(), self.terminals.asked(params)),
                Some(_) => AgentRequestKind::Terminal(method.to_owned(), terminal),
                None => AgentRequestKind::Other(method.to_owned()),
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
    fn read_client_response(&mut self, id: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match self.theirs.answered(id) {
            Some(AgentRequestKind::Permission { request, item, options }) => {
                self.decided(request, &item, &options, fields, recorder);
            }
            Some(AgentRequestKind::Elicitation(request)) => requests::answered(request, fields, recorder),
            Some(AgentRequestKind::Terminal(method, terminal)) => {
                self.read_terminal_response(&method, terminal, &fields.get_object("result"), recorder);
                recorder.write_notice_if_no_event(answer_notice(&method, fields));
            }
            Some(AgentRequestKind::Other(method)) => recorder.write_notice(answer_notice(&method, fields)),
            None => recorder.write_notice(answer_notice("response", fields)),
        }
    }

    /// `$/cancel_request`: the sender no longer wants a response.
    fn cancel_request(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let request = rpc_id(params.get("requestId")).unwrap_or_default();
        match self.theirs.get(&request) {
            Some(AgentRequestKind::Permission { request, .. } | AgentRequestKind::Elicitation(request)) => {
                requests::withdrawn(request.clone(), recorder);
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

/// The id of a request as written: `1` and `"1"` are different ids.
pub type RpcId = String;

fn rpc_id(id: Option<JsonView<'_>>) -> Option<RpcId> {
    id.map(|id| id.raw_text().to_owned())
}

/// The pending requests of one side.
pub struct OutstandingRequests<T> {
    entries: VecDeque<(RpcId, T)>,
}

impl<T> Default for OutstandingRequests<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new() }
    }
}

impl<T> OutstandingRequests<T> {
    pub fn asked(&mut self, key: RpcId, what: T) {
        push_bounded(&mut self.entries, (key, what), MAX_OUTSTANDING_REQUESTS);
    }

    pub fn answered(&mut self, key: &str) -> Option<T> {
        let index = self.entries.iter().position(|(known, _)| known == key)?;
        self.entries.remove(index).map(|(_, what)| what)
    }

    pub fn get(&self, key: &str) -> Option<&T> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {

    use super::{MAX_OUTSTANDING_REQUESTS, OutstandingRequests};

    #[test]
    fn an_answer_is_taken_once_and_the_oldest_is_forgotten() {
        let mut ledger = OutstandingRequests::default();
        for id in 0..=MAX_OUTSTANDING_REQUESTS {
            ledger.asked(id.to_string(), id);
        }
        assert_eq!(ledger.answered("0"), None);
        assert_eq!(ledger.answered("1"), Some(1));
        assert_eq!(ledger.answered("1"), None);
        assert_eq!(ledger.answered("\"2\""), None);
    }
}
