//! What agents left on this machine: found, read, counted.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_testkit::corpus::{self, Truth, Wanted};

use crate::trial::Trial;

/// Writes logs of several agents into the home of the stage.
pub fn logs(trial: &Trial) -> anyhow::Result<Truth> {
    corpus::write(trial.stage.root(), &Wanted::small(7))
}

/// A rare word is found, and its session can be read.
pub fn searched(trial: &Trial) -> anyhow::Result<()> {
    let truth = logs(trial)?;
    let tab = trial.tab("/history")?;
    tab.see("@logs @log", "")?;
    let needle = truth.rare.first().context("no needle")?;
    tab.fill("@history-search", &needle.word)?;
    tab.see("@hits @hit mark", &needle.word)?;
    let said = tab.text("@hits @hit")?;
    ensure!(said.contains(&needle.agent), "{said}");
    tab.click("@hits @hit a", "")?;
    tab.see("@transcript @entry", "")?;
    ensure!(tab.address()?.contains("/h/"), "{}", tab.address()?);
    tab.until_js(
        "the word in the transcript",
        "return document.querySelector('[data-test=entries]').textContent.includes(arguments[0])",
        &[json!(needle.word)],
    )?;
    // Nobody on this machine has its folder; another can be named.
    trial.expects("Failed to load resource");
    ensure!(!tab.has("@resume-folder", "")?, "a folder is asked for");
    tab.fill("@resume-prompt", "go on")?;
    tab.click("@resume", "")?;
    tab.see("@toast", "which is not there any more")?;
    tab.see("@resume-folder:focus", "")?;
    tab.browser.back()?;
    tab.see("@hits @hit mark", &needle.word)?;
    tab.fill("@history-search", "nothing-has-this-word")?;
    tab.see("@empty", "")
}

/// The chart says a number on hover, the table has the truth, and the file has the table.
pub fn counted(trial: &Trial) -> anyhow::Result<()> {
    let truth = logs(trial)?;
    let tab = trial.tab("/usage?range=")?;
    tab.see("@chart[data-chart] @bar, @chart @bar", "")?;
    let total = truth.all.total();
    let shown = tab.until_js(
        "a total",
        "return document.querySelector('[data-test=total][data-name=tokens]')?.title.replace(/\\D/g, '')",
        &[],
    )?;
    ensure!(shown == json!(total.to_string()), "{shown} tokens are shown, {total} were used");
    let fullest = "return [...document.querySelectorAll('svg [data-test=bar]')]\
                   .sort((a, b) => b.dataset.value - a.dataset.value)[0].dataset.key";
    let day = tab.js(fullest, &[])?.as_str().context("no bar")?.to_owned();
    tab.point_at(&format!("svg @bar[data-key=\"{day}\"]"))?;
    tab.see("@tip", &day)?;
    ensure!(tab.text("@tip")?.chars().filter(char::is_ascii_digit).count() > 8, "{}", tab.text("@tip")?);
    let sum = tab.texts("@usage-table tfoot td")?.join(" ").replace(|c: char| !c.is_ascii_digit() && c != ' ', "");
    ensure!(sum.split(' ').any(|cell| cell == total.to_string()), "the table says {sum}, {total} were used");
    let folder = trial.stage.root().join("saved");
    fs::create_dir_all(&folder)?;
    tab.browser.save_to(&folder)?;
    tab.click("@csv", "")?;
    let file = tab.until("the file", || Ok(saved(&folder)))?;
    ensure!(file.lines().count() > 10 && file.lines().all(|line| line.contains(',')), "{file}");
    Ok(())
}

fn saved(folder: &Path) -> Option<String> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut whole = files.filter(|path| path.extension().is_some_and(|end| end == "csv"));
    whole.next().and_then(|path| fs::read_to_string(path).ok()).filter(|text| !text.is_empty())
}

/// A session of our own is in the history too, and its transcript goes to the session itself.
pub fn ours(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("text something to find: quicksilver")?;
    trial.api().ended(&id, Duration::from_secs(10))?;
    let tab = trial.tab("/")?;
    tab.see("@card", "quicksilver")?;
    tab.fill("@filter-text", "nothing like it")?;
    tab.see("@empty", "")?;
    tab.fill("@filter-text", "quicksilver")?;
    tab.see("@card", "quicksilver")?;
    tab.click("@card-title", "")?;
    tab.see("@entry[data-kind=answer]", "something to find: quicksilver")
}
