//! Connections of a confined session to hosts that no rule allows: a person decides if one can be asked, otherwise they
//! are refused. Either way the session reports it.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use switchboard_agents::{EngineNote, RequestAnswer, RequestDecision};
use switchboard_event::{
    About, ApprovalMode, Decider, Id, Level, Notice, OptionKind, Outcome, RequestOpened, RequestOption,
    RequestResolved, Topic, to_raw_json,
};
use tokio::sync::oneshot;
use tracing::debug;

use super::{actor::SessionActor, stop::TimerKind};
use crate::{
    RequestAudience,
    network::{ConnectionRequest, HostRule, NetworkEvent, ProjectGrants, RefusalReason, SharedRules, bracket_host},
};

/// The maximum number of refused hosts that a session reports.
const MAX_REFUSALS: usize = 100;

/// The maximum number of open requests. Further hosts are refused.
const MAX_OPEN_REQUESTS: usize = 16;

const MAX_REQUESTS_PER_TURN: u32 = 100;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_SESSION: &str = "allow_session";
const ALLOW_ALWAYS: &str = "allow_always";
const DECLINE: &str = "decline";

/// The network rules of a session, and its connections that wait for a decision.
#[derive(Default)]
pub struct NetworkApprovals {
    rules: SharedRules,
    /// The permanently allowed hosts; `None` without a data directory.
    grants: Option<ProjectGrants>,
    open: HashMap<Id, OpenConnection>,
    /// Hosts that a person has declined since the last prompt. They are not asked about again.
    declined: HashSet<(String, u16)>,
    reported: HashSet<(String, u16)>,
    /// The number of refused connections that were not reported, because too many hosts were.
    unreported: u64,
    /// The number of requests since the last prompt.
    requests: u32,
}

/// A host with an open request, and the connections that wait for the answer.
struct OpenConnection {
    address: (String, u16),
    replies: Vec<oneshot::Sender<bool>>,
    waiting: usize,
}

impl OpenConnection {
    /// Adds a connection. Those that were closed are forgotten: otherwise an agent could fill the memory with them.
    fn add(&mut self, reply: oneshot::Sender<bool>) {
        self.replies.retain(|reply| !reply.is_closed());
        self.replies.push(reply);
        self.waiting += 1;
    }
}

impl NetworkApprovals {
    pub fn new(rules: SharedRules, grants: Option<ProjectGrants>) -> Self {
        Self { rules, grants, ..Self::default() }
    }

    /// Forgets a request that is resolved. Connections that still wait for it are refused.
    pub fn close(&mut self, request: &Id) {
        self.open.remove(request);
    }

    /// Returns whether a request is about a connection.
    pub fn is_open(&self, request: &Id) -> bool {
        self.open.contains_key(request)
    }

    /// Lets declined hosts be asked about again in a new turn.
    pub fn begin_turn(&mut self) {
        self.declined.clear();
        self.requests = 0;
    }
}

impl SessionActor {
    pub(super) fn handle_network_event(&mut self, event: NetworkEvent) {
        match event {
            NetworkEvent::Unknown(request) => self.request_connection(request),
            NetworkEvent::Refused { host, port, reason } => {
                let address = format!("{}:{port}", bracket_host(&host));
                match reason {
                    RefusalReason::Private => {
                        let why = ", because it is on this machine or in a private network";
                        self.report_refusal(&host, port, why, Some(&address));
                    }
                    RefusalReason::OwnListener => {
                        let why = ", because Switchboard itself listens there: no setting allows it";
                        self.report_refusal(&host, port, why, None);
                    }
                    RefusalReason::Unresolved => {
                        let why = ", because this machine cannot resolve its name";
                        self.report_refusal(&host, port, why, Some(&host));
                    }
                    RefusalReason::TooManyWaiting => {
                        let why = ", because too many connections wait for an answer";
                        self.report_refusal(&host, port, why, Some(&host));
                    }
                }
            }
        }
    }

    fn request_connection(&mut self, request: ConnectionRequest) {
        let ConnectionRequest { host, port, reply, mut waiting } = request;
        debug!(host, port, "connection to a host that no rule allows");
        let address = (host, port);
        let network = &mut self.parts.network;
        let id = if let Some((id, open)) = network.open.iter_mut().find(|(_, open)| open.address == address) {
            open.add(reply);
            id.clone()
        } else if !network.declined.contains(&address) && self.asks_about_connections() {
            // An agent that knew the ID could first make a harmless request with it.
            let secret: String = (self.parts.host.new_secret)().chars().take(12).collect();
            let id = Id::from(format!("network-{secret}").as_str());
            let network = &mut self.parts.network;
            network.requests += 1;
            let opened = connection_request(&id, &address.0, port, network.grants.is_some());
            network.open.insert(id.clone(), OpenConnection { address, replies: vec![reply], waiting: 1 });
            self.apply_note(&EngineNote::Asked(&opened));
            id
        } else {
            // The connection may be closed by now.
            reply.send(false).ok();
            return self.report_refusal(&address.0, port, "", Some(&address.0));
        };
        self.parts.link.report_abandoned(id, async move { waiting.recv().await.unwrap_or_default() });
    }

    /// Returns whether a client can be asked. A mode that approves everything does not widen the sandbox.
    fn asks_about_connections(&self) -> bool {
        let (parts, network) = (&self.parts, &self.parts.network);
        parts.config.approval_mode.unwrap_or_default() != ApprovalMode::AutoAll
            && parts.audience == RequestAudience::Client
            && network.open.len() < MAX_OPEN_REQUESTS
            && network.requests < MAX_REQUESTS_PER_TURN
            && !self.stop_stage.is_stopping()
    }

