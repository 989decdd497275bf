//! Past sessions, and long ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_testkit::corpus::{self, CorpusOptions, CorpusTruth};

use crate::scenario::PageTrial;
use crate::tab::BrowserTab;

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
    tab.wait_for("@toast", "does not exist")?;
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

/// Maximum number of elements on the page.
const MAX_PAGE_ELEMENTS: u64 = 4_000;

/// A script of `rounds` rounds, about 70 events each.
pub fn long_script(rounds: u32) -> String {
    let round = |n: u32| format!("text Round {n} begins\nburst 60\nrun step {n}\n");
    (1..=rounds).map(round).collect::<String>() + "text This is the very end"
}

/// Returns the text of the entries on the screen.
fn visible_text(tab: &BrowserTab) -> anyhow::Result<String> {
    let script = "const box = document.querySelector('[data-test=entries]').getBoundingClientRect(); \
                  return [...document.querySelectorAll('[data-test=entry]')].filter(it => { \
                      const at = it.getBoundingClientRect(); return at.bottom > box.top && at.top < box.bottom; \
                  }).map(it => it.textContent).join('\\n')";
    Ok(tab.run_js(script, &[])?.as_str().unwrap_or_default().to_owned())
}

fn check_element_count(tab: &BrowserTab) -> anyhow::Result<()> {
    let count = tab.count_elements("*")?;
    ensure!(count < MAX_PAGE_ELEMENTS, "the page has {count} elements");
    Ok(())
}

/// Opens a long session and scrolls to its beginning, to its middle and back.
pub fn scroll_long_session(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script(&long_script(1_600))?;
    let view = trial.api_client().wait_for_end(&id, Duration::from_secs(120))?;
    ensure!(view["events"].as_u64() >= Some(100_000), "there are only {} events", view["events"]);
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    tab.wait_for("@entry[data-kind=answer]", "This is the very end")?;
    check_element_count(&tab)?;
    tab.press_keys("gg")?;
    tab.wait_until("the beginning", || Ok(visible_text(&tab)?.contains("Round 1 begins").then_some(())))?;
    check_element_count(&tab)?;
    let halfway = "const it = document.querySelector('[data-test=entries]'); it.scrollTop = it.scrollHeight / 2";
    tab.run_js(halfway, &[])?;
    let middle = tab.wait_until("the middle", || {
        let text = visible_text(&tab)?;
        let round = text.split("Round ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
        Ok(round.filter(|round| (300..1_300).contains(round)))
    })?;
    check_element_count(&tab)?;
    let next = format!("step {middle}");
    tab.wait_until(&next, || Ok(visible_text(&tab)?.contains(&next).then_some(())))?;
    scroll_by_wheel(&tab)?;
    tab.click("@latest", "")?;
    tab.wait_until("the end", || Ok(visible_text(&tab)?.contains("This is the very end").then_some(())))?;
    check_element_count(&tab)
}

/// The mouse wheel scrolls by its distance, and the rows there are rendered.
fn scroll_by_wheel(tab: &BrowserTab) -> anyhow::Result<()> {
    for _ in 0..10 {
        let turn = json!({ "type": "mouseWheel", "x": 400, "y": 400, "deltaX": 0, "deltaY": -900 });
        tab.send_cdp_command("Input.dispatchMouseEvent", turn)?;
    }
    tab.wait_until("rows where the reader is", || Ok(visible_text(tab)?.contains("Round ").then_some(())))
}
