//! What agents this machine has: where, which version, logged in or not.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_agents::{AGENTS, Abilities, Agent, Login, Versions};
use tokio::io::AsyncReadExt as _;

use crate::{
    Machine, StartError, find,
    supervise::{self, Input, Spec},
};

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(15);

/// An agent and what this machine has of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inspected {
    /// Its name, as users type it.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Who makes it, in a word.
    pub provider: &'static str,
    /// Whether it can be run.
    pub state: Installed,
    /// Its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions that are known to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    /// Whether it is logged in.
    pub login: Login,
    /// The command that installs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<&'static str>,
    /// What it can do.
    pub abilities: Abilities,
}

/// Whether an agent can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Installed {
    /// It is part of Switchboard.
    BuiltIn,
    /// It is named by its command.
    ByCommand,
    /// It is there, in a version that was tested or is close to it.
    Ready,
    /// It is there, in a later version than the one that was tested.
    Newer,
    /// It is there, and says no version.
    UnknownVersion,
    /// It is there, and too old.
    TooOld,
    /// It is not there.
    Missing,
}

/// Looks at all agents.
pub async fn inspect(machine: &Machine) -> Vec<Inspected> {
    let mut inspected = Vec::new();
    for agent in AGENTS {
        let mut seen = look(agent, machine);
        if let Some(path) = seen.path.as_ref().filter(|_| seen.version.is_none()) {
            seen.version = ask(agent, path, machine).await;
            seen.state = judge(agent, seen.version.as_deref());
        }
        inspected.push(seen);
    }
    inspected
}

/// Looks at all agents without starting any program: versions that only the program itself knows are not known.
#[must_use]
pub fn glance(machine: &Machine) -> Vec<Inspected> {
    AGENTS.iter().map(|agent| look(agent, machine)).collect()
}

fn look(agent: &'static Agent, machine: &Machine) -> Inspected {
    let mut seen = Inspected {
        name: agent.name,
        title: agent.title,
        provider: agent.provider,
        state: Installed::BuiltIn,
        path: None,
        version: None,
        versions: agent.versions,
        login: (agent.login)(machine),
        install: agent.install,
        abilities: agent.abilities,
    };
    let Some(program) = agent.program else {
        // What is built in needs no login.
        if seen.login != Login::NotNeeded {
            seen.state = Installed::ByCommand;
        }
        return seen;
    };
    let Ok(found) = find::program(agent, program, machine) else {
        seen.state = Installed::Missing;
        return seen;
    };
    seen.state = judge(agent, found.version.as_deref());
    (seen.version, seen.path) = (found.version, Some(found.path));
    seen
}

fn judge(agent: &Agent, version: Option<&str>) -> Installed {
    match find::check_version(agent, version) {
        Err(StartError::TooOld { .. }) => Installed::TooOld,
        _ if version.is_none() => Installed::UnknownVersion,
        Ok(Some(_)) => Installed::Newer,
        _ => Installed::Ready,
    }
}

/// Has the program say its version.
async fn ask(agent: &Agent, path: &std::path::Path, machine: &Machine) -> Option<String> {
    let args = agent.versions?.args.iter().map(Into::into);
    let spec = Spec {
        argv: std::iter::once(path.as_os_str().to_owned()).chain(args).collect(),
        env: machine.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: machine.temp.clone(),
        cwd_identity: None,
        stdin: Input::Closed,
        confine: None,
        session: "version".to_owned(),
    };
    let said = async {
        let mut running = supervise::start(&machine.program, spec).await.ok()?;
        let mut text = Vec::new();
        (&mut running.stdout).take(64 << 10).read_to_end(&mut text).await.ok()?;
        find::version_in(&String::from_utf8_lossy(&text)).map(str::to_owned)
    };
    tokio::time::timeout(PATIENCE, said).await.ok().flatten()
}
