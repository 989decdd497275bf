//! Everything with the keyboard, without a mouse.

use anyhow::ensure;
use serde_json::json;
use thirtyfour::Key;

use super::begun::wait_for_growth;
use crate::trial::PageTrial;

/// Starts, answers, interrupts, continues and finds a session without the mouse.
pub fn use_keyboard_only(trial: &PageTrial) -> anyhow::Result<()> {
    let tab = trial.open_tab("/")?;
    tab.wait_for("@empty", "")?;
    tab.press_keys("?")?;
    tab.wait_for("@dialog[open]", "new session")?;
    tab.press_key(&Key::Escape)?;
    tab.wait_until_gone("@dialog[open]", "")?;
    tab.press_keys("n")?;
    tab.wait_for("@new-form", "")?;
    choose_agent_by_keys(&tab)?;
    tab.press_keys("approve one\napprove two\nask Which? | red | blue\nburst 100000 at 200")?;
    tab.press_chord(&Key::Control, &Key::Enter)?;
    tab.wait_for("@entry.asks:has([data-ready])", "one")?;
    tab.press_keys("a")?;
    tab.wait_for("@entry.asks:has([data-ready])", "two")?;
    tab.press_keys("d")?;
    tab.wait_for("@reason:focus", "")?;
    tab.press_keys("not today")?;
    tab.press_key(&Key::Enter)?;
    tab.wait_for("@ask[data-ready]", "Which?")?;
    tab.press_keys("2")?;
    wait_for_growth(&tab, 10)?;
    tab.press_keys("x")?;
    tab.wait_for("@entry[data-status=interrupted]", "")?;
    tab.wait_until_gone("@interrupt", "")?;
    tab.press_keys("i")?;
    tab.wait_for("@follow-up:focus", "")?;
    tab.press_keys("text by keys alone")?;
    tab.press_key(&Key::Enter)?;
    tab.wait_for("@entry[data-kind=answer]", "by keys alone")?;
    tab.press_key(&Key::Escape)?;
    tab.press_keys("gb")?;
    tab.wait_for("@column[data-column=done] @card", "")?;
    tab.press_keys("j")?;
    tab.wait_for("@card-title:focus", "")?;
    tab.press_key(&Key::Enter)?;
    tab.wait_for("@entry[data-kind=answer]", "by keys alone")?;
    open_native_record(trial, &tab)
}

/// Typing a slash offers the agent's commands; choosing one does not send it.
pub fn complete_command(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script_with("text ready", json!({ "stay": true }))?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry[data-kind=answer]", "ready")?;
    tab.press_keys("i")?;
    tab.wait_for("@follow-up:focus", "")?;
    tab.press_keys("/")?;
    tab.wait_for("@follow-up-option", "/compact")?;
    tab.press_keys("ren")?;
    tab.wait_until_gone("@follow-up-option", "/compact")?;
    tab.press_key(&Key::Down)?;
    tab.press_key(&Key::Enter)?;
    tab.wait_until_js("the command", "return document.activeElement.value === '/rename '", &[])?;
    tab.press_keys("by keys")?;
    tab.press_key(&Key::Enter)?;
    tab.wait_until("another title", || Ok(tab.page_title()?.starts_with("by keys").then_some(())))
}

/// Selects the built-in script agent with keys and moves to the prompt.
fn choose_agent_by_keys(tab: &crate::tab::BrowserTab) -> anyhow::Result<()> {
    tab.wait_for("@prompt:focus", "")?;
    let shift_tab = || tab.press_chord(&Key::Shift, &Key::Tab);
    shift_tab()?;
    for _ in 0..8 {
        if tab.is_shown("@agent:focus", "")? {
            break;
        }
        shift_tab()?;
    }
    tab.wait_for("@agent:focus", "")?;
    for _ in 0..8 {
        if tab.is_shown("@agent[value=script]:checked", "")? {
            break;
        }
        tab.press_key(&Key::Down)?;
    }
    tab.wait_for("@agent[value=script]:checked", "")?;
    for _ in 0..8 {
        if tab.is_shown("@prompt:focus", "")? {
            break;
        }
        tab.press_key(&Key::Tab)?;
    }
    tab.wait_for("@prompt:focus", "")
}

/// Focuses an entry and opens its native record.
fn open_native_record(_: &PageTrial, tab: &crate::tab::BrowserTab) -> anyhow::Result<()> {
    tab.press_keys("k")?;
    tab.wait_for("@entry:focus", "")?;
    tab.press_keys("r")?;
    tab.wait_for("@dialog[open] @raw-event", "")?;
    tab.press_key(&Key::Escape)?;
    tab.wait_until_gone("@dialog[open]", "")?;
    let focused = tab.run_js("return document.activeElement.dataset.test", &[])?;
    ensure!(focused == "entry", "the focus went to {focused}");
    Ok(())
}
