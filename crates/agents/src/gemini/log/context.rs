//! What Gemini CLI puts in by itself, in the user's name.

/// How such messages begin.
const BEGINNINGS: &[&str] = &[
    "<session_context>",
    "<state_snapshot>",
    "<hook_context>",
    "<loaded_context>",
    "<environment_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "System: ",
];

/// No person wrote it.
pub fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// The folder that the session works in, as the first message says it.
pub fn folder(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        // Before 0.20 it was a sentence.
        if let Some(folder) = line.strip_prefix("I'm currently working in the directory:") {
            return absolute(folder);
        }
        let is_list = line.contains("Workspace Directories:")
            || line.starts_with("I'm currently working in the following directories:");
        if is_list {
            return absolute(lines.next()?.strip_prefix("- ")?);
        }
    }
    None
}

fn absolute(folder: &str) -> Option<String> {
    let folder = folder.trim();
    let is_absolute = folder.starts_with('/') || folder.get(1..3) == Some(":\\");
    Some(folder.to_owned()).filter(|_| is_absolute)
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn the_folder_is_in_the_first_message() {
        let today = "<session_context>\n- **Workspace Directories:**\n  - /w/a\n  - /w/b\n- **Directory";
        assert_eq!(folder(today).as_deref(), Some("/w/a"));
        let before = "This is the Gemini CLI.\n  I'm currently working in the directory: /w/a\n Here";
        assert_eq!(folder(before).as_deref(), Some("/w/a"));
        let several = "I'm currently working in the following directories:\n    - /w/a\n    - /w/b";
        assert_eq!(folder(several).as_deref(), Some("/w/a"));
        assert_eq!(folder("- **Workspace Directories:**\n  nothing"), None);
    }
}
