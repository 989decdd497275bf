//! Every kind of thing that a session shows, and what can be done with each.

use anyhow::ensure;
use serde_json::json;

use crate::trial::Trial;

/// A script with everything in it.
pub const ALL: &str = r####"think I should look at the code first, and at what it is for
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

/// Each kind is there and looks like what it is.
pub fn all(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform(ALL)?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.see("@entry[data-kind=answer]", "That is all")?;
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
        tab.press("gg")?;
        found(&tab, css, text)?;
    }
    tab.press("gg")?;
    found(&tab, "@entry[data-kind=tool]", "look")?;
    if tab.has("@entry[data-kind=tool] @fold[aria-expanded=false]", "")? {
        tab.click("@entry[data-kind=tool] @fold", "")?;
    }
    let drawn = "return [...document.querySelectorAll('[data-test=entry] img')].some(it => it.naturalWidth == 96)";
    tab.until_js("the image", drawn, &[])?;
    folded(&tab)
}

/// Scrolls down until something is shown.
pub fn found(tab: &crate::tab::Tab, css: &str, text: &str) -> anyhow::Result<()> {
    tab.until(&format!("`{css}` with {text:?}, somewhere"), || {
        if tab.has(css, text)? {
            return Ok(Some(()));
        }
        tab.js(
            "const it = document.querySelector('[data-test=entries]'); \
             it.scrollTop = it.scrollTop + it.clientHeight + 1 < it.scrollHeight ? it.scrollTop + 200 : 0",
            &[],
        )?;
        Ok(None)
    })
}

/// Thoughts are folded until somebody wants them, and the native record of anything can be looked at.
fn folded(tab: &crate::tab::Tab) -> anyhow::Result<()> {
    found(tab, "@entry[data-kind=reasoning]", "")?;
    ensure!(!tab.has("@entry[data-kind=reasoning] @entry-body", "")?, "thoughts are not folded");
    tab.click("@entry[data-kind=reasoning] @fold", "")?;
    tab.see("@entry[data-kind=reasoning] @entry-body", "what it is for")?;
    found(tab, "@entry[data-kind=change]", "")?;
    let shape = "return document.querySelector('[data-test=entries]').dataset.diff";
    let before = tab.js(shape, &[])?;
    tab.press("v")?;
    tab.until("the other shape of diffs", || Ok((tab.js(shape, &[])? != before).then_some(())))?;
    tab.see("@entry[data-kind=change] .add", "usize")
}

/// What there is none of, what is not found, what failed.
pub fn states(trial: &Trial) -> anyhow::Result<()> {
    trial.expects("404 (Not Found)");
    let tab = trial.tab("/")?;
    tab.see("@empty", "No agent")?;
    for path in ["/s/01a1e0b0-d3d8-7c70-b6cd-33c646aea9c2", "/h/nothing-of-this-name"] {
        trial.go(&tab, path)?;
        tab.see("@error", "")?;
    }
    let id = trial.perform("text Soon it fails\nfail the disk is full")?;
    trial.go(&tab, &format!("/s/{id}"))?;
    tab.see("@entry", "the disk is full")?;
    trial.go(&tab, "/")?;
    tab.see("@column[data-column=failed] @card", "the disk is full")
}

/// The session can be taken along as a file, in each of the forms.
pub fn exported(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("text words to take along")?;
    trial.api().ended(&id, std::time::Duration::from_secs(10))?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    tab.click("@menu summary", "")?;
    for format in ["markdown", "html", "jsonl"] {
        let script = "return fetch(document.querySelector(`[data-test=export-${arguments[0]}]`).href).then(async it => \
                      it.ok && it.headers.get('content-disposition').startsWith('attachment') && it.text())";
        let text = tab.until_js(format, script, &[json!(format)])?;
        ensure!(text.as_str().is_some_and(|text| text.contains("words to take along")), "{format}: {text}");
    }
    Ok(())
}
