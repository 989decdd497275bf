//! A session of 100,000 events: it opens at its end, scrolls freely, and keeps the page small.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::{tab::BrowserTab, trial::PageTrial};

/// Maximum number of elements on the page.
const MAX_PAGE_ELEMENTS: u64 = 4_000;

/// A script of `rounds` rounds, about 70 events each.
pub fn long_script(rounds: u32) -> String {
    let round = |n: u32| format!("text Round {n} begins\nburst 60\nrun step {n}\n");
    (1..=rounds).map(round).collect::<String>() + "text This is the very end"
}

/// Returns the text of the entries on the screen.
fn visible_text(tab: &BrowserTab) -> anyhow::Result<String> {
    let script = "const box = document.querySelector('[data-test=entries]').getBoundingClientRect(); \
                  return [...document.querySelectorAll('[data-test=entry]')].filter(it => { \
                      const at = it.getBoundingClientRect(); return at.bottom > box.top && at.top < box.bottom; \
                  }).map(it => it.textContent).join('\\n')";
    Ok(tab.run_js(script, &[])?.as_str().unwrap_or_default().to_owned())
}

fn check_element_count(tab: &BrowserTab) -> anyhow::Result<()> {
    let count = tab.count_elements("*")?;
    ensure!(count < MAX_PAGE_ELEMENTS, "the page has {count} elements");
    Ok(())
}

/// Opens a long session and scrolls to its beginning, to its middle and back.
pub fn scroll_long_session(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script(&long_script(1_600))?;
    let view = trial.api_client().wait_for_end(&id, Duration::from_secs(120))?;
    ensure!(view["events"].as_u64() >= Some(100_000), "there are only {} events", view["events"]);
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry[data-kind=answer]", "This is the very end")?;
    check_element_count(&tab)?;
    tab.press_keys("gg")?;
    tab.wait_until("the beginning", || Ok(visible_text(&tab)?.contains("Round 1 begins").then_some(())))?;
    check_element_count(&tab)?;
    let halfway = "const it = document.querySelector('[data-test=entries]'); it.scrollTop = it.scrollHeight / 2";
    tab.run_js(halfway, &[])?;
    let middle = tab.wait_until("the middle", || {
        let text = visible_text(&tab)?;
        let round = text.split("Round ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
        Ok(round.filter(|round| (300..1_300).contains(round)))
    })?;
    check_element_count(&tab)?;
    let next = format!("step {middle}");
    tab.wait_until(&next, || Ok(visible_text(&tab)?.contains(&next).then_some(())))?;
    scroll_by_wheel(&tab)?;
    tab.click("@latest", "")?;
    tab.wait_until("the end", || Ok(visible_text(&tab)?.contains("This is the very end").then_some(())))?;
    check_element_count(&tab)
}

/// The mouse wheel scrolls by its distance, and the rows there are rendered.
fn scroll_by_wheel(tab: &BrowserTab) -> anyhow::Result<()> {
    for _ in 0..10 {
        let turn = json!({ "type": "mouseWheel", "x": 400, "y": 400, "deltaX": 0, "deltaY": -900 });
        tab.send_cdp_command("Input.dispatchMouseEvent", turn)?;
    }
    tab.wait_until("rows where the reader is", || Ok(visible_text(tab)?.contains("Round ").then_some(())))
}
