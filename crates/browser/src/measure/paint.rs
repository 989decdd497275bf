//! The page without content: what it weighs, and when it is painted first, by Chromium's own clock.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::median;
use crate::trial::Trial;

/// What was loaded that is no content, and when something was painted first.
const LOADED: &str = "const own = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]\
    .filter(it => !new URL(it.name).pathname.startsWith('/api/')); \
    return { bytes: own.reduce((sum, it) => sum + it.decodedBodySize, 0), files: own.length, \
        paint: performance.getEntriesByName('first-paint')[0]?.startTime, \
        content: performance.getEntriesByName('first-contentful-paint')[0]?.startTime }";

/// Loads the page again and again, with nothing kept from the time before.
pub fn figures(trial: &Trial, runs: u32) -> anyhow::Result<Value> {
    trial.perform("text A card to show")?;
    let tab = trial.tab("/")?;
    tab.command("Network.enable", json!({}))?;
    tab.command("Network.setCacheDisabled", json!({ "cacheDisabled": true }))?;
    let (mut first, mut content, mut weight) = (Vec::new(), Vec::new(), Value::Null);
    for _ in 0..runs.max(1) {
        trial.go(&tab, "/")?;
        tab.see("@card", "")?;
        let painted = || {
            let loaded = tab.js(LOADED, &[])?;
            Ok(Some(loaded).filter(|loaded| loaded["content"].is_number()))
        };
        let loaded = tab.until("the first paint", painted)?;
        first.push(loaded["paint"].as_f64().context("no paint")?);
        content.push(loaded["content"].as_f64().context("no paint")?);
        weight = loaded;
    }
    let most = content.iter().copied().fold(0.0, f64::max);
    Ok(json!({ "bytes": weight["bytes"], "files": weight["files"], "first_paint_ms": median(&mut first),
        "content_paint_ms": median(&mut content), "content_paint_most_ms": most }))
}
