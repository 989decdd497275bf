//! How a session is shown. The caller knows the terminal and the environment; nothing here asks for them.

/// How a session is shown.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own, made by a flag or by the terminal")]
pub struct Options {
    /// What the sinks are.
    pub screen: Screen,
    /// The activity may have colours. The answer never has.
    pub colour: bool,
    /// How many columns a line of activity may have; 0 where that is not known or does not matter.
    pub width: u16,
    /// What the agent thinks is shown.
    pub reasoning: bool,
    /// The answer comes as it is written. Otherwise a message comes when it is finished, and one that the agent takes
    /// back does not come at all.
    pub stream: bool,
    /// Of the activity, only problems and how it ended.
    pub quiet: bool,
    /// Of the answer, only the last message, at the end.
    pub last_message: bool,
    /// The prompt that it began with is shown too, not only those after it.
    pub first_prompt: bool,
    /// At the end it is said how to go on with the session.
    pub resume: bool,
    /// How much is shown of what tools are given and say.
    pub detail: Detail,
}

/// How much is shown of what tools are given and say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// For who watches: what is done, and what commands print.
    Live,
    /// For who reads it later: the beginning of what each tool gave back, thoughts in short.
    Brief,
    /// All of it.
    Full,
}

/// What the sinks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Neither is a terminal: no status line, no cursor movement.
    None,
    /// The activity goes to a terminal, the answer elsewhere.
    Activity,
    /// Both go to the same terminal.
    Both,
}

impl Options {
    /// For a terminal of this width.
    #[must_use]
    pub fn terminal(width: u16) -> Self {
        Self {
            screen: Screen::Both,
            colour: true,
            width,
            reasoning: true,
            stream: true,
            quiet: false,
            last_message: false,
            first_prompt: false,
            resume: true,
            detail: Detail::Live,
        }
    }

    /// For pipes and files.
    #[must_use]
    pub fn piped() -> Self {
        Self { screen: Screen::None, colour: false, width: 0, stream: false, ..Self::terminal(0) }
    }
}
