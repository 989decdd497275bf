//! The fields shared by all events of a session, and the user message they belong to.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_event::{Event, Id, Info, SessionStarted};

use super::wire::{SerializedFields, TraceOrigin};

/// The known properties of the session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TraceSessionContext {
    product: Option<String>,
    project_root: Option<String>,
    /// The agent's own name for the project; by default the hash of its root.
    project_hash: Option<String>,
    session: Option<Id>,
    model: Option<String>,
    pub user_message: Option<String>,
    /// The serialized shared fields; none if they have changed.
    origin: Option<SerializedFields>,
}

impl TraceSessionContext {
    /// Starts a run. If the agent session differs, no user message is known yet.
    pub fn start_run(&mut self, started: &SessionStarted) {
        self.origin = None;
        if self.is_other_session(started) {
            self.session.clone_from(&started.agent_session);
            self.user_message = None;
        }
        self.set_model_and_root(started.config.model.as_ref(), started.config.working_directory.as_ref());
        self.apply_info(&started.info);
    }

    /// Applies changed session info.
    pub fn apply_info(&mut self, info: &Info) {
        self.origin = None;
        self.set_model_and_root(info.model.as_ref(), info.cwd.as_ref());
        if info.project_hash.is_some() {
            self.project_hash.clone_from(&info.project_hash);
        }
        if info.product.is_some() {
            self.product.clone_from(&info.product);
        }
    }

    fn set_model_and_root(&mut self, model: Option<&String>, root: Option<&String>) {
        if model.is_some() {
            self.model = model.cloned();
        }
        if root.is_some() {
            self.project_root = root.cloned();
        }
    }

    /// Returns whether a run belongs to another agent session than the previous one.
    pub fn is_other_session(&self, started: &SessionStarted) -> bool {
        started.agent_session.is_some() && started.agent_session != self.session
    }

    /// Returns the shared fields, the model, and the user message that the event belongs to. The source defaults to the
    /// agent's name, the session id to ours, and the hash of an unknown project is that of an empty path.
    pub fn event_context(&mut self, event: &Event) -> (&SerializedFields, Option<&str>, Option<&str>) {
        let origin = self.origin.get_or_insert_with(|| {
            let root = self.project_root.as_deref().unwrap_or_default();
            let project_hash = self.project_hash.clone().unwrap_or_else(|| sha256_hex(root));
            SerializedFields::from_value(&TraceOrigin {
                schema_version: "agtrace.event.v1",
                source: self.product.as_deref().unwrap_or(&event.agent),
                project_hash: &project_hash,
                project_root: self.project_root.as_deref(),
                session_id: Some(self.session.as_deref().unwrap_or(&event.session)),
            })
        });
        (origin, self.model.as_deref(), self.user_message.as_deref())
    }
}

fn sha256_hex(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a string cannot fail.
        let _ok = write!(hex, "{byte:02x}");
    }
    hex
}
