//! Appearance: on a phone, in the dark color scheme, and while text streams.

use anyhow::{Context as _, ensure};

use super::prompts::wait_for_growth;
use super::{approvals, history, kinds};
use crate::scenario::PageTrial;
use crate::tab::BrowserTab;

/// Returns the paths of all pages, each with content.
fn page_paths(trial: &PageTrial) -> anyhow::Result<Vec<String>> {
    history::write_logs(trial)?;
    let id = trial.start_script(kinds::ALL_ENTRIES_SCRIPT)?;
    trial
        .start_script("approve cargo test --workspace --all-targets --no-fail-fast -- --nocapture --test-threads 1")?;
    trial.start_script("fail the disk is full")?;
    Ok(["/", "/new", &format!("/s/{id}"), "/history", "/usage", "/s/unknown"].map(str::to_owned).to_vec())
}

/// Waits until a page shows its content.
fn wait_until_settled(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.wait_for("@board, @new-form, @session @entry, @logs, @chart, @usage-table, @error, @empty", "")?;
    tab.wait_until_gone("@loading", "")
}

/// On a phone nothing is wider than the screen, and requests can be answered.
pub fn fit_phone(trial: &PageTrial) -> anyhow::Result<()> {
    trial.expect_console_error("404 (Not Found)");
    let pages = page_paths(trial)?;
    let tab = trial.open_tab("/")?;
    tab.set_viewport(390, 844, 2.0)?;
    for page in pages {
        trial.show_page(&tab, &page)?;
        wait_until_settled(&tab)?;
        let wide = "const most = document.documentElement.clientWidth; if (document.scrollingElement.scrollWidth <= most) \
                    return ''; return [...document.querySelectorAll('body *')].filter(it => \
                    it.getBoundingClientRect().right > most + 1).map(it => it.outerHTML.slice(0, 120)).slice(0, 3).join('\\n')";
        let wide = tab.run_js(wide, &[])?;
        ensure!(wide == "", "{page} is wider than a phone: {wide}");
    }
    approvals::answer_requests(trial)
}

/// Text has enough contrast (WCAG AA) in both color schemes.
pub fn check_contrast(trial: &PageTrial) -> anyhow::Result<()> {
    trial.expect_console_error("404 (Not Found)");
    let pages = page_paths(trial)?;
    let tab = trial.open_tab("/")?;
    for scheme in ["light", "dark"] {
        tab.set_color_scheme(scheme)?;
        for page in &pages {
            trial.show_page(&tab, page)?;
            wait_until_settled(&tab)?;
            let seen = tab.run_js(CONTRAST_JS, &[])?;
            let weak = &seen["weak"];
            ensure!(weak.as_array().is_some_and(Vec::is_empty), "{page} in {scheme}: {weak:#}");
            ensure!(seen["isDark"] == (scheme == "dark"), "{page} in {scheme} is not");
        }
    }
    Ok(())
}

/// Returns elements with too little contrast, and whether the page is dark.
const CONTRAST_JS: &str = include_str!("contrast.js");

/// Visible content does not move while more text streams.
pub fn check_layout_stability(trial: &PageTrial) -> anyhow::Result<()> {
    let lines: String = (1..60).map(|n| format!("text Line {n}\n")).collect();
    let id = trial.start_script(&format!("{lines}burst 1500 at 300\nrun echo done"))?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    wait_for_growth(&tab, 100)?;
    let watch = "window.shifts = 0; new PerformanceObserver(list => list.getEntries().forEach(it => \
                 window.shifts += it.hadRecentInput ? 0 : it.value)).observe({type: 'layout-shift'})";
    tab.run_js("document.querySelector('[data-test=entries]').scrollTop = 300", &[])?;
    tab.wait_for("@latest", "")?;
    let top = "const it = [...document.querySelectorAll('[data-test=entry]')].find(it => \
               it.getBoundingClientRect().bottom > 200); return `${it.dataset.n} ${Math.round(it.getBoundingClientRect().top)}`";
    tab.run_js(watch, &[])?;
    let before = tab.run_js(top, &[])?;
    trial.api_client().wait_for_end(&id, std::time::Duration::from_secs(30))?;
    tab.wait_until_gone("@interrupt", "")?;
    let (after, shifts) = (tab.run_js(top, &[])?, tab.run_js("return window.shifts", &[])?);
    ensure!(before == after, "what was read moved: {before} is now {after}");
    ensure!(shifts.as_f64().context("no shifts")? < 0.02, "the layout shifted by {shifts}");
    Ok(())
}
