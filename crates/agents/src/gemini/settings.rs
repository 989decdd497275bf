//! Gemini CLI's own settings: `~/.gemini/settings.json`, the project's `.gemini/settings.json`, and the administrator's.
//! Read only; what they say in our words is in `config.rs`.

use std::path::{Path, PathBuf};

use crate::{Host, Json};

/// One file of settings.
pub struct Settings {
    /// Where it is.
    pub file: PathBuf,
    /// What it says, without comments.
    pub text: String,
}

impl Settings {
    /// The file as JSON, if it is that.
    pub fn json(&self) -> Option<Json<'_>> {
        Json::parse(&self.text).filter(|json| json.is_object())
    }
}

/// The folder where Gemini CLI keeps everything.
pub fn folder(host: &dyn Host) -> PathBuf {
    host.env("GEMINI_CLI_HOME").map_or_else(|| host.home(), PathBuf::from).join(".gemini")
}

/// The user's settings and the project's, those that count more last.
pub fn files(host: &dyn Host, cwd: &Path) -> Vec<Settings> {
    let user = folder(host).join("settings.json");
    let project = cwd.join(".gemini").join("settings.json");
    let same = user == project;
    [Some(user), Some(project).filter(|_| !same)].into_iter().flatten().filter_map(|file| read(host, file)).collect()
}

/// The same with those of the administrator, which count most.
fn all(host: &dyn Host, cwd: &Path) -> Vec<Settings> {
    let named = host.env("GEMINI_CLI_SYSTEM_SETTINGS_PATH").map(PathBuf::from);
    let system = named.unwrap_or_else(|| PathBuf::from("/etc/gemini-cli/settings.json"));
    files(host, cwd).into_iter().chain(read(host, system)).collect()
}

fn read(host: &dyn Host, file: PathBuf) -> Option<Settings> {
    let text = without_comments(&host.read(&file)?);
    Some(Settings { file, text })
}

/// How the user chose to log in.
pub fn login_method(host: &dyn Host, cwd: &Path) -> Option<String> {
    all(host, cwd).iter().rev().find_map(|settings| {
        let security = settings.json()?.object().object("security");
        security.object("auth").filled("selectedType")
    })
}

/// The rules that the user has beside ours: a `--policy` of ours takes their place unless it names them too.
pub fn policies(host: &dyn Host, cwd: &Path) -> Vec<String> {
    let named: Vec<String> = all(host, cwd)
        .iter()
        .filter_map(Settings::json)
        .flat_map(|settings| settings.object().strings("policyPaths"))
        .collect();
    let usual = folder(host).join("policies");
    if named.is_empty() && !host.list(&usual).is_empty() {
        return vec![usual.to_string_lossy().into_owned()];
    }
    named
}

/// It starts MCP servers of its own.
pub fn has_servers(host: &dyn Host, cwd: &Path) -> bool {
    let named = |settings: &Settings| settings.json().is_some_and(|all| !all.object().object("mcpServers").is_empty());
    all(host, cwd).iter().any(named)
}

/// Its own sandbox is on.
pub fn sandboxed(host: &dyn Host, cwd: &Path) -> bool {
    let is_on = |word: &str| !matches!(word, "" | "false" | "0" | "null");
    if let Some(word) = host.env("GEMINI_SANDBOX") {
        return is_on(&word);
    }
    let told = all(host, cwd).iter().rev().find_map(|settings| {
        let sandbox = settings.json()?.object().object("tools").get("sandbox")?;
        Some(if sandbox.is_object() { sandbox.object().is_true("enabled") } else { is_on(&sandbox.display()) })
    });
    told.unwrap_or(false)
}

/// JSON without `//` and `/* */`, which these files may have.
fn without_comments(text: &str) -> String {
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
    use super::without_comments;

    #[test]
    fn comments_are_left_out_and_texts_are_not() {
        for (text, expected) in [
            ("{\"a\":1} // b", "{\"a\":1} "),
            ("{/* x */\"a\":\"http://y\"}", "{\"a\":\"http://y\"}"),
            (r#"{"a":"\"// no"}"#, r#"{"a":"\"// no"}"#),
            ("{/* never closed", "{"),
            ("{}//\n1", "{}\n1"),
        ] {
            assert_eq!(without_comments(text), expected);
        }
    }
}
