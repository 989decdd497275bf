//! The transcript of an ACP connection: which message is which. What each means is in the other files.

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
use crate::{Json, Note, Object, Reader, Scribe, replies::Replies};

/// Reads both directions of a connection.
#[derive(Default)]
pub struct Live {
    /// What the client asked.
    pub(super) ours: Ledger<Ours>,
    /// What the agent asked.
    pub(super) theirs: Ledger<Theirs>,
    pub(super) session: Session,
    pub(super) prompts: Prompts,
    pub(super) speeches: Speeches,
    pub(super) calls: Calls,
    pub(super) terminals: Terminals,
    pub(super) subagents: Subagents,
    pub(super) spending: Spending,
    pub(super) replies: Replies,
    /// The agent puts the name of a tool before the id of its call.
    pub(super) prefixed_ids: bool,
    /// The plans by name, and the items that show them.
    pub(super) plans: Vec<(Id, Id)>,
    ids: u64,
}

/// A request of the client: what its answer needs to be understood.
pub struct Ours {
    /// The method.
    pub method: String,
    /// The session that it is about.
    pub session: Option<String>,
    /// The mode or model that it sets.
    pub choice: Option<String>,
}

/// A request of the agent: what its answer needs to be understood.
pub enum Theirs {
    /// May a tool run?
    Permission {
        /// Our id of the request.
        request: Id,
        /// The tool call, by our id of its item.
        item: Id,
        /// The options and whether they allow.
        options: Vec<(String, bool)>,
    },
    /// A form or a link for the user.
    Elicitation(Id),
    /// Something about a terminal of the client: the method, and the terminal where there is one yet.
    Terminal(String, Option<String>),
    /// Anything else.
    Other(String),
}

impl Live {
    /// Reads an agent that puts the name of a tool before the id of its call.
    pub fn with_prefixed_ids() -> Self {
        Self { prefixed_ids: true, ..Self::default() }
    }
}

impl Reader for Live {
    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        self.session.two_way |= dir == Dir::Out;
        let (id, params) = (key(fields.get("id")), fields.object("params"));
        match (fields.str("method"), id) {
            (Some(method), id) => self.message(&method, id, &params, scribe),
            (None, Some(id)) if dir == Dir::Out => self.answer_of_ours(&id, &fields, scribe),
            (None, Some(id)) => self.answer(&id, &fields, scribe),
            (None, None) if fields.has("error") => scribe.notice(answer_notice("response", &fields)),
            (None, None) => {}
        }
    }

    fn note(&mut self, note: &Note<'_>, _: &mut Scribe) {
        if let Note::Failed(fault) = note {
            self.session.advised(fault);
        }
    }

    fn end(&mut self, scribe: &mut Scribe) {
        self.session_over(scribe);
    }
}

impl Live {
    /// A request or a notification. The method says whose it is: no two sides share one.
    fn message(&mut self, method: &str, id: Option<Key>, params: &Object<'_>, scribe: &mut Scribe) {
        match method {
            "session/update" => self.update(params, scribe),
            "session/request_permission" => self.permission(id, params, scribe),
            "session/prompt" => self.prompt(id, params, scribe),
            "session/cancel" => self.cancel(params, scribe),
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.opening(method, id, params, scribe);
            }
            "elicitation/create" => self.elicitation(id, params, scribe),
            "elicitation/complete" => elicitation::complete(params, scribe),
            "$/cancel_request" => self.cancel_request(params, scribe),
            _ if method.starts_with("fs/") || method.starts_with("terminal/") => {
                self.of_the_host(method, id, params, scribe);
            }
            _ => self.request(method, id, params, scribe),
        }
    }

    /// Any other request of the client.
    fn request(&mut self, method: &str, id: Option<Key>, params: &Object<'_>, scribe: &mut Scribe) {
        self.asked(method, id, params);
        scribe.notice(control(method));
    }

    /// Remembers a request of the client.
    pub(super) fn asked(&mut self, method: &str, id: Option<Key>, params: &Object<'_>) {
        if let Some(id) = id {
            let choice = ["modeId", "modelId", "title"].into_iter().find_map(|field| params.filled(field));
            let ours = Ours { method: method.to_owned(), session: session_id(params), choice };
            self.ours.asked(id, ours);
        }
    }

    /// The agent needs a file or a terminal of its host: nobody else's business, and we refuse.
    fn of_the_host(&mut self, method: &str, id: Option<Key>, params: &Object<'_>, scribe: &mut Scribe) {
        if let Some(id) = id {
            let terminal = params.filled("terminalId");
            let theirs = match method.strip_prefix("terminal/") {
                Some("create") => Theirs::Terminal(method.to_owned(), self.terminals.asked(params)),
                Some(_) => Theirs::Terminal(method.to_owned(), terminal),
                None => Theirs::Other(method.to_owned()),
            };
            self.theirs.asked(id, theirs);
        }
        let text = params.filled("path").or_else(|| params.filled("command")).or_else(|| params.filled("terminalId"));
        scribe.notice(Notice { text, ..control(method) });
    }

    /// What the client answered.
    fn answer_of_ours(&mut self, id: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match self.theirs.answered(id) {
            Some(Theirs::Permission { request, item, options }) => {
                self.decided(request, &item, &options, fields, scribe);
            }
            Some(Theirs::Elicitation(request)) => elicitation::answered(request, fields, scribe),
            Some(Theirs::Terminal(method, terminal)) => {
                self.terminal_told(&method, terminal, &fields.object("result"), scribe);
                scribe.otherwise(answer_notice(&method, fields));
            }
            Some(Theirs::Other(method)) => scribe.notice(answer_notice(&method, fields)),
            None => scribe.notice(answer_notice("response", fields)),
        }
    }

    /// `$/cancel_request`: one side no longer wants an answer.
    fn cancel_request(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        let request = key(params.get("requestId")).unwrap_or_default();
        match self.theirs.get(&request) {
            Some(Theirs::Permission { request, .. } | Theirs::Elicitation(request)) => {
                elicitation::withdrawn(request.clone(), scribe);
            }
            _ if self.prompts.is_owner(&request) => {
                scribe.interrupted();
                scribe.notice(Notice::new(Topic::Interrupt));
            }
            _ => {}
        }
        scribe.otherwise(control("$/cancel_request"));
    }

    pub(super) fn next_id(&mut self, what: &str, scribe: &Scribe) -> Id {
        self.ids += 1;
        scribe.local_id(&format!("{what}_{}", self.ids))
    }
}

/// Talk between the two sides that concerns nobody else.
pub(super) fn control(name: &str) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(name)
}

/// An answer that concerns nobody else. What went wrong is said, but it is not an error of the session.
pub(super) fn answer_notice(method: &str, fields: &Object<'_>) -> Notice {
    let failed = fields.has("error");
    let text = fields.object("error").filled("message");
    Notice { text, ..control(method).with_status(if failed { "failed" } else { "completed" }) }
}
