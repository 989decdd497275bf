//! How it looks: on a phone, in the dark, and while text streams.

use anyhow::{Context as _, ensure};

use super::{asked, begun::grows, kinds, past};
use crate::{tab::Tab, trial::Trial};

/// The pages, with something on each.
fn pages(trial: &Trial) -> anyhow::Result<Vec<String>> {
    past::logs(trial)?;
    let id = trial.perform(kinds::ALL)?;
    trial.perform("approve cargo test --workspace --all-targets --no-fail-fast -- --nocapture --test-threads 1")?;
    trial.perform("fail the disk is full")?;
    Ok(["/", "/new", &format!("/s/{id}"), "/history", "/usage", "/s/unknown"].map(str::to_owned).to_vec())
}

/// Waits until a page shows what it has.
fn settled(tab: &Tab) -> anyhow::Result<()> {
    tab.see("@board, @new-form, @session @entry, @logs, @chart, @usage-table, @error, @empty", "")?;
    tab.gone("@loading", "")
}

/// On a phone nothing is wider than the screen, and what is asked can be answered with a finger.
pub fn phone(trial: &Trial) -> anyhow::Result<()> {
    trial.expects("404 (Not Found)");
    let pages = pages(trial)?;
    let tab = trial.tab("/")?;
    tab.resize(390, 844, 2.0)?;
    for page in pages {
        trial.go(&tab, &page)?;
        settled(&tab)?;
        let wide = "const most = document.documentElement.clientWidth; if (document.scrollingElement.scrollWidth <= most) \
                    return ''; return [...document.querySelectorAll('body *')].filter(it => \
                    it.getBoundingClientRect().right > most + 1).map(it => it.outerHTML.slice(0, 120)).slice(0, 3).join('\\n')";
        let wide = tab.js(wide, &[])?;
        ensure!(wide == "", "{page} is wider than a phone: {wide}");
    }
    asked::answered(trial)
}

/// Text and what is behind it differ enough (WCAG AA), in light and in dark; and dark is dark.
pub fn contrast(trial: &Trial) -> anyhow::Result<()> {
    trial.expects("404 (Not Found)");
    let pages = pages(trial)?;
    let tab = trial.tab("/")?;
    for scheme in ["light", "dark"] {
        tab.prefer(scheme)?;
        for page in &pages {
            trial.go(&tab, page)?;
            settled(&tab)?;
            let seen = tab.js(CONTRAST, &[])?;
            let weak = &seen["weak"];
            ensure!(weak.as_array().is_some_and(Vec::is_empty), "{page} in {scheme}: {weak:#}");
            ensure!(seen["isDark"] == (scheme == "dark"), "{page} in {scheme} is not");
        }
    }
    Ok(())
}

/// What differs too little, and whether the page is dark.
const CONTRAST: &str = include_str!("contrast.js");

/// What is already there does not move while more is said, wherever the reader is.
pub fn steady(trial: &Trial) -> anyhow::Result<()> {
    let lines: String = (1..60).map(|n| format!("text Line {n}\n")).collect();
    let id = trial.perform(&format!("{lines}burst 1500 at 300\nrun echo done"))?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    grows(&tab, 100)?;
    let watch = "window.shifts = 0; new PerformanceObserver(list => list.getEntries().forEach(it => \
                 window.shifts += it.hadRecentInput ? 0 : it.value)).observe({type: 'layout-shift'})";
    tab.js("document.querySelector('[data-test=entries]').scrollTop = 300", &[])?;
    tab.see("@latest", "")?;
    let top = "const it = [...document.querySelectorAll('[data-test=entry]')].find(it => \
               it.getBoundingClientRect().bottom > 200); return `${it.dataset.n} ${Math.round(it.getBoundingClientRect().top)}`";
    tab.js(watch, &[])?;
    let before = tab.js(top, &[])?;
    trial.api().ended(&id, std::time::Duration::from_secs(30))?;
    tab.gone("@interrupt", "")?;
    let (after, shifts) = (tab.js(top, &[])?, tab.js("return window.shifts", &[])?);
    ensure!(before == after, "what was read moved: {before} is now {after}");
    ensure!(shifts.as_f64().context("no shifts")? < 0.02, "the layout shifted by {shifts}");
    Ok(())
}
