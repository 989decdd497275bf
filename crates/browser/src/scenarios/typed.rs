//! Without a mouse: every step by keys alone.

use anyhow::ensure;
use serde_json::json;
use thirtyfour::Key;

use super::begun::grows;
use crate::trial::Trial;

/// A session is begun, answered, interrupted, continued and found again, and the mouse is never touched.
pub fn everything(trial: &Trial) -> anyhow::Result<()> {
    let tab = trial.tab("/")?;
    tab.see("@empty", "")?;
    tab.press("?")?;
    tab.see("@dialog[open]", "new session")?;
    tab.key(&Key::Escape)?;
    tab.gone("@dialog[open]", "")?;
    tab.press("n")?;
    tab.see("@new-form", "")?;
    choose(&tab)?;
    tab.press("approve one\napprove two\nask Which? | red | blue\nburst 100000 at 200")?;
    tab.chord(&Key::Control, &Key::Enter)?;
    tab.see("@entry.asks:has([data-ready])", "one")?;
    tab.press("a")?;
    tab.see("@entry.asks:has([data-ready])", "two")?;
    tab.press("d")?;
    tab.see("@reason:focus", "")?;
    tab.press("not today")?;
    tab.key(&Key::Enter)?;
    tab.see("@ask[data-ready]", "Which?")?;
    tab.press("2")?;
    grows(&tab, 10)?;
    tab.press("x")?;
    tab.see("@entry[data-status=interrupted]", "")?;
    tab.gone("@interrupt", "")?;
    tab.press("i")?;
    tab.see("@follow-up:focus", "")?;
    tab.press("text by keys alone")?;
    tab.key(&Key::Enter)?;
    tab.see("@entry[data-kind=answer]", "by keys alone")?;
    tab.key(&Key::Escape)?;
    tab.press("gb")?;
    tab.see("@column[data-column=done] @card", "")?;
    tab.press("j")?;
    tab.see("@card-title:focus", "")?;
    tab.key(&Key::Enter)?;
    tab.see("@entry[data-kind=answer]", "by keys alone")?;
    records(trial, &tab)
}

/// Who begins to name a command of the agent is shown those that it has; choosing one does not send it.
pub fn command(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform_with("text ready", json!({ "stay": true }))?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry[data-kind=answer]", "ready")?;
    tab.press("i")?;
    tab.see("@follow-up:focus", "")?;
    tab.press("/")?;
    tab.see("@follow-up-option", "/compact")?;
    tab.press("ren")?;
    tab.gone("@follow-up-option", "/compact")?;
    tab.key(&Key::Down)?;
    tab.key(&Key::Enter)?;
    tab.until_js("the command", "return document.activeElement.value === '/rename '", &[])?;
    tab.press("by keys")?;
    tab.key(&Key::Enter)?;
    tab.until("another title", || Ok(tab.title()?.starts_with("by keys").then_some(())))
}

/// Goes with the keys to the built-in agent that performs scripts, and into the prompt.
fn choose(tab: &crate::tab::Tab) -> anyhow::Result<()> {
    tab.see("@prompt:focus", "")?;
    let shift_tab = || tab.chord(&Key::Shift, &Key::Tab);
    shift_tab()?;
    for _ in 0..8 {
        if tab.has("@agent:focus", "")? {
            break;
        }
        shift_tab()?;
    }
    tab.see("@agent:focus", "")?;
    for _ in 0..8 {
        if tab.has("@agent[value=script]:checked", "")? {
            break;
        }
        tab.key(&Key::Down)?;
    }
    tab.see("@agent[value=script]:checked", "")?;
    for _ in 0..8 {
        if tab.has("@prompt:focus", "")? {
            break;
        }
        tab.key(&Key::Tab)?;
    }
    tab.see("@prompt:focus", "")
}

/// An entry is gone to, and its native record looked at.
fn records(_: &Trial, tab: &crate::tab::Tab) -> anyhow::Result<()> {
    tab.press("k")?;
    tab.see("@entry:focus", "")?;
    tab.press("r")?;
    tab.see("@dialog[open] @raw-event", "")?;
    tab.key(&Key::Escape)?;
    tab.gone("@dialog[open]", "")?;
    let focused = tab.js("return document.activeElement.dataset.test", &[])?;
    ensure!(focused == "entry", "the focus went to {focused}");
    Ok(())
}
