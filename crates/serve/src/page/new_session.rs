//! The defaults for starting a session: agents, directories and settings.

use std::{collections::HashSet, path::Path};

use axum::{extract::State, response::Response};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_engine::paths::WorkingDirectory;
use switchboard_store::{SessionFilter, SessionLog, StoreError};

use crate::{Problem, Service, api::json_response, extract::QueryParams};

/// The number of sessions that are searched for recently used directories.
const MAX_SESSIONS_READ: usize = 500;

const MAX_DIRECTORIES: usize = 20;

const MAX_ENTRIES_READ: usize = 10_000;

pub async fn session_defaults(State(service): State<Service>) -> Result<Response, Problem> {
    let agents = service.agents().all().await;
    let reader = service.clone();
    let json = service.query_log(move |log| {
        let mut views = Vec::new();
        for agent in agents {
            let mut view = serde_json::to_value(&agent).unwrap_or_default();
            let offered = reader.last_offered(log, agent.id)?;
            if let (Some(view), Value::Object(offered)) = (view.as_object_mut(), offered) {
                view.extend(offered);
                agent.install.into_iter().for_each(|install| drop(view.insert("hint".to_owned(), install.into())));
            }
            views.push(view);
        }
        let used = log.list_sessions(&SessionFilter { limit: Some(MAX_SESSIONS_READ), ..SessionFilter::default() })?;
        let last = used.first().map(|stored| stored.agent.to_string());
        let mut known = HashSet::new();
        let folders = used.into_iter().map(|stored| stored.cwd).filter(|cwd| known.insert(cwd.clone()));
        let folders: Vec<_> = folders.filter(|cwd| reader.may_work_in(Path::new(cwd))).take(MAX_DIRECTORIES).collect();
        let setup = reader.config();
        let defaults = json!({
            "workingDirectory": setup.cwd, "approvalMode": setup.approval_mode, "agent": last, "roots": setup.roots,
        });
        let defaults =
            json!({ "agents": views, "folders": folders, "defaults": defaults, "home": reader.config().host.home });
        Ok(serde_json::to_vec(&defaults).unwrap_or_default())
    });
    Ok(json_response(json.await?))
}

impl Service {
    /// Returns what an agent offered in its newest session.
    fn last_offered(&self, log: &dyn SessionLog, agent: &str) -> Result<Value, StoreError> {
        let newest = log.list_sessions(&SessionFilter {
            agent: Some(agent.to_owned()),
            limit: Some(1),
            ..SessionFilter::default()
        })?;
        let Some(stored) = newest.into_iter().next() else { return Ok(json!({})) };
        let summary = self.summaries().update(&stored)?;
        let info = &summary.state.info;
        Ok(json!({ "models": info.models, "modes": info.modes, "options": info.options, "commands": info.commands }))
    }

    /// Returns whether sessions may work in a directory.
    fn may_work_in(&self, folder: &Path) -> bool {
        WorkingDirectory::open_beneath(folder, &self.config().roots).is_ok()
    }

    /// Returns directories whose path starts with a prefix.
    fn complete_path(&self, prefix: &str) -> Vec<String> {
        let roots = &self.config().roots;
        let typed = match prefix.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.config().host.home.display()),
            None => prefix.to_owned(),
        };
        let Some((parent, name)) = typed.rsplit_once('/').filter(|_| typed.starts_with('/')) else {
            return roots
                .iter()
                .map(|root| root.display().to_string())
                .filter(|root| root.starts_with(&typed))
                .collect();
        };
        let parent = if parent.is_empty() { "/" } else { parent };
        let mut found: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        found.retain(|root| root.starts_with(&typed) && *root != typed);
        if roots.is_empty() || self.may_work_in(Path::new(parent)) {
            found.extend(matching_directories(Path::new(parent), name, &|folder| self.may_work_in(folder)));
        }
        found.sort();
        found.dedup();
        found.truncate(MAX_DIRECTORIES);
        found
    }
}

/// Returns subdirectories whose name starts with a prefix. Hidden ones are only returned for a prefix with a dot.
fn matching_directories(parent: &Path, name: &str, may: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let wanted = name.to_lowercase();
    let fits =
        |found: &str| found.to_lowercase().starts_with(&wanted) && (name.starts_with('.') || !found.starts_with('.'));
    let names = entries.take(MAX_ENTRIES_READ).flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|found| fits(found)).collect();
    names.sort();
    let folders = names.into_iter().map(|name| parent.join(name)).filter(|folder| folder.is_dir() && may(folder));
    folders.take(MAX_DIRECTORIES).map(|folder| folder.display().to_string()).collect()
}

#[derive(Debug, Default, Deserialize)]
pub struct DirectoryParams {
    prefix: Option<String>,
}

pub async fn complete_directory(
    State(service): State<Service>,
    QueryParams(query): QueryParams<DirectoryParams>,
) -> Result<Response, Problem> {
    let prefix = query.prefix.unwrap_or_default();
    let reader = service.clone();
    let folders = service.query_log(move |_| Ok(reader.complete_path(&prefix))).await?;
    Ok(json_response(serde_json::to_vec(&json!({ "folders": folders })).unwrap_or_default()))
}
