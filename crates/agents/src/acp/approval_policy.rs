//! What a mode lets the agent do without asking. The protocol gives a mode only an id, a name and a description, so the
//! policy is derived from these.

use switchboard_event::ApprovalMode;

/// What an agent does without asking in a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalPolicy {
    /// Asks before it changes anything.
    Asks,
    /// Changes nothing.
    ReadOnly,
    /// Changes files without asking and asks about the rest.
    AllowsEdits,
    /// Decides itself what it asks about.
    DecidesItself,
    /// Does not ask.
    AllowsAll,
    /// The mode concerns something else, or does not say.
    Unknown,
}

/// Ids of modes, reduced to lowercase letters and digits.
const ALLOWING_ALL_IDS: [&str; 14] = [
    "yolo",
    "bypass",
    "bypasspermissions",
    "dontask",
    "neverask",
    "never",
    "fullaccess",
    "agentfullaccess",
    "fullauto",
    "autoall",
    "allowall",
    "autopilot",
    "autonomous",
    "dangerouslyskippermissions",
];

const ALLOWING_EDITS_IDS: [&str; 4] = ["autoedit", "acceptedits", "autoacceptedits", "autoaccept"];

const READING_IDS: [&str; 4] = ["plan", "planmode", "architect", "readonly"];

const ASKING_IDS: [&str; 11] = [
    "default",
    "ask",
    "alwaysask",
    "askalways",
    "manual",
    "normal",
    "standard",
    "onrequest",
    "suggest",
    "supervised",
    "untrusted",
];

const ALLOWING_ALL_WORDS: [&str; 22] = [
    "without asking",
    "without approval",
    "without permission",
    "without confirmation",
    "without prompt",
    "never ask",
    "never prompt",
    "don't ask",
    "don't prompt",
    "do not ask",
    "do not prompt",
    "no approval",
    "no confirmation",
    "bypass",
    "unrestricted",
    "full access",
    "full tool access",
    "autonomous",
    "all permissions",
    "skip permission",
    "skips permission",
    "skip all permission",
];

const APPROVING_WORDS: [&str; 9] = [
    "auto-approve",
    "auto approve",
    "automatically approve",
    "auto-accept",
    "auto accept",
    "automatically accept",
    "auto-allow",
    "automatically allow",
    "accepts all",
];

const DECIDING_WORDS: [&str; 12] = [
    "classifier",
    "only ask",
    "only prompt",
    "potentially unsafe",
    "safe actions",
    "risky",
    "handles permission",
    "permission decisions",
    "auto review",
    "outside the workspace",
    "outside of the workspace",
    "edit other files",
];

const ASKING_WORDS: [&str; 24] = [
    "always ask",
    "ask before",
    "asks before",
    "ask for approval",
    "asks for approval",
    "ask for permission",
    "asks for permission",
    "ask for confirmation",
    "asks for confirmation",
    "require approval",
    "requires approval",
    "requiring approval",
    "approval is required",
    "approval required",
    "require confirmation",
    "requires confirmation",
    "prompt for",
    "prompts for",
    "prompt before",
    "prompts before",
    "request permission",
    "requests permission",
    "confirm before",
    "confirm each",
];

const READING_WORDS: [&str; 12] = [
    "read-only",
    "read only",
    "analyze only",
    "analyse only",
    "do not modify",
    "no edits",
    "no changes",
    "no actual tool",
    "no tool execution",
    "without making changes",
    "without implementation",
    "without editing",
];

impl ApprovalPolicy {
    /// Derives the policy of a mode. A description of unapproved actions outweighs the id, and an id alone counts as
    /// asking only if nothing contradicts it.
    pub fn of_mode(id: &str, name: &str, description: &str) -> Self {
        // An id may be a URL whose fragment is the mode.
        let bare = letters(id.rsplit(['#', '/']).next().unwrap_or(id));
        let label = letters(name);
        let is_called = |ids: &[&str]| ids.contains(&bare.as_str()) || ids.contains(&label.as_str());
        let text = format!("{name}. {description}").to_lowercase().replace('’', "'");
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        if is_called(&ALLOWING_ALL_IDS) || says(&ALLOWING_ALL_WORDS) {
            return Self::AllowsAll;
        }
        if is_called(&ALLOWING_EDITS_IDS) {
            return Self::AllowsEdits;
        }
        if bare == "auto" || says(&DECIDING_WORDS) {
            return Self::DecidesItself;
        }
        if says(&APPROVING_WORDS) {
            let is_limited = text.contains("edit") && !text.contains("command") && !text.contains("all tools");
            return if is_limited { Self::AllowsEdits } else { Self::AllowsAll };
        }
        if says(&ASKING_WORDS) {
            return Self::Asks;
        }
        if is_called(&READING_IDS) || says(&READING_WORDS) {
            return Self::ReadOnly;
        }
        if is_called(&ASKING_IDS) { Self::Asks } else { Self::Unknown }
    }

