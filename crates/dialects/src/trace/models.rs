//! Models of replies: a subagent or a single reply may use another model than the session.

use serde::{Deserialize, Serialize};
use switchboard_event::{Id, Usage};

/// Maximum number of remembered replies: those that can be in progress at once.
const MAX_REMEMBERED_REPLIES: usize = 16;

/// The models of the latest replies.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReplyModels(Vec<(Id, String)>);

/// The model of a message.
pub enum ReplyModel {
    /// A known model.
    Known(String),
    /// The session's model.
    Sessions,
    /// Possibly another model than the session's.
    Unknown,
}

impl ReplyModels {
    /// Records the model reported with the usage of a reply.
    pub fn record_usage(&mut self, usage: &Usage) {
        let (Some(reply), Some(model)) = (&usage.key, &usage.model) else { return };
        if self.0.len() == MAX_REMEMBERED_REPLIES {
            self.0.remove(0);
        }
        self.0.push((reply.clone(), model.clone()));
    }

    /// Returns the model of a reply.
    pub fn model_of(&self, reply: Option<&Id>, is_subagents: bool) -> ReplyModel {
        let known = reply.and_then(|reply| self.0.iter().rev().find(|(known, _)| known == reply));
        match known {
            Some((_, model)) => ReplyModel::Known(model.clone()),
            None if is_subagents && reply.is_some() => ReplyModel::Unknown,
            None => ReplyModel::Sessions,
        }
    }
}

impl ReplyModel {
    /// Replaces the session's model.
    pub fn apply_to<'a>(&'a self, place: &mut Option<&'a str>) {
        match self {
            Self::Known(model) => *place = Some(model),
            Self::Unknown => *place = None,
            Self::Sessions => {}
        }
    }
}
