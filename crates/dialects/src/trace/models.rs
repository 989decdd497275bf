//! Which model gave which reply: a subagent may have another than the session, and so may a single reply.

use serde::{Deserialize, Serialize};
use switchboard_event::{Id, Usage};

/// How many replies are remembered: those that can be under way at once.
const REMEMBERED: usize = 16;

/// The models of the latest replies.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Models(Vec<(Id, String)>);

/// The model of something that was said.
pub enum Model {
    /// This one.
    Known(String),
    /// The session's.
    Sessions,
    /// Another than the session's, perhaps.
    Unknown,
}

impl Models {
    /// A reply says its model with what it used.
    pub fn learn(&mut self, usage: &Usage) {
        let (Some(reply), Some(model)) = (&usage.key, &usage.model) else { return };
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((reply.clone(), model.clone()));
    }

    /// The model of a reply.
    pub fn of(&self, reply: Option<&Id>, is_subagents: bool) -> Model {
        let known = reply.and_then(|reply| self.0.iter().rev().find(|(known, _)| known == reply));
        match known {
            Some((_, model)) => Model::Known(model.clone()),
            None if is_subagents && reply.is_some() => Model::Unknown,
            None => Model::Sessions,
        }
    }
}

impl Model {
    /// Says it in place of the session's.
    pub fn put<'a>(&'a self, place: &mut Option<&'a str>) {
        match self {
            Self::Known(model) => *place = Some(model),
            Self::Unknown => *place = None,
            Self::Sessions => {}
        }
    }
}
