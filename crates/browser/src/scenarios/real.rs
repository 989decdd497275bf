//! A real agent with a scripted model: what it asks is allowed in the page, and the file appears.

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_testkit::clis::CLIS;

use crate::trial::Trial;

/// The first agent of the table asks to run two commands: one is allowed, one is not.
pub fn asks(trial: &Trial) -> anyhow::Result<()> {
    let cli = CLIS.first().context("there are no agents")?;
    let made = |name: &str| trial.stage.project().join(name).exists();
    let (yes, no) = (cli.shell("echo hello > allowed.txt"), cli.shell("touch declined.txt"));
    let prompt = format!("[[text I make a file.]] {yes} [[then]] {no} [[then]] [[text It is made.]]");
    let tab = trial.tab("/new")?;
    tab.click(&format!("label:has(@agent[value={}])", cli.name), "")?;
    tab.paste("@prompt", &prompt)?;
    tab.click("@start", "")?;
    tab.see("@entry[data-kind=answer]", "I make a file.")?;
    tab.see("@entry.asks", "echo hello > allowed.txt")?;
    ensure!(!made("allowed.txt"), "it ran before it was allowed");
    tab.click("@allow", "")?;
    tab.until("the file", || Ok(made("allowed.txt").then_some(())))?;
    tab.see("@entry.asks", "touch declined.txt")?;
    tab.click("@decline", "")?;
    tab.fill("@reason", "we do not need it")?;
    tab.click("@decline-send", "")?;
    tab.see("@entry[data-kind=answer]", "It is made.")?;
    tab.gone("@interrupt", "")?;
    ensure!(!made("declined.txt"), "it ran although it was declined");
    let asked = trial.stage.model().conversation();
    let heard = asked.iter().any(|request| json!(request.body).to_string().contains("we do not need it"));
    ensure!(heard, "the model was not told why");
    Ok(())
}
