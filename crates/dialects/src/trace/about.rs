//! What all events of a session share: where they come from, and the user message they belong to.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_event::{Event, Id, Info, SessionStarted};

use super::wire::{Group, Origin};

/// What is known about the session so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    product: Option<String>,
    project_root: Option<String>,
    /// The agent's own name for the project; else the hash of its root is.
    project_hash: Option<String>,
    session: Option<Id>,
    model: Option<String>,
    /// The id of the latest user message.
    pub user_message: Option<String>,
    /// What all events begin with; none if something about it changed.
    origin: Option<Group>,
}

impl About {
    /// A run began. A run of another session of the agent begins without a user message.
    pub fn started(&mut self, started: &SessionStarted) {
        self.origin = None;
        if self.is_other_session(started) {
            self.session.clone_from(&started.agent_session);
            self.user_message = None;
        }
        self.take(started.config.model.as_ref(), started.config.working_directory.as_ref());
        self.learn(&started.info);
    }

    /// Takes over what is new.
    pub fn learn(&mut self, info: &Info) {
        self.origin = None;
        self.take(info.model.as_ref(), info.cwd.as_ref());
        if info.project_hash.is_some() {
            self.project_hash.clone_from(&info.project_hash);
        }
        if info.product.is_some() {
            self.product.clone_from(&info.product);
        }
    }

    fn take(&mut self, model: Option<&String>, root: Option<&String>) {
        if model.is_some() {
            self.model = model.cloned();
        }
        if root.is_some() {
            self.project_root = root.cloned();
        }
    }

    /// Whether a run belongs to another session of the agent than the one before.
    pub fn is_other_session(&self, started: &SessionStarted) -> bool {
        started.agent_session.is_some() && started.agent_session != self.session
    }

    /// What all events begin with, the model, and the user message that they belong to. A product that has no name of
    /// its own is called as the agent is, and a session that has no id of its own by ours. The hash of a project that is
    /// not known is that of an empty path.
    pub fn of(&mut self, event: &Event) -> (&Group, Option<&str>, Option<&str>) {
        let origin = self.origin.get_or_insert_with(|| {
            let root = self.project_root.as_deref().unwrap_or_default();
            let project_hash = self.project_hash.clone().unwrap_or_else(|| sha256(root));
            Group::of(&Origin {
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

fn sha256(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing into a string cannot fail.
        let _ok = write!(hex, "{byte:02x}");
    }
    hex
}
