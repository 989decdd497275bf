//! Names of settings: spellings, and the likely meaning of unknown names.

use super::{ALLOWED_DOMAINS, APPROVAL_MODE, NETWORK_ACCESS, SANDBOX_MODE, WRITABLE_ROOTS};

/// Fields of an MCP server in other programs that limit its use, and the field to write here.
pub const MCP_LIMIT_ALIASES: &[(&str, &str)] = &[
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

/// Parts of names that concern an agent's permissions, and the corresponding setting.
const LIMIT_NAME_PARTS: &[(&str, &str)] = &[
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
    ("domain", ALLOWED_DOMAINS),
    ("allowedhosts", ALLOWED_DOMAINS),
    ("trust", "mcpServers.NAME.trust"),
    ("disallow", "blockedTools"),
    ("tool", "allowedTools or blockedTools"),
    ("maxturn", "maxTurns"),
    ("turnlimit", "maxTurns"),
];

/// A name close to one of these is taken for a typo.
const TYPO_CANDIDATES: &[&str] = &[
    APPROVAL_MODE,
    SANDBOX_MODE,
    "allowedTools",
    "blockedTools",
    "maxTurns",
    WRITABLE_ROOTS,
    "writablePaths",
    NETWORK_ACCESS,
    ALLOWED_DOMAINS,
];

/// Returns the setting that an unknown name is likely to mean, if it is one that limits an agent.
pub fn suggest_setting(folded: &str) -> Option<&'static str> {
    // Webhooks run elsewhere, after the fact.
    let folded = folded.replace("webhook", "");
    let limit = LIMIT_NAME_PARTS.iter().find(|(part, _)| folded.contains(part)).map(|(_, right)| *right);
    let is_close = |name: &&str| folded.len() < 32 && edit_distance(&folded, &fold_name(name)) <= 2;
    limit.or_else(|| TYPO_CANDIDATES.iter().copied().find(is_close))
}

/// Normalizes a name: without separators and case.
pub fn fold_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the Levenshtein distance of two names.
fn edit_distance(a: &str, b: &str) -> usize {
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
