//! Gemini CLI's settings: `~/.gemini/settings.json`, the project's `.gemini/settings.json`, and the administrator's.
//! Read only; `config.rs` converts them to Switchboard's.

use std::path::{Path, PathBuf};

use crate::{HostAccess, JsonView};

pub struct GeminiSettingsFile {
    pub file: PathBuf,
    /// Content without comments.
    pub text: String,
}

impl GeminiSettingsFile {
    /// Parses the file; `None` if it is not a JSON object.
    pub fn parse_json(&self) -> Option<JsonView<'_>> {
        JsonView::parse(&self.text).filter(|json| json.is_object())
    }
}

/// Returns Gemini CLI's home directory.
pub fn gemini_home(host: &dyn HostAccess) -> PathBuf {
    host.env_var("GEMINI_CLI_HOME").map_or_else(|| host.home_dir(), PathBuf::from).join(".gemini")
}

/// Reads the user's settings and the project's, in ascending order of precedence.
pub fn read_settings(host: &dyn HostAccess, cwd: &Path) -> Vec<GeminiSettingsFile> {
    let user = gemini_home(host).join("settings.json");
    let project = cwd.join(".gemini").join("settings.json");
    let same = user == project;
    [Some(user), Some(project).filter(|_| !same)]
        .into_iter()
        .flatten()
        .filter_map(|file| read_settings_file(host, file))
        .collect()
}

/// Also reads the administrator's, which have the highest precedence.
fn read_all_settings(host: &dyn HostAccess, cwd: &Path) -> Vec<GeminiSettingsFile> {
    let named = host.env_var("GEMINI_CLI_SYSTEM_SETTINGS_PATH").map(PathBuf::from);
    let system = named.unwrap_or_else(|| PathBuf::from("/etc/gemini-cli/settings.json"));
    read_settings(host, cwd).into_iter().chain(read_settings_file(host, system)).collect()
}

fn read_settings_file(host: &dyn HostAccess, file: PathBuf) -> Option<GeminiSettingsFile> {
    let text = strip_comments(&host.read_file(&file)?);
    Some(GeminiSettingsFile { file, text })
}

/// Returns the values of variables in the user's `.env` file.
pub fn read_user_variables(host: &dyn HostAccess, names: &[&str]) -> Vec<String> {
    let text = host.read_file(&gemini_home(host).join(".env")).unwrap_or_default();
    let variables = text.lines().filter_map(|line| line.trim().trim_start_matches("export ").split_once('='));
    let named = variables.filter(|(name, _)| names.contains(&name.trim()));
    named.map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

/// Returns the chosen login method.
pub fn login_method(host: &dyn HostAccess, cwd: &Path) -> Option<String> {
    read_all_settings(host, cwd).iter().rev().find_map(|settings| {
        let security = settings.parse_json()?.as_object().get_object("security");
        security.get_object("auth").get_non_empty("selectedType")
    })
}

/// Returns the paths of the user's policies: a `--policy` argument replaces them unless it names them too.
pub fn policy_paths(host: &dyn HostAccess, cwd: &Path) -> Vec<String> {
    let named: Vec<String> = read_all_settings(host, cwd)
        .iter()
        .filter_map(GeminiSettingsFile::parse_json)
        .flat_map(|settings| settings.as_object().get_strings("policyPaths"))
        .collect();
    let usual = gemini_home(host).join("policies");
    if named.is_empty() && !host.list_dir(&usual).is_empty() {
        return vec![usual.to_string_lossy().into_owned()];
    }
    named
}

/// Returns whether the settings have MCP servers.
pub fn has_mcp_servers(host: &dyn HostAccess, cwd: &Path) -> bool {
    let named = |settings: &GeminiSettingsFile| {
        settings.parse_json().is_some_and(|all| !all.as_object().get_object("mcpServers").is_empty())
    };
    read_all_settings(host, cwd).iter().any(named)
}

/// Returns whether Gemini CLI's own sandbox is on.
pub fn is_sandbox_enabled(host: &dyn HostAccess, cwd: &Path) -> bool {
    let is_on = |word: &str| !matches!(word, "" | "false" | "0" | "null");
    if let Some(word) = host.env_var("GEMINI_SANDBOX") {
        return is_on(&word);
    }
    let told = read_all_settings(host, cwd).iter().rev().find_map(|settings| {
        let sandbox = settings.parse_json()?.as_object().get_object("tools").get("sandbox")?;
        Some(if sandbox.is_object() { sandbox.as_object().is_true("enabled") } else { is_on(&sandbox.display_text()) })
    });
    told.unwrap_or(false)
}

/// Removes `//` and `/* */` comments, which these files may have.
fn strip_comments(text: &str) -> String {
    let (mut out, mut rest, mut quoted) = (String::with_capacity(text.len()), text.chars().peekable(), false);
    while let Some(c) = rest.next() {
        match (quoted, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(rest.next());
                continue;
            }
            (false, '/', Some('/')) => {
                while rest.peek().is_some_and(|c| *c != '\n') {
                    rest.next();
                }
                continue;
            }
            (false, '/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if (before, c) == ('*', '/') {
                        break;
                    }
                    before = c;
                }
                continue;
            }
            (_, '"', _) => quoted = !quoted,
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {

    use super::strip_comments;

    #[test]
    fn comments_are_left_out_and_texts_are_not() {
        for (text, expected) in [
            ("{\"a\":1} // b", "{\"a\":1} "),
            ("{/* x */\"a\":\"http://y\"}", "{\"a\":\"http://y\"}"),
            (r#"{"a":"\"// no"}"#, r#"{"a":"\"// no"}"#),
            ("{/* never closed", "{"),
            ("{}//\n1", "{}\n1"),
        ] {
            assert_eq!(strip_comments(text), expected);
        }
    }
}
