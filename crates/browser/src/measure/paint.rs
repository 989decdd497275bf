//! The page without content: its weight and its first paint, by Chromium's own clock.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::median;
use crate::trial::PageTrial;

/// Returns size and number of the loaded files that are not content, and the paint times.
const PAINT_TIMING_JS: &str = "const own = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]\
    .filter(it => !new URL(it.name).pathname.startsWith('/api/')); \
    return { bytes: own.reduce((sum, it) => sum + it.decodedBodySize, 0), files: own.length, \
        paint: performance.getEntriesByName('first-paint')[0]?.startTime, \
        content: performance.getEntriesByName('first-contentful-paint')[0]?.startTime }";

/// Loads the page repeatedly with the cache disabled.
pub fn measure_paint(trial: &PageTrial, runs: u32) -> anyhow::Result<Value> {
    trial.start_script("text A card to show")?;
    let tab = trial.open_tab("/")?;
    tab.send_cdp_command("Network.enable", json!({}))?;
    tab.send_cdp_command("Network.setCacheDisabled", json!({ "cacheDisabled": true }))?;
    let (mut first, mut content, mut weight) = (Vec::new(), Vec::new(), Value::Null);
    for _ in 0..runs.max(1) {
        trial.show_page(&tab, "/")?;
        tab.wait_for("@card", "")?;
        let painted = || {
            let loaded = tab.run_js(PAINT_TIMING_JS, &[])?;
            Ok(Some(loaded).filter(|loaded| loaded["content"].is_number()))
        };
        let loaded = tab.wait_until("the first paint", painted)?;
        first.push(loaded["paint"].as_f64().context("no paint")?);
        content.push(loaded["content"].as_f64().context("no paint")?);
        weight = loaded;
    }
    let most = content.iter().copied().fold(0.0, f64::max);
    Ok(json!({ "bytes": weight["bytes"], "files": weight["files"], "first_paint_ms": median(&mut first),
        "content_paint_ms": median(&mut content), "content_paint_most_ms": most }))
}
