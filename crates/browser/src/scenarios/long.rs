//! A session of a hundred thousand events: it opens at its end, scrolls freely, and never fills the page.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::{tab::Tab, trial::Trial};

/// Elements that the page may have, whatever it shows.
const MOST: u64 = 4_000;

/// A script of so many rounds, about 70 events each.
pub fn script(rounds: u32) -> String {
    let round = |n: u32| format!("text Round {n} begins\nburst 60\nrun step {n}\n");
    (1..=rounds).map(round).collect::<String>() + "text This is the very end"
}

/// What the first row shows that is wholly on the screen.
fn seen(tab: &Tab) -> anyhow::Result<String> {
    let script = "const box = document.querySelector('[data-test=entries]').getBoundingClientRect(); \
                  return [...document.querySelectorAll('[data-test=entry]')].filter(it => { \
                      const at = it.getBoundingClientRect(); return at.bottom > box.top && at.top < box.bottom; \
                  }).map(it => it.textContent).join('\\n')";
    Ok(tab.js(script, &[])?.as_str().unwrap_or_default().to_owned())
}

fn is_small(tab: &Tab) -> anyhow::Result<()> {
    let count = tab.count("*")?;
    ensure!(count < MOST, "the page has {count} elements");
    Ok(())
}

/// Opens, scrolls to the beginning, to the middle and back.
pub fn session(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform(&script(1_600))?;
    let view = trial.api().ended(&id, Duration::from_secs(120))?;
    ensure!(view["events"].as_u64() >= Some(100_000), "there are only {} events", view["events"]);
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry[data-kind=answer]", "This is the very end")?;
    is_small(&tab)?;
    tab.press("gg")?;
    tab.until("the beginning", || Ok(seen(&tab)?.contains("Round 1 begins").then_some(())))?;
    is_small(&tab)?;
    let halfway = "const it = document.querySelector('[data-test=entries]'); it.scrollTop = it.scrollHeight / 2";
    tab.js(halfway, &[])?;
    let middle = tab.until("the middle", || {
        let text = seen(&tab)?;
        let round = text.split("Round ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
        Ok(round.filter(|round| (300..1_300).contains(round)))
    })?;
    is_small(&tab)?;
    let next = format!("step {middle}");
    tab.until(&next, || Ok(seen(&tab)?.contains(&next).then_some(())))?;
    wheel(&tab)?;
    tab.click("@latest", "")?;
    tab.until("the end", || Ok(seen(&tab)?.contains("This is the very end").then_some(())))?;
    is_small(&tab)
}

/// Turning the wheel moves what is read by that much, and shows what is there: no hole stays.
fn wheel(tab: &Tab) -> anyhow::Result<()> {
    for _ in 0..10 {
        let turn = json!({ "type": "mouseWheel", "x": 400, "y": 400, "deltaX": 0, "deltaY": -900 });
        tab.command("Input.dispatchMouseEvent", turn)?;
    }
    tab.until("rows where the reader is", || Ok(seen(tab)?.contains("Round ").then_some(())))
}
