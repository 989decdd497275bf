//! What can be asked for.

use switchboard_agents::Kind;
use switchboard_event::Timestamp;

/// Which sessions, replies and passages are meant. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these agents; none means of any.
    pub agents: Vec<String>,
    /// In folders whose path has this in it, whatever its case.
    pub project: Option<String>,
    /// With models whose name has this in it.
    pub model: Option<String>,
    /// On branches whose name has this in it.
    pub branch: Option<String>,
    /// Of the machine that was given this name (`--as`); the empty name is this machine.
    pub machine: Option<String>,
    /// Of this session alone, with its subagents.
    pub session: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
}

/// What to search for.
#[derive(Clone, Debug)]
pub struct Query {
    /// What must be there.
    pub words: Words,
    /// In which kinds of passages; none means in all.
    pub kinds: Vec<Kind>,
    /// Where.
    pub filter: Filter,
    /// So many hits at most, the best first.
    pub limit: usize,
}

/// What must be in a passage.
#[derive(Clone, Debug)]
pub enum Words {
    /// All of these words and `"phrases in quotation marks"`, whatever their case. A word with `*` at its end is the
    /// beginning of a word.
    Plain(String),
    /// What this regular expression matches.
    Regex(String),
}
