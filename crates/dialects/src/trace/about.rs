//! What all events of a session share: where they come from, and the user message they belong to.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use switchboard_event::{Event, Id, Info, SessionStarted};

/// What is known about the session so far.
#[derive(Clone, Debug, Default)]
pub struct About {
    product: Option<String>,
    project_root: Option<String>,
    project_hash: String,
    session: Option<Id>,
    pub model: Option<String>,
    /// The id of the latest user message.
    pub user_message: Option<String>,
}

impl About {
    /// A run began. A run of another session of the agent begins without a user message.
    pub fn started(&mut self, started: &SessionStarted) {
        if started.agent_session.is_some() && started.agent_session != self.session {
            self.session.clone_from(&started.agent_session);
            self.user_message = None;
        }
        self.take(started.config.model.as_ref(), started.config.working_directory.as_ref());
        self.learn(&started.info);
    }

    /// Takes over what is new.
    pub fn learn(&mut self, info: &Info) {
        self.take(info.model.as_ref(), info.cwd.as_ref());
        if info.product.is_some() {
            self.product.clone_from(&info.product);
        }
    }

    fn take(&mut self, model: Option<&String>, root: Option<&String>) {
        if model.is_some() {
            self.model = model.cloned();
        }
        if let Some(root) = root.filter(|root| self.project_root.as_ref() != Some(root)) {
            self.project_hash = sha256(root);
            self.project_root = Some(root.clone());
        }
    }

    /// The product that the event comes from.
    pub fn source<'a>(&'a self, event: &'a Event) -> &'a str {
        self.product.as_deref().unwrap_or(&event.agent)
    }

    /// The session by the agent's own id, or else by ours.
    pub fn session<'a>(&'a self, event: &'a Event) -> &'a str {
        self.session.as_deref().unwrap_or(&event.session)
    }

    /// The folder of the project, if it is known.
    pub fn project_root(&self) -> Option<&str> {
        self.project_root.as_deref()
    }

    /// The hash of that folder, or nothing.
    pub fn project_hash(&self) -> &str {
        &self.project_hash
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
