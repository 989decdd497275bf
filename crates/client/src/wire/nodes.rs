//! The nodes of a cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NodeState")]
pub enum NodeStateView {
    /// It accepts sessions.
    Up,
    /// It accepts no new sessions; running ones finish.
    Draining,
    /// It has ended or cannot reach the log.
    Gone,
    /// A state that only a later server knows.
    #[default]
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

impl NodeStateView {
    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Draining => "draining",
            Self::Gone => "gone",
            Self::Other => "other",
        }
    }
}

/// A node of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Node", !default)]
pub struct NodeView {
    /// The name.
    pub name: String,
    /// The state.
    pub state: NodeStateView,
    /// The version of Switchboard.
    pub version: String,
    /// The labels.
    pub labels: Vec<String>,
    /// The installed agents.
    pub agents: Vec<String>,
    /// The number of running sessions.
    pub sessions: usize,
}

/// The nodes of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct NodeList {
    /// The nodes by name. A server without a cluster has none.
    pub nodes: Vec<NodeView>,
}
