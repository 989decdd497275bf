//! Names of settings: spellings, and what a name that is none is likely to mean.

use super::{APPROVAL_MODE, NETWORK_ACCESS, SANDBOX_MODE, WRITABLE_ROOTS};

/// Fields of an MCP server in other programs that say what may be used, and what to write here.
pub const MCP_LIMITS: &[(&str, &str)] = &[
    ("enabledtools", "includeTools"),
    ("allowedtools", "includeTools"),
    ("disabledtools", "excludeTools"),
    ("blockedtools", "excludeTools"),
    ("disallowedtools", "excludeTools"),
    ("alwaysallow", "trust"),
    ("autoapprove", "trust"),
    ("trusted", "trust"),
    ("tools", "includeTools"),
    ("disabled", "no such server"),
    ("enabled", "no such server"),
];

/// Parts of names that are about what an agent may do, and the setting that is about it here.
const LIMITS: &[(&str, &str)] = &[
    ("approvaltimeout", "approvalTimeoutSeconds, next to config"),
    ("approv", APPROVAL_MODE),
    ("permission", APPROVAL_MODE),
    ("dangerous", APPROVAL_MODE),
    ("yolo", APPROVAL_MODE),
    ("fullauto", APPROVAL_MODE),
    ("autoall", APPROVAL_MODE),
    ("autoedit", APPROVAL_MODE),
    ("autoaccept", APPROVAL_MODE),
    ("hook", "approvalMode, allowedTools and blockedTools"),
    ("sandbox", SANDBOX_MODE),
    ("readonly", SANDBOX_MODE),
    ("writable", WRITABLE_ROOTS),
    ("network", NETWORK_ACCESS),
    ("trust", "mcpServers.NAME.trust"),
    ("disallow", "blockedTools"),
    ("tool", "allowedTools or blockedTools"),
    ("maxturn", "maxTurns"),
    ("turnlimit", "maxTurns"),
];

/// Names that are close to one of these are mistyped.
const EASILY_MISTYPED: &[&str] = &[
    APPROVAL_MODE,
    SANDBOX_MODE,
    "allowedTools",
    "blockedTools",
    "maxTurns",
    WRITABLE_ROOTS,
    "writablePaths",
    NETWORK_ACCESS,
];

/// Returns the setting that an unknown name is likely to mean, if that is one that limits an agent.
pub fn right_name(folded: &str) -> Option<&'static str> {
    // Those run elsewhere, after the fact.
    let folded = folded.replace("webhook", "");
    let limit = LIMITS.iter().find(|(part, _)| folded.contains(part)).map(|(_, right)| *right);
    let is_close = |name: &&str| folded.len() < 32 && distance(&folded, &fold(name)) <= 2;
    limit.or_else(|| EASILY_MISTYPED.iter().copied().find(is_close))
}

/// Returns a name without what tells spellings apart.
pub fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns how many characters must be added, removed or replaced to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, c) in a.chars().enumerate() {
        let (mut diagonal, mut left) = (i, i + 1);
        let mut next = vec![left];
        for (d, above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(c != d)).min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
