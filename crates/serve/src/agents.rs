//! The agents of this machine. Looking at them starts programs, so it is done once in a while and once at a time.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use switchboard_agents::{Abilities, Login, Versions};
use switchboard_engine::{AgentInstallation, HostEnvironment, InstallState, inspect_agents, locate_agents};

/// How long what was seen holds.
const HOLDS: Duration = Duration::from_secs(30);

/// How long somebody waits for it, before an answer without all versions has to do.
const PATIENCE: Duration = Duration::from_secs(3);

/// An agent as clients see it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Its name, as `agentType` takes it.
    pub id: &'static str,
    /// The same.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Who makes it, in a word.
    pub provider: &'static str,
    /// Whether it can be run.
    pub state: InstallState,
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

impl From<AgentInstallation> for AgentView {
    fn from(seen: AgentInstallation) -> Self {
        let AgentInstallation { name, title, provider, state, path, version, versions, login, install, abilities } =
            seen;
        Self { id: name, name, title, provider, state, path, version, versions, login, install, abilities }
    }
}

/// The agents of this machine.
#[derive(Clone)]
pub struct Agents(Arc<Inner>);

struct Inner {
    machine: HostEnvironment,
    seen: Mutex<Option<(Instant, Vec<AgentInstallation>)>>,
    looking: tokio::sync::Mutex<()>,
}

impl Agents {
    /// Nothing has been looked at yet.
    #[must_use]
    pub fn new(machine: HostEnvironment) -> Self {
        Self(Arc::new(Inner { machine, seen: Mutex::default(), looking: tokio::sync::Mutex::default() }))
    }

    /// All agents, and what this machine has of each.
    pub async fn all(&self) -> Vec<AgentView> {
        let seen = match self.fresh() {
            Some(seen) => seen,
            None => self.look().await,
        };
        seen.into_iter().map(AgentView::from).collect()
    }

    /// The version of an agent that is installed. Its program is only started if nothing else says it.
    pub async fn version(&self, name: &str) -> Option<String> {
        let (agents, wanted) = (self.clone(), name.to_owned());
        let glanced = tokio::task::spawn_blocking(move || {
            locate_agents(&agents.0.machine).into_iter().find(|seen| seen.name == wanted).and_then(|seen| seen.version)
        });
        match glanced.await.unwrap_or_default() {
            Some(version) => Some(version),
            None => self.all().await.into_iter().find(|seen| seen.name == name).and_then(|seen| seen.version),
        }
    }

    async fn look(&self) -> Vec<AgentInstallation> {
        let agents = self.clone();
        let looking = tokio::spawn(async move {
            let _alone = agents.0.looking.lock().await;
            if agents.fresh().is_none() {
                let seen = inspect_agents(&agents.0.machine).await;
                *agents.0.seen.lock() = Some((Instant::now(), seen));
            }
        });
        // Whoever is not waited for goes on, and what it sees is there for the next.
        drop(tokio::time::timeout(PATIENCE, looking).await);
        match self.last() {
            Some((_, seen)) => seen,
            None => {
                let machine = self.0.machine.clone();
                tokio::task::spawn_blocking(move || locate_agents(&machine)).await.unwrap_or_default()
            }
        }
    }

    fn fresh(&self) -> Option<Vec<AgentInstallation>> {
        self.last().filter(|(at, _)| at.elapsed() < HOLDS).map(|(_, seen)| seen)
    }

    fn last(&self) -> Option<(Instant, Vec<AgentInstallation>)> {
        self.0.seen.lock().clone()
    }
}
