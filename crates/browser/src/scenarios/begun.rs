//! Beginning a session in the page, watching it, stopping it, going on with it.

use anyhow::ensure;
use serde_json::json;

use crate::{tab::Tab, trial::Trial};

/// All of an answer that is a burst of so many pieces.
pub fn counted(pieces: u32) -> String {
    (1..=pieces).map(|piece| piece.to_string()).collect::<Vec<_>>().join(" ")
}

/// How much of the answer is shown now.
pub fn length(tab: &Tab) -> anyhow::Result<u64> {
    let script = "return [...document.querySelectorAll('[data-test=entry][data-kind=answer] [data-test=entry-body]')]\
                  .reduce((sum, it) => sum + it.textContent.length, 0)";
    Ok(tab.js(script, &[])?.as_u64().unwrap_or(0))
}

/// Waits until there is more of the answer than there was.
pub fn grows(tab: &Tab, than: u64) -> anyhow::Result<u64> {
    tab.until("more of the answer", || Ok(Some(length(tab)?).filter(|now| *now > than)))
}

/// Waits until the answer is this text, each piece once and in order.
pub fn says(tab: &Tab, whole: &str) -> anyhow::Result<()> {
    let mut last = String::new();
    let seen = tab.until("the whole answer", || {
        last = tab.texts("@entry[data-kind=answer] @entry-body")?.join("\n");
        Ok((last.trim() == whole).then_some(()))
    });
    seen.map_err(|error| error.context(format!("the answer ends with {:?}", tail(&last))))
}

fn tail(text: &str) -> &str {
    (text.len().saturating_sub(80)..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// A person chooses an agent, writes what it shall do, and watches it do so; the choice is remembered.
pub fn begun(trial: &Trial) -> anyhow::Result<()> {
    let tab = trial.tab("/new")?;
    tab.see("@new-form", "")?;
    tab.click("label:has(@agent[value=script])", "")?;
    tab.fill("@prompt", "text Hello from the page\nrun echo hi\nburst 400 at 200")?;
    tab.click("@start", "")?;
    tab.until("the session's address", || Ok(Some(tab.address()?).filter(|address| address.contains("/s/"))))?;
    tab.see("@entry[data-kind=answer]", "Hello from the page")?;
    tab.see("@entry[data-kind=command]", "echo hi")?;
    let now = grows(&tab, 30)?;
    ensure!(tab.has("@interrupt", "")?, "it cannot be interrupted while it runs");
    grows(&tab, now)?;
    tab.see("@entry[data-kind=answer]", &counted(400))?;
    tab.gone("@interrupt", "")?;
    tab.click("@nav-board", "")?;
    tab.see("@column[data-column=done] @card", "Hello from the page")?;
    trial.go(&tab, "/new")?;
    tab.see("@agent[value=script]:checked", "")
}

/// A turn is interrupted, and a follow-up goes on in the same session.
pub fn interrupted(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("burst 100000 at 200")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    grows(&tab, 10)?;
    tab.click("@interrupt", "")?;
    tab.see("@entry[data-status=interrupted]", "")?;
    trial.api().ended(&id, std::time::Duration::from_secs(10))?;
    tab.gone("@interrupt", "")?;
    tab.fill("@follow-up", "text Here I am again")?;
    tab.click("@send", "")?;
    tab.see("@entry[data-kind=answer]", "Here I am again")?;
    let view = trial.api().get(&format!("/api/sessions/{id}"))?;
    ensure!(view["runs"] == 2, "it was not continued: {view}");
    Ok(())
}

/// A follow-up while the agent works waits for the turn, and is then done.
pub fn queued(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("burst 200 at 100\ntext The first is over")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    grows(&tab, 10)?;
    tab.fill("@follow-up", "text The second is over")?;
    tab.click("@send", "")?;
    tab.see("@entry[data-kind=answer]", "The first is over")?;
    tab.see("@entry[data-kind=answer]", "The second is over")
}

/// The whole session is ended; another is copied from it, archived, deleted.
pub fn ended(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform_with("text Ready\nburst 100000 at 100", json!({ "stay": true }))?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    grows(&tab, 10)?;
    tab.click("@cancel", "")?;
    let view = trial.api().ended(&id, std::time::Duration::from_secs(10))?;
    ensure!(view["state"] == "cancelled", "{view}");
    tab.gone("@cancel", "")?;
    tab.click("@menu summary", "")?;
    tab.click("@fork", "")?;
    tab.fill("@fork-prompt", "text A copy speaks")?;
    tab.click("@fork-start", "")?;
    tab.see("@entry[data-kind=answer]", "A copy speaks")?;
    ensure!(!tab.address()?.contains(&id), "it is the same session");
    tab.click("@menu summary", "")?;
    tab.click("@delete", "")?;
    tab.click("@delete-sure", "")?;
    tab.see("@column[data-column=failed] @card", "")?;
    tab.gone("@card", "A copy")?;
    tab.point_at("@column[data-column=failed] @card")?;
    tab.click("@column[data-column=failed] @card-archive", "")?;
    tab.gone("@card", "")?;
    // What was put away is found, and put back.
    tab.choose("@filter-archived", "Archived")?;
    tab.see("@card", "archived")?;
    tab.click("@card-title", "")?;
    tab.click("@menu summary", "")?;
    tab.click("@archive", "Put back on the board")?;
    tab.click("@menu summary", "")?;
    tab.see("@archive", "Archive")?;
    tab.click("@archive", "Archive")?;
    tab.choose("@filter-archived", "Archived")?;
    tab.point_at("@card")?;
    tab.click("@card-archive", "")?;
    tab.gone("@card", "")?;
    tab.choose("@filter-archived", "Not archived")?;
    tab.see("@column[data-column=failed] @card", "")
}
