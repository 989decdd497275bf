//! Starting sessions, steering them, and the keyboard.

use anyhow::ensure;
use serde_json::json;
use thirtyfour::Key;

use crate::scenario::PageTrial;
use crate::tab::BrowserTab;

/// Returns the whole answer of a burst of `pieces` pieces.
pub fn counted_answer(pieces: u32) -> String {
    (1..=pieces).map(|piece| piece.to_string()).collect::<Vec<_>>().join(" ")
}

/// Returns the length of the answer that is shown.
fn answer_length(tab: &BrowserTab) -> anyhow::Result<u64> {
    let script = "return [...document.querySelectorAll('[data-test=entry][data-kind=answer] [data-test=entry-body]')]\
                  .reduce((sum, it) => sum + it.textContent.length, 0)";
    Ok(tab.run_js(script, &[])?.as_u64().unwrap_or(0))
}

/// Waits until more of the answer is shown.
pub fn wait_for_growth(tab: &BrowserTab, than: u64) -> anyhow::Result<u64> {
    tab.wait_until("more of the answer", || Ok(Some(answer_length(tab)?).filter(|now| *now > than)))
}

/// Waits until the answer is exactly this text, each piece once and in order.
pub fn wait_for_answer(tab: &BrowserTab, whole: &str) -> anyhow::Result<()> {
    let mut last = String::new();
    let seen = tab.wait_until("the whole answer", || {
        last = tab.texts_of("@entry[data-kind=answer] @entry-body")?.join("\n");
        Ok((last.trim() == whole).then_some(()))
    });
    seen.map_err(|error| error.context(format!("the answer ends with {:?}", text_tail(&last))))
}

fn text_tail(text: &str) -> &str {
    (text.len().saturating_sub(80)..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// Chooses an agent, enters a prompt and watches the session; the choice of agent is remembered.
pub fn start_session(trial: &PageTrial) -> anyhow::Result<()> {
    let tab = trial.open_tab("/new")?;
    tab.wait_for("@new-form", "")?;
    tab.click("label:has(@agent[value=script])", "")?;
    tab.fill_field("@prompt", "text Hello from the page\nrun echo hi\nburst 400 at 200")?;
    tab.click("@start", "")?;
    tab.wait_until("the session's address", || Ok(Some(tab.current_url()?).filter(|address| address.contains("/s/"))))?;
    tab.wait_for("@entry[data-kind=answer]", "Hello from the page")?;
    tab.wait_for("@entry[data-kind=command]", "echo hi")?;
    let now = wait_for_growth(&tab, 30)?;
    ensure!(tab.is_shown("@interrupt", "")?, "it cannot be interrupted while it runs");
    wait_for_growth(&tab, now)?;
    tab.wait_for("@entry[data-kind=answer]", &counted_answer(400))?;
    tab.wait_until_gone("@interrupt", "")?;
    tab.click("@nav-board", "")?;
    tab.wait_for("@column[data-column=done] @card", "Hello from the page")?;
    trial.show_page(&tab, "/new")?;
    tab.wait_for("@agent[value=script]:checked", "")
}

/// Interrupts a turn and continues in the same session.
pub fn interrupt_turn(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("burst 100000 at 200")?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    wait_for_growth(&tab, 10)?;
    tab.click("@interrupt", "")?;
    tab.wait_for("@entry[data-status=interrupted]", "")?;
    trial.api_client().wait_for_end(&id, std::time::Duration::from_secs(10))?;
    tab.wait_until_gone("@interrupt", "")?;
    tab.fill_field("@follow-up", "text Here I am again")?;
    tab.click("@send", "")?;
    tab.wait_for("@entry[data-kind=answer]", "Here I am again")?;
    let view = trial.api_client().get(&format!("/api/sessions/{id}"))?;
    ensure!(view["runs"] == 2, "it was not continued: {view}");
    Ok(())
}

/// A follow-up sent during a turn waits for the turn and then runs.
pub fn queue_follow_up(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("burst 200 at 100\ntext The first is over")?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    wait_for_growth(&tab, 10)?;
    tab.fill_field("@follow-up", "text The second is over")?;
    tab.click("@send", "")?;
    tab.wait_for("@entry[data-kind=answer]", "The first is over")?;
    tab.wait_for("@entry[data-kind=answer]", "The second is over")
}

/// Ends a session, then forks, deletes and archives.
pub fn end_session(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script_with("text Ready\nburst 100000 at 100", json!({ "stay": true }))?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    wait_for_growth(&tab, 10)?;
    tab.click("@cancel", "")?;
    let view = trial.api_client().wait_for_end(&id, std::time::Duration::from_secs(10))?;
    ensure!(view["state"] == "cancelled", "{view}");
    tab.wait_until_gone("@cancel", "")?;
    tab.click("@menu summary", "")?;
    tab.click("@fork", "")?;
    tab.fill_field("@fork-prompt", "text A copy speaks")?;
    tab.click("@fork-start", "")?;
    tab.wait_for("@entry[data-kind=answer]", "A copy speaks")?;
    ensure!(!tab.current_url()?.contains(&id), "it is the same session");
    tab.click("@menu summary", "")?;
    tab.click("@delete", "")?;
    tab.click("@delete-sure", "")?;
    tab.wait_for("@column[data-column=failed] @card", "")?;
    tab.wait_until_gone("@card", "A copy")?;
    tab.hover_over("@column[data-column=failed] @card")?;
    tab.click("@column[data-column=failed] @card-archive", "")?;
    tab.wait_until_gone("@card", "")?;
    // An archived session can be found and restored.
    tab.choose_option("@filter-archived", "Archived")?;
    tab.wait_for("@card", "archived")?;
    tab.click("@card-title", "")?;
    tab.click("@menu summary", "")?;
    tab.click("@archive", "Put back on the board")?;
    tab.click("@menu summary", "")?;
    tab.wait_for("@archive", "Archive")?;
    tab.click("@archive", "Archive")?;
    tab.choose_option("@filter-archived", "Archived")?;
    tab.hover_over("@card")?;
    tab.click("@card-archive", "")?;
    tab.wait_until_gone("@card", "")?;
    tab.choose_option("@filter-archived", "Not archived")?;
    tab.wait_for("@column[data-column=failed] @card", "")
}

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
fn choose_agent_by_keys(tab: &BrowserTab) -> anyhow::Result<()> {
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
fn open_native_record(_: &PageTrial, tab: &BrowserTab) -> anyhow::Result<()> {
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