    /// Returns whether the session satisfies an approval mode while the agent is in a mode of this policy. An unknown
    /// policy guarantees nothing.
    pub fn satisfies(self, mode: ApprovalMode) -> bool {
        match self {
            Self::Asks | Self::ReadOnly => true,
            Self::AllowsEdits => matches!(mode, ApprovalMode::AutoEdit | ApprovalMode::AutoAll),
            Self::DecidesItself | Self::AllowsAll | Self::Unknown => mode == ApprovalMode::AutoAll,
        }
    }

    /// Returns the equivalent approval mode, if there is one.
    pub fn approval_mode(self) -> Option<ApprovalMode> {
        match self {
            Self::Asks => Some(ApprovalMode::Ask),
            Self::AllowsEdits => Some(ApprovalMode::AutoEdit),
            Self::AllowsAll => Some(ApprovalMode::AutoAll),
            Self::ReadOnly | Self::DecidesItself | Self::Unknown => None,
        }
    }
}

fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {

    use super::ApprovalPolicy::{self, AllowsAll, AllowsEdits, Asks, DecidesItself, ReadOnly, Unknown};

    #[test]
    fn modes_of_agents_are_told_apart() {
        for (id, name, description, policy) in [
            // Qwen Code 0.24.4.
            ("plan", "Plan", "Analyze only, do not modify files or execute commands", ReadOnly),
            ("default", "Default", "Require approval for file edits or shell commands", Asks),
            ("auto-edit", "Auto Edit", "Automatically approve file edits", AllowsEdits),
            ("auto", "Auto", "LLM classifier auto-approves safe actions, blocks risky ones", DecidesItself),
            ("yolo", "YOLO", "Automatically approve all tools", AllowsAll),
            // codex-acp 2.6.0, and the older one whose mode "auto" is called Default.
            ("read-only", "Read-only", "Requires approval to edit files and access the internet.", Asks),
            (
                "workspace-write",
                "Workspace access",
                "Edit workspace files; ask before writing outside the workspace or accessing the network.",
                DecidesItself,
            ),
            ("agent", "Auto review", "Only ask for actions detected as potentially unsafe", DecidesItself),
            ("agent-full-access", "Full access", "Unrestricted access to the internet and any file", AllowsAll),
            ("auto", "Default", "Approval is required to access the internet or edit other files.", DecidesItself),
            // claude-agent-acp 0.49.0 and 0.99.1.
            ("default", "Default", "Standard behavior, prompts for dangerous operations", Asks),
            ("default", "Manual", "Always ask before making changes", Asks),
            ("acceptEdits", "Accept edits", "Automatically accept all file edits", AllowsEdits),
            ("plan", "Plan", "Create a plan before making changes", ReadOnly),
            ("auto", "Auto", "The model handles permission decisions", DecidesItself),
            ("dontAsk", "Don't Ask", "Don't prompt for permissions, deny if not pre-approved", AllowsAll),
            ("bypassPermissions", "Bypass permissions", "Accepts all permissions", AllowsAll),
            // Gemini CLI 0.61.0.
            ("default", "Default", "Prompts for approval", Asks),
            ("autoEdit", "Auto Edit", "Auto-approves edit tools", AllowsEdits),
            ("yolo", "YOLO", "Auto-approves all tools", AllowsAll),
            ("plan", "Plan", "Read-only mode", ReadOnly),
            // The examples in the protocol's documentation.
            ("ask", "Ask", "Request permission before making any changes", Asks),
            ("architect", "Architect", "Design and plan software systems without implementation", ReadOnly),
            ("code", "Code", "Write and modify code with full tool access", AllowsAll),
            // Modes that concern something else.
            ("build", "build", "The default agent", Unknown),
            ("ask", "Ask", "Answers questions, no edits or command execution", ReadOnly),
            ("https://agentclientprotocol.com/protocol/session-modes#autopilot", "Autopilot", "", AllowsAll),
            ("https://agentclientprotocol.com/protocol/session-modes#agent", "Agent", "", Unknown),
            ("ask", "", "", Asks),
        ] {
            assert_eq!(ApprovalPolicy::of_mode(id, name, description), policy, "{id} {name}: {description}");
        }
    }
}
