//! Configuration of OpenCode through its environment: settings that override all files, and permission rules.

use serde::Serialize;
use serde_json::json;
use switchboard_event::{ApprovalMode, to_raw_json};

use super::{
    folders,
    rules::{self, Action, Rule, Written},
    servers,
    tree::Tree,
};
use crate::{AgentLaunch, LaunchRequest, UnsupportedOperation};

const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

const PERMISSION: &str = "OPENCODE_PERMISSION";

/// Adds the configuration to a launch.
pub fn add(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    let mut content = own(order, CONTENT, launch);
    // A refused call is reported to the model, which continues. Otherwise the turn would end.
    content.merge(&json!({ "experimental": { "continue_loop_on_deny": true } }));
    let servers = servers::written(order.config, order.private, &mut launch.files)?;
    if !servers.is_empty() {
        content.merge(&json!({ "mcp": servers }));
    }
    let data = folders::data(order.host).display().to_string();
    if !rules::is_free(order.config) {
        let looking = [rules::looking(&data), rules::forbidden(order.config, &data)].concat();
        content.merge(&Agents { agent: Explore { explore: Permission { permission: Written(&looking) } } });
    }
    launch.env.push((CONTENT.to_owned(), to_raw_json(&content).get().to_owned()));
    permissions(order, &data, launch);
    Ok(())
}

/// Adds rules for all agents. A subagent inherits only the prohibitions of its session, so these rules make it ask.
fn permissions(order: &LaunchRequest<'_>, data: &str, launch: &mut AgentLaunch) {
    let rules = everywhere(order, data);
    if rules.is_empty() {
        return;
    }
    let mut permission = own(order, PERMISSION, launch);
    permission.merge(&Written(&rules));
    launch.env.push((PERMISSION.to_owned(), to_raw_json(&permission).get().to_owned()));
}

fn everywhere(order: &LaunchRequest<'_>, data: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    if !rules::is_free(order.config) {
        rules.extend(rules::asking(data));
        // A one-shot run cannot ask, so calls that need no approval must be allowed in advance.
        if order.one_shot && order.config.approval_mode == Some(ApprovalMode::AutoEdit) {
            rules.extend(rules::all(["edit"], Action::Allow));
        }
        if order.one_shot {
            rules.extend(rules::permitted(order.config));
        }
        rules.extend(servers::trusted(order.config));
    }
    rules.extend(rules::forbidden(order.config, data));
    rules
}

/// Returns the content of a variable that the user has set.
fn own(order: &LaunchRequest<'_>, variable: &str, launch: &mut AgentLaunch) -> Tree {
    let Some(text) = order.host.env_var(variable).filter(|text| !text.trim().is_empty()) else {
        return Tree::new();
    };
    Tree::read(&text).unwrap_or_else(|| {
        launch.weaker.push(format!("{variable} is not JSON, so it is left out"));
        Tree::new()
    })
}

/// `json!` would sort the rules.
#[derive(Serialize)]
struct Agents<'a> {
    agent: Explore<'a>,
}

#[derive(Serialize)]
struct Explore<'a> {
    explore: Permission<'a>,
}

#[derive(Serialize)]
struct Permission<'a> {
    permission: Written<'a>,
}
