//! The agents installed on this machine and their capabilities. Both are found out by starting programs, so the results
//! are cached and concurrent callers share one inspection.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use switchboard_agents::{Abilities, Login, Versions};
use switchboard_engine::{AgentInstallation, HostEnvironment, InstallState, inspect_agents, locate_agents};
use switchboard_event::{Info, SessionConfig};

use crate::{Problem, Service};

/// How long an inspection stays valid.
const INSPECTION_TTL: Duration = Duration::from_secs(30);

/// How long a caller waits for an inspection before it gets a result without all versions.
const INSPECTION_TIMEOUT: Duration = Duration::from_secs(3);

/// How long an agent's reported capabilities stay valid.
const CAPABILITIES_TTL: Duration = Duration::from_secs(5 * 60);

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// The name, as in `agentType`.
    pub id: &'static str,
    /// The same as `id`.
    pub name: &'static str,
    /// The name to display.
    pub title: &'static str,
    /// The maker.
    pub provider: &'static str,
    /// Whether it can be run.
    pub state: InstallState,
    /// The path of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The installed version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions known to work.
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

#[derive(Clone)]
pub struct AgentInventory(Arc<InventoryState>);

struct InventoryState {
    host: HostEnvironment,
    inspected: Mutex<Option<(Instant, Vec<AgentInstallation>)>>,
    inspecting: tokio::sync::Mutex<()>,
}

impl AgentInventory {
    #[must_use]
    pub fn new(host: HostEnvironment) -> Self {
        Self(Arc::new(InventoryState { host, inspected: Mutex::default(), inspecting: tokio::sync::Mutex::default() }))
    }

    /// Returns all agents with what is installed of each.
    pub async fn all(&self) -> Vec<AgentView> {
        let seen = match self.fresh() {
            Some(seen) => seen,
            None => self.inspect().await,
        };
        seen.into_iter().map(AgentView::from).collect()
    }

    /// Returns the installed version of an agent. Starts its program only if the version is not known otherwise.
    pub async fn version(&self, name: &str) -> Option<String> {
        let (agents, wanted) = (self.clone(), name.to_owned());
        let located = tokio::task::spawn_blocking(move || {
            locate_agents(&agents.0.host).into_iter().find(|seen| seen.name == wanted).and_then(|seen| seen.version)
        });
        match located.await.unwrap_or_default() {
            Some(version) => Some(version),
            None => self.all().await.into_iter().find(|seen| seen.name == name).and_then(|seen| seen.version),
        }
    }

    /// Returns the agents that can be run, as far as that is known without starting programs.
    pub async fn installed_names(&self) -> Vec<String> {
        let host = self.0.host.clone();
        let located = tokio::task::spawn_blocking(move || locate_agents(&host)).await.unwrap_or_default();
        let installed = |seen: &AgentInstallation| !matches!(seen.state, InstallState::Missing | InstallState::TooOld);
        located.into_iter().filter(installed).map(|seen| seen.name.to_owned()).collect()
    }

    async fn inspect(&self) -> Vec<AgentInstallation> {
        let agents = self.clone();
        let inspection = tokio::spawn(async move {
            let _lock = agents.0.inspecting.lock().await;
            if agents.fresh().is_none() {
                let seen = inspect_agents(&agents.0.host).await;
                *agents.0.inspected.lock() = Some((Instant::now(), seen));
            }
        });
        // An inspection that takes longer continues, for later callers.
        drop(tokio::time::timeout(INSPECTION_TIMEOUT, inspection).await);
        match self.last() {
            Some((_, seen)) => seen,
            None => {
                let host = self.0.host.clone();
                tokio::task::spawn_blocking(move || locate_agents(&host)).await.unwrap_or_default()
            }
        }
    }

    fn fresh(&self) -> Option<Vec<AgentInstallation>> {
        self.last().filter(|(at, _)| at.elapsed() < INSPECTION_TTL).map(|(_, seen)| seen)
    }

    fn last(&self) -> Option<(Instant, Vec<AgentInstallation>)> {
        self.0.inspected.lock().clone()
    }
}

/// The capabilities reported by agents, by agent and directory.
#[derive(Default)]
pub struct CapabilityCache(Mutex<HashMap<(String, String), CapabilityEntry>>);

/// Concurrent callers for one agent and directory wait for the same result.
type CapabilityEntry = Arc<tokio::sync::Mutex<Option<(Instant, Info)>>>;

impl CapabilityCache {
    fn entry(&self, agent: &str, cwd: &str) -> CapabilityEntry {
        let mut entries = self.0.lock();
        entries.entry((agent.to_owned(), cwd.to_owned())).or_default().clone()
    }
}

impl Service {
    /// Returns the capabilities of an agent in a directory, by default the server's.
    pub async fn discover(&self, agent: &str, cwd: Option<&str>) -> Result<Info, Problem> {
        let folder = self.open_directory(cwd).await?;
        let entry = self.capabilities().entry(agent, &folder.path().to_string_lossy());
        let mut known = entry.lock().await;
        if let Some((_, info)) = known.as_ref().filter(|(at, _)| at.elapsed() < CAPABILITIES_TTL) {
            return Ok(info.clone());
        }
        let info = self.engine().discover_capabilities(agent, SessionConfig::default(), Some(folder)).await?;
        *known = Some((Instant::now(), info.clone()));
        Ok(info)
    }
}
