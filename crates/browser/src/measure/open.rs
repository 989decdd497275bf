//! A session of 100,000 events: time until its end is on the screen, the first time and again.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::median;
use crate::{scenarios::long, tab::BrowserTab, trial::PageTrial};

/// Records when the end of the session is in the page.
const SESSION_END_OBSERVER_JS: &str = "new MutationObserver((_, watch) => { \
    if (![...document.querySelectorAll('[data-test=entry]')].some(it => it.textContent.includes('This is the very end'))) \
        return; \
    watch.disconnect(); requestAnimationFrame(() => window.__shown = performance.now()); \
    }).observe(document, {childList: true, subtree: true, characterData: true})";

/// Opens the session after a restart of the server, and then repeatedly.
pub fn measure_open(trial: &PageTrial, runs: u32) -> anyhow::Result<Value> {
    let id = trial.start_script(&long::long_script(1_600))?;
    let view = trial.api_client().wait_for_end(&id, Duration::from_secs(120))?;
    let tab = trial.open_tab("/")?;
    tab.send_cdp_command("Page.addScriptToEvaluateOnNewDocument", json!({ "source": SESSION_END_OBSERVER_JS }))?;
    trial.expect_console_error("ERR_");
    trial.server.borrow_mut().restart(&trial.stage)?;
    let first = time_opening(trial, &tab, &id)?;
    let again = (0..runs.max(1)).map(|_| time_opening(trial, &tab, &id)).collect::<anyhow::Result<Vec<_>>>();
    Ok(json!({ "session_events": view["events"], "first_ms": first, "again_ms": median(&mut again?),
        "elements": tab.count_elements("*")? }))
}

fn time_opening(trial: &PageTrial, tab: &BrowserTab, id: &str) -> anyhow::Result<f64> {
    trial.show_page(tab, &format!("/s/{id}"))?;
    tab.wait_until_js("the end of the session", "return window.__shown ?? null", &[])?.as_f64().context("no time")
}