    /// Handles a program that no longer waits for its connection. The request is withdrawn with the last of them.
    pub(super) fn abandon_connection(&mut self, request: &Id) {
        let Some(open) = self.parts.network.open.get_mut(request) else { return };
        open.waiting = open.waiting.saturating_sub(1);
        if open.waiting == 0 {
            self.parts.network.open.remove(request);
            let resolved = RequestResolved { request: request.clone(), ..RequestResolved::default() };
            self.apply_note(&EngineNote::Answered(&resolved));
        }
    }

    pub(super) fn answer_connection(&mut self, answer: &RequestAnswer, by: Decider) {
        let Some(OpenConnection { address: (host, port), replies, .. }) =
            self.parts.network.open.remove(&answer.request)
        else {
            return;
        };
        self.timers.disarm(&TimerKind::Request(answer.request.clone()));
        let (is_allowed, outcome) = match answer.decision {
            RequestDecision::Allow | RequestDecision::AllowSession => (true, Outcome::Allowed),
            RequestDecision::Decline => (false, Outcome::Declined),
            RequestDecision::Cancel => (false, Outcome::Cancelled),
        };
        let option = answer.option.as_deref().unwrap_or_default();
        let is_for_session =
            answer.decision == RequestDecision::AllowSession || matches!(option, ALLOW_SESSION | ALLOW_ALWAYS);
        if is_allowed && is_for_session {
            self.parts.network.rules.add(HostRule::approved(&host, port));
        }
        let grants = self.parts.network.grants.clone().filter(|_| is_allowed && option == ALLOW_ALWAYS);
        if let Some(grants) = grants {
            let (host, port) = (host.clone(), port);
            self.parts.link.store_grant(grants, host, port, replies);
        } else {
            for reply in replies {
                reply.send(is_allowed).ok();
            }
        }
        if !is_allowed {
            self.parts.network.declined.insert((host, port));
        }
        self.apply_note(&EngineNote::Decided(&answer.request, by));
        let resolved = RequestResolved {
            request: answer.request.clone(),
            outcome,
            by,
            option: answer.option.clone(),
            message: answer.message.clone(),
            ..RequestResolved::default()
        };
        self.apply_note(&EngineNote::Answered(&resolved));
    }

    /// Reports a host that could not be allowed permanently.
    pub(super) fn report_unstored_grant(&mut self, host: &str, port: u16, error: &str) {
        let host = bracket_host(host);
        self.write_warning(format!("{host}:{port} is allowed for this session only: cannot store it: {error}"));
    }

    /// Reports a refused host once, with the setting that would allow it.
    fn report_refusal(&mut self, host: &str, port: u16, why: &str, setting: Option<&str>) {
        let network = &mut self.parts.network;
        let address = (host.to_owned(), port);
        if network.reported.contains(&address) {
            return;
        }
        if network.reported.len() >= MAX_REFUSALS {
            network.unreported += 1;
            let count = network.unreported;
            // The more there are, the rarer they are reported.
            if count.is_power_of_two() {
                self.report_further_refusals(host, port, count);
            }
            return;
        }
        network.reported.insert(address);
        let fix = setting
            .map(|value| format!("; to allow it, add {value} to config.allowedDomains (--allow-domain {value})"))
            .unwrap_or_default();
        let text = format!("the sandbox refused a connection to {}:{port}{why}{fix}", bracket_host(host));
        let name = setting.map(|_| "allowedDomains");
        let detail = json!({ "host": host, "port": port, "setting": name, "value": setting });
        let notice = Notice::new(Topic::Warning).with_level(Level::Warning).with_name("sandbox").with_text(text);
        self.write_notice(&Notice { detail: Some(to_raw_json(&detail)), ..notice });
    }

    /// Summarizes refused connections to hosts beyond the limit.
    fn report_further_refusals(&mut self, host: &str, port: u16, count: u64) {
        let last = format!("{}:{port}", bracket_host(host));
        let text = format!(
            "the sandbox refused connections to more than {MAX_REFUSALS} hosts: {count} more so far, the last one to {last}"
        );
        let detail = json!({ "host": host, "port": port, "count": count });
        let notice = Notice::new(Topic::Warning).with_level(Level::Warning).with_name("sandbox").with_text(text);
        self.write_notice(&Notice { detail: Some(to_raw_json(&detail)), ..notice });
    }
}

fn connection_request(id: &Id, host: &str, port: u16, can_be_remembered: bool) -> RequestOpened {
    let option = |id: &str, label: &str, kind| RequestOption { id: id.to_owned(), label: label.to_owned(), kind };
    let mut options = vec![
        option(ALLOW_ONCE, "Allow once", OptionKind::AllowOnce),
        option(ALLOW_SESSION, "Allow for this session", OptionKind::AllowSession),
    ];
    if can_be_remembered {
        options.push(option(ALLOW_ALWAYS, "Always allow for this project", OptionKind::AllowAlways));
    }
    options.push(option(DECLINE, "Decline", OptionKind::Reject));
    RequestOpened {
        request: id.clone(),
        about: About::Permissions,
        title: format!("Connect to {}:{port}", bracket_host(host)),
        reason: Some("The sandbox does not allow this host.".to_owned()),
        options,
        ..RequestOpened::default()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::OpenConnection;

    #[test]
    fn closed_connections_are_forgotten() {
        let (reply, mut decision) = oneshot::channel();
        let mut open = OpenConnection { address: ("host".to_owned(), 1), replies: vec![reply], waiting: 1 };
        for _ in 0..1000 {
            open.add(oneshot::channel().0);
        }
        assert_eq!((open.replies.len(), open.waiting), (2, 1001));
        // The one that still waits gets its answer.
        open.replies.remove(0).send(true).unwrap();
        assert_eq!(decision.try_recv(), Ok(true));
    }
}
