//! A session of a hundred thousand events: how long until its end is on the screen, for the first time and again.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::median;
use crate::{scenarios::long, tab::Tab, trial::Trial};

/// Notes when the end of the session is in the page.
const WATCH: &str = "new MutationObserver((_, watch) => { \
    if (![...document.querySelectorAll('[data-test=entry]')].some(it => it.textContent.includes('This is the very end'))) \
        return; \
    watch.disconnect(); requestAnimationFrame(() => window.__shown = performance.now()); \
    }).observe(document, {childList: true, subtree: true, characterData: true})";

/// Opens it: after a start of the server, and then again.
pub fn figures(trial: &Trial, runs: u32) -> anyhow::Result<Value> {
    let id = trial.perform(&long::script(1_600))?;
    let view = trial.api().ended(&id, Duration::from_secs(120))?;
    let tab = trial.tab("/")?;
    tab.command("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH }))?;
    trial.expects("ERR_");
    trial.server.borrow_mut().restart(&trial.stage)?;
    let first = opened(trial, &tab, &id)?;
    let again = (0..runs.max(1)).map(|_| opened(trial, &tab, &id)).collect::<anyhow::Result<Vec<_>>>();
    Ok(json!({ "session_events": view["events"], "first_ms": first, "again_ms": median(&mut again?),
        "elements": tab.count("*")? }))
}

fn opened(trial: &Trial, tab: &Tab, id: &str) -> anyhow::Result<f64> {
    trial.go(tab, &format!("/s/{id}"))?;
    tab.until_js("the end of the session", "return window.__shown ?? null", &[])?.as_f64().context("no time")
}
