//! Messages that Gemini CLI injects in the user's name.

/// Prefixes of such messages.
const INJECTED_PREFIXES: &[&str] = &[
    "<session_context>",
    "<state_snapshot>",
    "<hook_context>",
    "<loaded_context>",
    "<environment_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "System: ",
];

pub fn is_injected_context(text: &str) -> bool {
    let text = text.trim_start();
    INJECTED_PREFIXES.iter().any(|beginning| text.starts_with(beginning))
}

/// Returns the session's working directory from the first message.
pub fn context_cwd(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        // Before 0.20 it was a sentence.
        if let Some(folder) = line.strip_prefix("I'm currently working in the directory:") {
            return absolute_path(folder);
        }
        let is_list = line.contains("Workspace Directories:")
            || line.starts_with("I'm currently working in the following directories:");
        if is_list {
            return absolute_path(lines.next()?.strip_prefix("- ")?);
        }
    }
    None
}

fn absolute_path(folder: &str) -> Option<String> {
    let folder = folder.trim();
    let is_absolute = folder.starts_with('/') || folder.get(1..3) == Some(":\\");
    Some(folder.to_owned()).filter(|_| is_absolute)
}

#[cfg(test)]
mod tests {

    use super::context_cwd;

    #[test]
    fn the_folder_is_in_the_first_message() {
        let today = "<session_context>\n- **Workspace Directories:**\n  - /w/a\n  - /w/b\n- **Directory";
        assert_eq!(context_cwd(today).as_deref(), Some("/w/a"));
        let before = "This is the Gemini CLI.\n  I'm currently working in the directory: /w/a\n Here";
        assert_eq!(context_cwd(before).as_deref(), Some("/w/a"));
        let several = "I'm currently working in the following directories:\n    - /w/a\n    - /w/b";
        assert_eq!(context_cwd(several).as_deref(), Some("/w/a"));
        assert_eq!(context_cwd("- **Workspace Directories:**\n  nothing"), None);
    }
}
