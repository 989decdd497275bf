//! Session logs of agents: search, transcript and usage.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_testkit::corpus::{self, CorpusOptions, CorpusTruth};

use crate::trial::PageTrial;

/// Writes logs of several agents to the home directory of the stage.
pub fn write_logs(trial: &PageTrial) -> anyhow::Result<CorpusTruth> {
    corpus::write_corpus(trial.stage.root_dir(), &CorpusOptions::small(7))
}

/// A rare word is found, and its session can be read.
pub fn search_history(trial: &PageTrial) -> anyhow::Result<()> {
    let truth = write_logs(trial)?;
    let tab = trial.open_tab("/history")?;
    tab.wait_for("@logs @log", "")?;
    let needle = truth.rare.first().context("no needle")?;
    tab.fill_field("@history-search", &needle.word)?;
    tab.wait_for("@hits @hit mark", &needle.word)?;
    let said = tab.text_of("@hits @hit")?;
    ensure!(said.contains(&needle.agent), "{said}");
    tab.click("@hits @hit a", "")?;
    tab.wait_for("@transcript @entry", "")?;
    ensure!(tab.current_url()?.contains("/h/"), "{}", tab.current_url()?);
    tab.wait_until_js(
        "the word in the transcript",
        "return document.querySelector('[data-test=entries]').textContent.includes(arguments[0])",
        &[json!(needle.word)],
    )?;
    // The session's directory does not exist here; another one can be entered.
    trial.expect_console_error("Failed to load resource");
    ensure!(!tab.is_shown("@resume-folder", "")?, "a folder is asked for");
    tab.fill_field("@resume-prompt", "go on")?;
    tab.click("@resume", "")?;
    tab.wait_for("@toast", "which is not there any more")?;
    tab.wait_for("@resume-folder:focus", "")?;
    tab.browser.go_back()?;
    tab.wait_for("@hits @hit mark", &needle.word)?;
    tab.fill_field("@history-search", "nothing-has-this-word")?;
    tab.wait_for("@empty", "")
}

/// The chart shows a number on hover, the table has the true totals, and the CSV file has the table.
pub fn chart_usage(trial: &PageTrial) -> anyhow::Result<()> {
    let truth = write_logs(trial)?;
    let tab = trial.open_tab("/usage?range=")?;
    tab.wait_for("@chart[data-chart] @bar, @chart @bar", "")?;
    let total = truth.all.total_tokens();
    let shown = tab.wait_until_js(
        "a total",
        "return document.querySelector('[data-test=total][data-name=tokens]')?.title.replace(/\\D/g, '')",
        &[],
    )?;
    ensure!(shown == json!(total.to_string()), "{shown} tokens are shown, {total} were used");
    let fullest = "return [...document.querySelectorAll('svg [data-test=bar]')]\
                   .sort((a, b) => b.dataset.value - a.dataset.value)[0].dataset.key";
    let day = tab.run_js(fullest, &[])?.as_str().context("no bar")?.to_owned();
    tab.hover_over(&format!("svg @bar[data-key=\"{day}\"]"))?;
    tab.wait_for("@tip", &day)?;
    ensure!(tab.text_of("@tip")?.chars().filter(char::is_ascii_digit).count() > 8, "{}", tab.text_of("@tip")?);
    let sum = tab.texts_of("@usage-table tfoot td")?.join(" ").replace(|c: char| !c.is_ascii_digit() && c != ' ', "");
    ensure!(sum.split(' ').any(|cell| cell == total.to_string()), "the table says {sum}, {total} were used");
    let folder = trial.stage.root_dir().join("saved");
    fs::create_dir_all(&folder)?;
    tab.browser.set_download_directory(&folder)?;
    tab.click("@csv", "")?;
    let file = tab.wait_until("the file", || Ok(read_saved_csv(&folder)))?;
    ensure!(file.lines().count() > 10 && file.lines().all(|line| line.contains(',')), "{file}");
    Ok(())
}

fn read_saved_csv(folder: &Path) -> Option<String> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut whole = files.filter(|path| path.extension().is_some_and(|end| end == "csv"));
    whole.next().and_then(|path| fs::read_to_string(path).ok()).filter(|text| !text.is_empty())
}

/// The board can be searched for a session.
pub fn filter_board(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("text something to find: quicksilver")?;
    trial.api_client().wait_for_end(&id, Duration::from_secs(10))?;
    let tab = trial.open_tab("/")?;
    tab.wait_for("@card", "quicksilver")?;
    tab.fill_field("@filter-text", "nothing like it")?;
    tab.wait_for("@empty", "")?;
    tab.fill_field("@filter-text", "quicksilver")?;
    tab.wait_for("@card", "quicksilver")?;
    tab.click("@card-title", "")?;
    tab.wait_for("@entry[data-kind=answer]", "something to find: quicksilver")
}
