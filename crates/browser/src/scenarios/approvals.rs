//! Requests of agents, answered in the page.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_testkit::clis::AGENT_CLIS;

use crate::scenario::PageTrial;

/// Returns the resolutions of all requests from the log.
fn request_resolutions(trial: &PageTrial, id: &str) -> anyhow::Result<Vec<Value>> {
    let page = trial.api_client().get(&format!("/api/sessions/{id}/events?dialect=events&limit=10000"))?;
    let events = page["events"].as_array().context("no events")?;
    let resolved = events.iter().filter(|event| event["kind"] == "request.resolved");
    Ok(resolved.map(|event| event["data"].clone()).collect())
}

/// Allows one request, declines one with a reason, answers one question by a choice and one with text. The page shows
/// exactly what would run, and the title counts the open requests.
pub fn answer_requests(trial: &PageTrial) -> anyhow::Result<()> {
    let script = "approve cargo test --workspace\napprove rm -rf build\nask Which colour? | red | blue\nask Which name?\n\
                  text All is answered";
    let id = trial.start_script(script)?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry.asks", "cargo test --workspace")?;
    ensure!(tab.page_title()?.starts_with("(1)"), "the title is {:?}", tab.page_title()?);
    tab.click("@allow", "")?;
    tab.wait_for("@entry[data-kind=command]", "pretending to run")?;
    tab.wait_for("@entry.asks", "rm -rf build")?;
    tab.click("@decline", "")?;
    tab.fill_field("@reason", "the build is still needed")?;
    tab.click("@decline-send", "")?;
    tab.wait_for("@ask", "Which colour?")?;
    tab.click("@choice", "blue")?;
    tab.wait_for("@ask", "Which name?")?;
    tab.fill_field("@own-answer", "Ada")?;
    tab.click("@answer", "")?;
    tab.wait_for("@entry[data-kind=answer]", "All is answered")?;
    tab.wait_until_gone("@ask", "")?;
    ensure!(!tab.page_title()?.starts_with('('), "the title is {:?}", tab.page_title()?);
    let resolutions = request_resolutions(trial, &id)?;
    let outcomes: Vec<_> =
        resolutions.iter().map(|resolved| resolved["outcome"].as_str().unwrap_or_default()).collect();
    ensure!(outcomes == ["allowed", "declined", "answered", "answered"], "{outcomes:?}");
    ensure!(resolutions.get(1).is_some_and(|no| no["message"] == "the build is still needed"), "{resolutions:?}");
    let answers: Vec<_> = resolutions.iter().skip(2).map(|resolved| resolved["answers"].clone()).collect();
    ensure!(answers == [json!({ "answer": ["blue"] }), json!({ "answer": ["Ada"] })], "{answers:?}");
    Ok(())
}

/// A file change is requested with its diff and can be allowed for the session.
pub fn approve_change(trial: &PageTrial) -> anyhow::Result<()> {
    let script = "approve-edit src/lib.rs => \"fn old() {}\\n\" => \"fn new() {}\\n\"\ntext It is changed";
    let id = trial.start_script(script)?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry .diff .del", "old")?;
    tab.wait_for("@entry .diff .add", "new")?;
    tab.click("@allow-session", "")?;
    tab.wait_for("@entry[data-kind=answer]", "It is changed")?;
    let resolutions = request_resolutions(trial, &id)?;
    ensure!(resolutions.first().is_some_and(|yes| yes["option"] == "acceptForSession"), "{resolutions:?}");
    Ok(())
}

/// The board shows the session in the waiting column, where it can be answered.
pub fn answer_on_board(trial: &PageTrial) -> anyhow::Result<()> {
    let tab = trial.open_tab("/")?;
    tab.wait_for("@empty", "")?;
    trial.start_script("approve make release\ntext It is released")?;
    tab.wait_for("@column[data-column=waiting] @card", "make release")?;
    ensure!(tab.page_title()?.starts_with("(1)"), "the title is {:?}", tab.page_title()?);
    tab.click("@card @allow", "")?;
    tab.wait_for("@column[data-column=done] @card", "make release")?;
    tab.wait_until("the title to count nothing", || Ok((!tab.page_title()?.starts_with('(')).then_some(())))
}

/// An answer in one tab reaches the other; a request answered through the API disappears from both.
pub fn answer_elsewhere(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("approve echo one\napprove echo two\ntext Both are answered")?;
    let (first, second) = (trial.open_tab(&format!("/s/{id}"))?, trial.open_tab(&format!("/s/{id}"))?);
    first.wait_for("@entry.asks", "echo one")?;
    second.wait_for("@entry.asks", "echo one")?;
    first.click("@allow", "")?;
    second.wait_for("@entry.asks", "echo two")?;
    ensure!(second.count_elements("@ask")? == 1, "what was answered is still asked");
    let approvals = trial.api_client().get(&format!("/api/sessions/{id}/approvals"))?;
    let request = approvals["approvals"][0]["id"].as_str().context("nothing is asked")?.to_owned();
    let decline = json!({ "decision": "decline" });
    trial.api_client().call("POST", &format!("/api/sessions/{id}/approvals/{request}"), Some(&decline))?;
    for tab in [&first, &second] {
        tab.wait_until_gone("@ask", "")?;
        tab.wait_for("@entry[data-kind=answer]", "Both are answered")?;
    }
    Ok(())
}

/// A key that is held down answers once.
pub fn hold_key_down(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("approve make one\napprove rm -rf two\napprove make three\ntext fin")?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry.asks:has([data-ready])", "make one")?;
    tab.send_key_down('a', false)?;
    tab.wait_until("the next to be ready", || {
        tab.send_key_down('a', true)?;
        Ok(tab.is_shown("@entry.asks:has([data-ready])", "rm -rf two")?.then_some(()))
    })?;
    for _ in 0..20 {
        tab.send_key_down('a', true)?;
    }
    // A new key press counts. If the held key had answered, this would be the third answer.
    tab.send_key_down('a', false)?;
    tab.wait_for("@entry.asks:has([data-ready])", "make three")?;
    let resolutions = request_resolutions(trial, &id)?;
    ensure!(resolutions.len() == 2, "a held key answered: {resolutions:?}");
    Ok(())
}

/// While a reason is being typed and the request is answered elsewhere, the remaining letters do not answer the next
/// request.
pub fn type_while_answered(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("approve make one\napprove rm -rf two\ntext fin")?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry.asks:has([data-ready])", "make one")?;
    tab.press_keys("d")?;
    tab.wait_for("@reason:focus", "")?;
    tab.press_keys("this is not ")?;
    let approvals = trial.api_client().get(&format!("/api/sessions/{id}/approvals"))?;
    let request = approvals["approvals"][0]["id"].as_str().context("nothing is asked")?.to_owned();
    let accept = json!({ "decision": "accept" });
    trial.api_client().call("POST", &format!("/api/sessions/{id}/approvals/{request}"), Some(&accept))?;
    tab.wait_for("@entry.asks", "rm -rf two")?;
    tab.press_keys("what was asked as a start")?;
    tab.wait_for("@entry.asks:has([data-ready])", "rm -rf two")?;
    let resolutions = request_resolutions(trial, &id)?;
    ensure!(resolutions.len() == 1, "letters answered what they were not meant for: {resolutions:?}");
    Ok(())
}

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
    let requests = trial.stage.scripted_model().conversation_requests();
    let is_known = requests.iter().any(|request| json!(request.body).to_string().contains("we do not need it"));
    ensure!(is_known, "the model was not told why");
    Ok(())
}
