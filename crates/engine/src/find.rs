//! Finding an agent's program, and which version of it is installed.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{Agent, Host as _};

use crate::{Machine, StartError};

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Its version, where its package says one.
    pub version: Option<String>,
}

/// Finds the program of an agent: the one that `SWITCHBOARD_<AGENT>` names, else the first on the `PATH`.
pub fn program(agent: &Agent, name: &str, machine: &Machine) -> Result<Found, StartError> {
    let variable = override_variable(agent.name);
    let named = machine.env(&variable);
    let path = match &named {
        Some(named) => on_path(named, machine).ok_or_else(|| StartError::NoSuchProgram {
            program: named.clone(),
            hint: format!("{variable} names it; unset it to use the one on the PATH"),
        })?,
        None => on_path(name, machine).ok_or_else(|| match name.contains('/') {
            true => StartError::NoSuchFile(name.to_owned()),
            false => StartError::NotInstalled {
                title: agent.title.to_owned(),
                program: name.to_owned(),
                install: agent.install.map(str::to_owned),
            },
        })?,
    };
    let version = package_version(&path);
    Ok(Found { path, version })
}

/// The variable that names another program for an agent.
#[must_use]
pub fn override_variable(agent: &str) -> String {
    let name: String =
        agent.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    format!("SWITCHBOARD_{name}")
}

/// A path as it is, a name on the `PATH`.
fn on_path(name: &str, machine: &Machine) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = machine.env("PATH")?;
    let mut candidates = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|f| f.join(name));
    candidates.find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The version in the package that a program belongs to. Asking the program itself can take seconds.
fn package_version(program: &Path) -> Option<String> {
    let real = fs::canonicalize(program).ok()?;
    let manifest = real.ancestors().skip(1).take(4).map(|folder| folder.join("package.json")).find(|p| p.is_file())?;
    let manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(manifest).ok()?).ok()?;
    manifest.get("version")?.as_str().map(str::to_owned)
}

/// The first thing in a text that looks like a version.
#[must_use]
pub fn version_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')' || c == ',');
    let mut versions = words.map(|word| word.trim_start_matches('v')).filter(|word| {
        word.split('.').count() >= 2
            && word.split('.').take(2).all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    versions.next()
}

/// One version is older than another, number by number; what is not a number counts as zero.
#[must_use]
pub fn is_older(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let main = text.split(['-', '+']).next().unwrap_or_default();
        main.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    numbers(version) < numbers(than)
}

/// Says if a version is too old to work, or newer than what was tested.
pub fn check_version(agent: &Agent, version: Option<&str>) -> Result<Option<String>, StartError> {
    let (Some(versions), Some(version)) = (agent.versions, version) else { return Ok(None) };
    if is_older(version, versions.oldest) {
        return Err(StartError::TooOld {
            title: agent.title.to_owned(),
            version: version.to_owned(),
            oldest: versions.oldest.to_owned(),
            install: agent.install.map(str::to_owned),
        });
    }
    Ok(is_older(versions.tested, version)
        .then(|| format!("{} {version} is newer than {}, which this was tested with", agent.title, versions.tested)))
}

#[cfg(test)]
mod tests {
    use super::{is_older, override_variable, version_in};

    #[test]
    fn versions_are_found_and_compared() {
        for (text, version) in [
            ("2.1.197 (Some Agent)", Some("2.1.197")),
            ("agent-cli 0.166.0\n", Some("0.166.0")),
            ("v1.18.33", Some("1.18.33")),
            ("error: 3 things", None),
            ("", None),
        ] {
            assert_eq!(version_in(text), version, "{text}");
        }
        for (version, than, older) in [
            ("2.1.9", "2.1.10", true),
            ("2.2.0", "2.1.10", false),
            ("0.56.0-nightly.1", "0.56.0", false),
            ("1.0", "1.0.1", true),
        ] {
            assert_eq!(is_older(version, than), older, "{version} {than}");
        }
        assert_eq!(override_variable("some-acp"), "SWITCHBOARD_SOME_ACP");
    }
}
