//! Every kind of entry in a session, and the actions on each.

use anyhow::ensure;
use serde_json::json;

use crate::scenario::PageTrial;

/// A script with every kind of entry.
pub const ALL_ENTRIES_SCRIPT: &str = r####"think I should look at the code first, and at what it is for
say "# Findings\n\nThe parser is **slow** because of `clone`:\n\n```rust\nfn main() { let x = 1; }\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
run cargo test => "running 2 tests\n\u001b[32mok\u001b[0m first\n\u001b[31mFAILED\u001b[0m second\n" exit 101
edit src/parse.rs => "fn parse(text: &str) -> u32 {\n    text.len()\n}\n" => "fn parse(text: &str) -> usize {\n    text.len()\n}\n"
plan [x] look, change it, test it
mcp files read => "what it read"
search how to parse
image shot.png
subagent reviewer
retry the model is busy
raw {"type":"weather","sky":"blue"}
text That is all"####;

/// Every kind of entry is shown with its own rendering.
pub fn show_all_entries(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script(ALL_ENTRIES_SCRIPT)?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry[data-kind=answer]", "That is all")?;
    for (css, text) in [
        ("@entry[data-kind=answer] h1", "Findings"),
        ("@entry[data-kind=answer] pre [class^=hl-]", "fn"),
        ("@entry[data-kind=answer] table td", "2"),
        ("@entry[data-kind=command] @entry-label", "101"),
        ("@entry[data-kind=command] .a-1", "FAILED"),
        ("@entry[data-kind=change] .diff .add", "usize"),
        ("@entry[data-kind=plan]", "change it"),
        ("@entry[data-kind=mcp]", "read"),
        ("@entry[data-kind=search]", "how to parse"),
        ("@entry[data-kind=subagent]", "reviewer"),
        ("@entry[data-kind=notice]", "the model is busy"),
        ("@entry[data-kind=user]", "think I should"),
    ] {
        tab.press_keys("gg")?;
        scroll_to(&tab, css, text)?;
    }
    tab.press_keys("gg")?;
    scroll_to(&tab, "@entry[data-kind=tool]", "look")?;
    if tab.is_shown("@entry[data-kind=tool] @fold[aria-expanded=false]", "")? {
        tab.click("@entry[data-kind=tool] @fold", "")?;
    }
    let drawn = "return [...document.querySelectorAll('[data-test=entry] img')].some(it => it.naturalWidth == 96)";
    tab.wait_until_js("the image", drawn, &[])?;
    check_folding(&tab)
}

/// Scrolls down until an element is shown.
pub fn scroll_to(tab: &crate::tab::BrowserTab, css: &str, text: &str) -> anyhow::Result<()> {
    tab.wait_until(&format!("`{css}` with {text:?}, somewhere"), || {
        if tab.is_shown(css, text)? {
            return Ok(Some(()));
        }
        tab.run_js(
            "const it = document.querySelector('[data-test=entries]'); \
             it.scrollTop = it.scrollTop + it.clientHeight + 1 < it.scrollHeight ? it.scrollTop + 200 : 0",
            &[],
        )?;
        Ok(None)
    })
}

/// Thoughts are folded by default, and the diff view can be switched.
fn check_folding(tab: &crate::tab::BrowserTab) -> anyhow::Result<()> {
    scroll_to(tab, "@entry[data-kind=reasoning]", "")?;
    ensure!(!tab.is_shown("@entry[data-kind=reasoning] @entry-body", "")?, "thoughts are not folded");
    tab.click("@entry[data-kind=reasoning] @fold", "")?;
    tab.wait_for("@entry[data-kind=reasoning] @entry-body", "what it is for")?;
    scroll_to(tab, "@entry[data-kind=change]", "")?;
    let shape = "return document.querySelector('[data-test=entries]').dataset.diff";
    let before = tab.run_js(shape, &[])?;
    tab.press_keys("v")?;
    tab.wait_until("the other shape of diffs", || Ok((tab.run_js(shape, &[])? != before).then_some(())))?;
    tab.wait_for("@entry[data-kind=change] .add", "usize")
}

/// Empty lists, missing sessions and failures.
pub fn show_empty_and_failed(trial: &PageTrial) -> anyhow::Result<()> {
    trial.expect_console_error("404 (Not Found)");
    let tab = trial.open_tab("/")?;
    tab.wait_for("@empty", "No agent")?;
    for path in ["/s/01a1e0b0-d3d8-7c70-b6cd-33c646aea9c2", "/h/nothing-of-this-name"] {
        trial.show_page(&tab, path)?;
        tab.wait_for("@error", "")?;
    }
    let id = trial.start_script("text Soon it fails\nfail the disk is full")?;
    trial.show_page(&tab, &format!("/s/{id}"))?;
    tab.wait_for("@entry", "the disk is full")?;
    trial.show_page(&tab, "/")?;
    tab.wait_for("@column[data-column=failed] @card", "the disk is full")
}

/// A session can be exported in each format.
pub fn export_session(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("text words to take along")?;
    trial.api_client().wait_for_end(&id, std::time::Duration::from_secs(10))?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.click("@menu summary", "")?;
    for format in ["markdown", "html", "jsonl"] {
        let script = "return fetch(document.querySelector(`[data-test=export-${arguments[0]}]`).href).then(async it => \
                      it.ok && it.headers.get('content-disposition').startsWith('attachment') && it.text())";
        let text = tab.wait_until_js(format, script, &[json!(format)])?;
        ensure!(text.as_str().is_some_and(|text| text.contains("words to take along")), "{format}: {text}");
    }
    Ok(())
}
