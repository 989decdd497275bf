//! What one needs to know to start a session: agents, folders, and what is usual.

use std::{collections::HashSet, path::Path};

use axum::{extract::State, response::Response};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_engine::paths::WorkingDirectory;
use switchboard_store::{SessionFilter, SessionLog, StoreError};

use crate::{Problem, Service, api::answer, input::Query};

/// So many sessions are looked at for folders that were used lately.
const LOOKED_AT: usize = 500;

/// So many folders are named.
const MOST: usize = 20;

/// So many entries of a folder are looked at.
const MOST_ENTRIES: usize = 10_000;

/// What one needs to know to start a session.
pub async fn begin(State(service): State<Service>) -> Result<Response, Problem> {
    let agents = service.agents().all().await;
    let asker = service.clone();
    let json = service.ask(move |log| {
        let mut shown = Vec::new();
        for agent in agents {
            let mut view = serde_json::to_value(&agent).unwrap_or_default();
            let offered = asker.last_seen(log, agent.id)?;
            if let (Some(view), Value::Object(offered)) = (view.as_object_mut(), offered) {
                view.extend(offered);
                agent.install.into_iter().for_each(|install| drop(view.insert("hint".to_owned(), install.into())));
            }
            shown.push(view);
        }
        let used = log.list_sessions(&SessionFilter { limit: Some(LOOKED_AT), ..SessionFilter::default() })?;
        let last = used.first().map(|stored| stored.agent.to_string());
        let mut known = HashSet::new();
        let folders = used.into_iter().map(|stored| stored.cwd).filter(|cwd| known.insert(cwd.clone()));
        let folders: Vec<_> = folders.filter(|cwd| asker.may_work_in(Path::new(cwd))).take(MOST).collect();
        let setup = asker.setup();
        let defaults = json!({
            "workingDirectory": setup.cwd, "approvalMode": setup.approval, "agent": last, "roots": setup.roots,
        });
        let begin =
            json!({ "agents": shown, "folders": folders, "defaults": defaults, "home": asker.setup().machine.home });
        Ok(serde_json::to_vec(&begin).unwrap_or_default())
    });
    Ok(answer(json.await?))
}

impl Service {
    /// What an agent offered in the last session that somebody had with it.
    fn last_seen(&self, log: &dyn SessionLog, agent: &str) -> Result<Value, StoreError> {
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

    /// A folder is there, and sessions may work in it.
    fn may_work_in(&self, folder: &Path) -> bool {
        WorkingDirectory::open_beneath(folder, &self.setup().roots).is_ok()
    }

    /// Folders whose path begins with this.
    fn completed(&self, prefix: &str) -> Vec<String> {
        let roots = &self.setup().roots;
        let typed = match prefix.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.setup().machine.home.display()),
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
            found.extend(below(Path::new(parent), name, &|folder| self.may_work_in(folder)));
        }
        found.sort();
        found.dedup();
        found.truncate(MOST);
        found
    }
}

/// The folders in a folder whose name begins with this. Hidden ones are named to who asks for them.
fn below(parent: &Path, name: &str, may: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let wanted = name.to_lowercase();
    let fits =
        |found: &str| found.to_lowercase().starts_with(&wanted) && (name.starts_with('.') || !found.starts_with('.'));
    let names = entries.take(MOST_ENTRIES).flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|found| fits(found)).collect();
    names.sort();
    let folders = names.into_iter().map(|name| parent.join(name)).filter(|folder| folder.is_dir() && may(folder));
    folders.take(MOST).map(|folder| folder.display().to_string()).collect()
}

/// What was typed so far.
#[derive(Debug, Default, Deserialize)]
pub struct FolderQuery {
    prefix: Option<String>,
}

/// Folders to work in.
pub async fn folders(State(service): State<Service>, Query(query): Query<FolderQuery>) -> Result<Response, Problem> {
    let prefix = query.prefix.unwrap_or_default();
    let asker = service.clone();
    let folders = service.ask(move |_| Ok(asker.completed(&prefix))).await?;
    Ok(answer(serde_json::to_vec(&json!({ "folders": folders })).unwrap_or_default()))
}
