//! What OpenCode is told by its environment: configuration that goes before all files, and permission rules.

use serde::Serialize;
use serde_json::json;
use switchboard_event::{ApprovalMode, raw};

use super::{
    folders,
    rules::{self, Action, Rule, Written},
    servers,
    tree::Tree,
};
use crate::{Launch, Order, Unsupported};

const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
const PERMISSION: &str = "OPENCODE_PERMISSION";

/// Adds the configuration to what is started.
pub fn add(order: &Order<'_>, launch: &mut Launch) -> Result<(), Unsupported> {
    let mut content = own(order, CONTENT, launch);
    // A refused call is told to the model, which goes on; else the turn would end.
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
    launch.env.push((CONTENT.to_owned(), raw(&content).get().to_owned()));
    permissions(order, &data, launch);
    Ok(())
}

/// Rules for all agents. A subagent gets of its session's rules only what they forbid, so these are what makes it ask.
fn permissions(order: &Order<'_>, data: &str, launch: &mut Launch) {
    let rules = everywhere(order, data);
    if rules.is_empty() {
        return;
    }
    let mut permission = own(order, PERMISSION, launch);
    permission.merge(&Written(&rules));
    launch.env.push((PERMISSION.to_owned(), raw(&permission).get().to_owned()));
}

fn everywhere(order: &Order<'_>, data: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    if !rules::is_free(order.config) {
        rules.extend(rules::asking(data));
        // Where nobody can be asked, what may go unasked must be allowed beforehand.
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

/// What the user has in a variable already.
fn own(order: &Order<'_>, variable: &str, launch: &mut Launch) -> Tree {
    let Some(text) = order.host.env(variable).filter(|text| !text.trim().is_empty()) else {
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
