//! The installed agents of this machine: their programs, versions and logins.

use std::{
    fs, iter,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_agents::{AGENTS, Abilities, Agent, HostAccess as _, Login, Versions};
use tokio::io::AsyncReadExt as _;

use crate::{
    HostEnvironment, StartError,
    supervise::{ProcessSpec, start_agent},
};

/// The time that a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);

const MAX_VERSION_OUTPUT_BYTES: u64 = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProgram {
    pub path: PathBuf,
    /// The version in the program's package manifest, if there is one.
    pub version: Option<String>,
}

impl AgentProgram {
    /// Finds the program of an agent: the one that `SWITCHBOARD_<AGENT>` names, otherwise the first on the `PATH`.
    pub fn find(agent: &Agent, name: &str, host: &HostEnvironment) -> Result<Self, StartError> {
        let variable = program_override_variable(agent.name);
        let path = match host.env_var(&variable) {
            Some(named) => find_on_path(&named, host).ok_or_else(|| StartError::NoSuchProgram {
                program: named,
                hint: format!("{variable} names it; unset it to use the one on the PATH"),
            })?,
            None => find_on_path(name, host).ok_or_else(|| match name.contains('/') {
                true => StartError::NoSuchFile(name.to_owned()),
                false => StartError::NotInstalled {
                    title: agent.title.to_owned(),
                    program: name.to_owned(),
                    install: agent.install.map(str::to_owned),
                },
            })?,
        };
        let version = read_package_version(&path);
        Ok(Self { path, version })
    }
}

pub fn program_override_variable(agent: &str) -> String {
    let name: String =
        agent.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    format!("SWITCHBOARD_{name}")
}

/// Returns a path unchanged if it is a file, and looks a bare name up on the `PATH`.
fn find_on_path(name: &str, host: &HostEnvironment) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = host.env_var("PATH")?;
    let directories = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Reads the version from the package that a program belongs to. Asking the program itself can take seconds.
fn read_package_version(program: &Path) -> Option<String> {
    let real = fs::canonicalize(program).ok()?;
    let mut manifests = real.ancestors().skip(1).take(4).map(|directory| directory.join("package.json"));
    let manifest = fs::read_to_string(manifests.find(|path| path.is_file())?).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    manifest.get("version")?.as_str().map(str::to_owned)
}

/// Returns the first word of a text that looks like a version.
fn find_version(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')' || c == ',');
    let mut versions = words.map(|word| word.trim_start_matches('v')).filter(|word| {
        word.split('.').count() >= 2
            && word.split('.').take(2).all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    versions.next()
}

/// Returns whether one version is older than another, compared number by number. Parts that are not numbers count as
/// zero.
pub fn is_older_version(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let main = text.split(['-', '+']).next().unwrap_or_default();
        main.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    numbers(version) < numbers(than)
}

/// Fails if a version is too old to work. Returns a warning if it is newer than the tested version.
pub fn check_version(agent: &Agent, version: Option<&str>) -> Result<Option<String>, StartError> {
    let (Some(versions), Some(version)) = (agent.versions, version) else { return Ok(None) };
    if is_older_version(version, versions.oldest) {
        return Err(StartError::TooOld {
            title: agent.title.to_owned(),
            version: version.to_owned(),
            oldest: versions.oldest.to_owned(),
            install: agent.install.map(str::to_owned),
        });
    }
    Ok(is_older_version(versions.tested, version)
        .then(|| format!("{} {version} is newer than the tested version, {}", agent.title, versions.tested)))
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInstallation {
    /// The name that users type.
    pub name: &'static str,
    /// The name in texts for people.
    pub title: &'static str,
    /// The vendor, in a word.
    pub provider: &'static str,
    pub state: InstallState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions that are known to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    pub login: Login,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<&'static str>,
    pub abilities: Abilities,
}

/// Whether an agent can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Installed")]
pub enum InstallState {
    /// Part of Switchboard.
    BuiltIn,
    /// Named by its command.
    ByCommand,
    /// Installed, in a tested version or one that is close to it.
    Ready,
    /// Installed, in a newer version than the tested one.
    Newer,
    /// Installed, in an unknown version.
    UnknownVersion,
    /// Installed, in a version that is too old.
    TooOld,
    /// Not installed.
    Missing,
}

impl InstallState {
    fn of_version(agent: &Agent, version: Option<&str>) -> Self {
        match check_version(agent, version) {
            Err(StartError::TooOld { .. }) => Self::TooOld,
            _ if version.is_none() => Self::UnknownVersion,
            Ok(Some(_)) => Self::Newer,
            _ => Self::Ready,
        }
    }
}

/// Inspects all agents. Programs without a package manifest are started to get their version.
pub async fn inspect_agents(host: &HostEnvironment) -> Vec<AgentInstallation> {
    let mut installations = Vec::new();
    for agent in AGENTS {
        let mut installation = AgentInstallation::locate(agent, host);
        if let Some(path) = installation.path.as_ref().filter(|_| installation.version.is_none()) {
            let printed = tokio::time::timeout(VERSION_TIMEOUT, print_version(agent, path, host)).await;
            installation.version = printed.ok().flatten();
            installation.state = InstallState::of_version(agent, installation.version.as_deref());
        }
        installations.push(installation);
    }
    installations
}

/// Inspects all agents without starting any program. Versions that only the program itself knows are missing.
pub fn locate_agents(host: &HostEnvironment) -> Vec<AgentInstallation> {
    AGENTS.iter().map(|agent| AgentInstallation::locate(agent, host)).collect()
}

impl AgentInstallation {
    fn locate(agent: &'static Agent, host: &HostEnvironment) -> Self {
        let login = (agent.login)(host);
        let program = agent.program.map(|program| AgentProgram::find(agent, program, host));
        let state = match &program {
            // Built-in agents need no login.
            None if login == Login::NotNeeded => InstallState::BuiltIn,
            None => InstallState::ByCommand,
            Some(Ok(found)) => InstallState::of_version(agent, found.version.as_deref()),
            Some(Err(_)) => InstallState::Missing,
        };
        let (path, version) = program.and_then(Result::ok).map(|found| (found.path, found.version)).unzip();
        Self {
            name: agent.name,
            title: agent.title,
            provider: agent.provider,
            state,
            path,
            version: version.flatten(),
            versions: agent.versions,
            login,
            install: agent.install,
            abilities: agent.abilities,
        }
    }
}

async fn print_version(agent: &Agent, program: &Path, host: &HostEnvironment) -> Option<String> {
    let args = agent.versions?.args.iter().map(Into::into);
    let spec = ProcessSpec {
        argv: iter::once(program.as_os_str().to_owned()).chain(args).collect(),
        env: host.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: host.temp.clone(),
        cwd_identity: None,
        has_stdin: false,
        confinement: None,
        session: "version".to_owned(),
    };
    let mut running = start_agent(&host.program, spec).await.ok()?;
    let mut text = Vec::new();
    (&mut running.stdout).take(MAX_VERSION_OUTPUT_BYTES).read_to_end(&mut text).await.ok()?;
    find_version(&String::from_utf8_lossy(&text)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{find_version, is_older_version, program_override_variable};

    #[test]
    fn versions_are_found_and_compared() {
        for (text, version) in [
            ("2.1.197 (Some Agent)", Some("2.1.197")),
            ("agent-cli 0.166.0\n", Some("0.166.0")),
            ("v1.18.33", Some("1.18.33")),
            ("error: 3 things", None),
            ("", None),
        ] {
            assert_eq!(find_version(text), version, "{text}");
        }
        for (version, than, older) in [
            ("2.1.9", "2.1.10", true),
            ("2.2.0", "2.1.10", false),
            ("0.56.0-nightly.1", "0.56.0", false),
            ("1.0", "1.0.1", true),
        ] {
            assert_eq!(is_older_version(version, than), older, "{version} {than}");
        }
        assert_eq!(program_override_variable("some-acp"), "SWITCHBOARD_SOME_ACP");
    }
}
