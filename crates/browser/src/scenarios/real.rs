//! A real agent with a scripted model: its request is allowed in the page, and the file appears.

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_testkit::clis::AGENT_CLIS;

use crate::trial::PageTrial;

/// The first agent asks to run two commands: one is allowed, one declined.
pub fn approve_real_agent(trial: &PageTrial) -> anyhow::Result<()> {
    let cli = AGENT_CLIS.first().context("there are no agents")?;
    let made = |name: &str| trial.stage.project_dir().join(name).exists();
    let (yes, no) = (cli.shell_directive("echo hello > allowed.txt"), cli.shell_directive("touch declined.txt"));
    let prompt = format!("[[text I make a file.]] {yes} [[then]] {no} [[then]] [[text It is made.]]");
    let tab = trial.open_tab("/new")?;
    tab.click(&format!("label:has(@agent[value={}])", cli.name), "")?;
    tab.paste_text("@prompt", &prompt)?;
    tab.click("@start", "")?;
    tab.wait_for("@entry[data-kind=answer]", "I make a file.")?;
    tab.wait_for("@entry.asks", "echo hello > allowed.txt")?;
    ensure!(!made("allowed.txt"), "it ran before it was allowed");
    tab.click("@allow", "")?;
    tab.wait_until("the file", || Ok(made("allowed.txt").then_some(())))?;
    tab.wait_for("@entry.asks", "touch declined.txt")?;
    tab.click("@decline", "")?;
    tab.fill_field("@reason", "we do not need it")?;
    tab.click("@decline-send", "")?;
    tab.wait_for("@entry[data-kind=answer]", "It is made.")?;
    tab.wait_until_gone("@interrupt", "")?;
    ensure!(!made("declined.txt"), "it ran although it was declined");
    let asked = trial.stage.scripted_model().conversation_requests();
    let heard = asked.iter().any(|request| json!(request.body).to_string().contains("we do not need it"));
    ensure!(heard, "the model was not told why");
    Ok(())
}
