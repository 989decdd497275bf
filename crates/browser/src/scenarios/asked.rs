//! What agents ask, and the answers that people give in the page.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::trial::Trial;

/// The answers to all requests, as the log has them.
fn resolutions(trial: &Trial, id: &str) -> anyhow::Result<Vec<Value>> {
    let page = trial.api().get(&format!("/api/sessions/{id}/events?dialect=events&limit=10000"))?;
    let events = page["events"].as_array().context("no events")?;
    let resolved = events.iter().filter(|event| event["kind"] == "request.resolved");
    Ok(resolved.map(|event| event["data"].clone()).collect())
}

/// One is allowed, one declined with a reason, a question answered by a choice and one in own words; what exactly would
/// run is shown, and the title counts what waits.
pub fn answered(trial: &Trial) -> anyhow::Result<()> {
    let script = "approve cargo test --workspace\napprove rm -rf build\nask Which colour? | red | blue\nask Which name?\n\
                  text All is answered";
    let id = trial.perform(script)?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry.asks", "cargo test --workspace")?;
    ensure!(tab.title()?.starts_with("(1)"), "the title is {:?}", tab.title()?);
    tab.click("@allow", "")?;
    tab.see("@entry[data-kind=command]", "pretending to run")?;
    tab.see("@entry.asks", "rm -rf build")?;
    tab.click("@decline", "")?;
    tab.fill("@reason", "the build is still needed")?;
    tab.click("@decline-send", "")?;
    tab.see("@ask", "Which colour?")?;
    tab.click("@choice", "blue")?;
    tab.see("@ask", "Which name?")?;
    tab.fill("@own-answer", "Ada")?;
    tab.click("@answer", "")?;
    tab.see("@entry[data-kind=answer]", "All is answered")?;
    tab.gone("@ask", "")?;
    ensure!(!tab.title()?.starts_with('('), "the title is {:?}", tab.title()?);
    let told = resolutions(trial, &id)?;
    let outcomes: Vec<_> = told.iter().map(|resolved| resolved["outcome"].as_str().unwrap_or_default()).collect();
    ensure!(outcomes == ["allowed", "declined", "answered", "answered"], "{outcomes:?}");
    ensure!(told.get(1).is_some_and(|no| no["message"] == "the build is still needed"), "{told:?}");
    let answers: Vec<_> = told.iter().skip(2).map(|resolved| resolved["answers"].clone()).collect();
    ensure!(answers == [json!({ "answer": ["blue"] }), json!({ "answer": ["Ada"] })], "{answers:?}");
    Ok(())
}

/// A change of a file is asked for with its diff, and can be allowed for the session.
pub fn change(trial: &Trial) -> anyhow::Result<()> {
    let script = "approve-edit src/lib.rs => \"fn old() {}\\n\" => \"fn new() {}\\n\"\ntext It is changed";
    let id = trial.perform(script)?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry .diff .del", "old")?;
    tab.see("@entry .diff .add", "new")?;
    tab.click("@allow-session", "")?;
    tab.see("@entry[data-kind=answer]", "It is changed")?;
    let told = resolutions(trial, &id)?;
    ensure!(told.first().is_some_and(|yes| yes["option"] == "acceptForSession"), "{told:?}");
    Ok(())
}

/// The board has it in the column that needs somebody, and it can be answered there.
pub fn on_the_board(trial: &Trial) -> anyhow::Result<()> {
    let tab = trial.tab("/")?;
    tab.see("@empty", "")?;
    trial.perform("approve make release\ntext It is released")?;
    tab.see("@column[data-column=waiting] @card", "make release")?;
    ensure!(tab.title()?.starts_with("(1)"), "the title is {:?}", tab.title()?);
    tab.click("@card @allow", "")?;
    tab.see("@column[data-column=done] @card", "make release")?;
    tab.until("the title to count nothing", || Ok((!tab.title()?.starts_with('(')).then_some(())))
}

/// What one tab answers, another sees; what is answered elsewhere is asked nowhere any more.
pub fn elsewhere(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("approve echo one\napprove echo two\ntext Both are answered")?;
    let (first, second) = (trial.tab(&format!("/s/{id}"))?, trial.tab(&format!("/s/{id}"))?);
    first.see("@entry.asks", "echo one")?;
    second.see("@entry.asks", "echo one")?;
    first.click("@allow", "")?;
    second.see("@entry.asks", "echo two")?;
    ensure!(second.count("@ask")? == 1, "what was answered is still asked");
    let approvals = trial.api().get(&format!("/api/sessions/{id}/approvals"))?;
    let request = approvals["approvals"][0]["id"].as_str().context("nothing is asked")?.to_owned();
    let decline = json!({ "decision": "decline" });
    trial.api().call("POST", &format!("/api/sessions/{id}/approvals/{request}"), Some(&decline))?;
    for tab in [&first, &second] {
        tab.gone("@ask", "")?;
        tab.see("@entry[data-kind=answer]", "Both are answered")?;
    }
    Ok(())
}

/// A key that is held down answers once, however long it is held.
pub fn held_down(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("approve make one\napprove rm -rf two\napprove make three\ntext fin")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry.asks:has([data-ready])", "make one")?;
    tab.hold('a', false)?;
    tab.until("the next to be ready", || {
        tab.hold('a', true)?;
        Ok(tab.has("@entry.asks:has([data-ready])", "rm -rf two")?.then_some(()))
    })?;
    for _ in 0..20 {
        tab.hold('a', true)?;
    }
    // One that is pressed anew is meant; had the held one answered, this would be the third answer.
    tab.hold('a', false)?;
    tab.see("@entry.asks:has([data-ready])", "make three")?;
    let told = resolutions(trial, &id)?;
    ensure!(told.len() == 2, "a held key answered: {told:?}");
    Ok(())
}

/// Who writes a reason while the request is answered elsewhere does not answer the next one with the letters that follow.
pub fn half_typed(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("approve make one\napprove rm -rf two\ntext fin")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry.asks:has([data-ready])", "make one")?;
    tab.press("d")?;
    tab.see("@reason:focus", "")?;
    tab.press("this is not ")?;
    let approvals = trial.api().get(&format!("/api/sessions/{id}/approvals"))?;
    let request = approvals["approvals"][0]["id"].as_str().context("nothing is asked")?.to_owned();
    let accept = json!({ "decision": "accept" });
    trial.api().call("POST", &format!("/api/sessions/{id}/approvals/{request}"), Some(&accept))?;
    tab.see("@entry.asks", "rm -rf two")?;
    tab.press("what was asked as a start")?;
    tab.see("@entry.asks:has([data-ready])", "rm -rf two")?;
    let told = resolutions(trial, &id)?;
    ensure!(told.len() == 1, "letters answered what they were not meant for: {told:?}");
    Ok(())
}
