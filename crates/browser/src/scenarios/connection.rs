//! Signing in, and lost connections.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use super::prompts::{counted_answer, wait_for_answer, wait_for_growth};
use crate::scenario::PageTrial;
use crate::server::InterruptibleProxy;
use crate::tab::BrowserTab;

/// Without the token, every page shows how to sign in; no session data is shown or requested.
pub fn reject_without_token(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("text a secret that strangers may not see")?;
    // The page's requests are refused.
    trial.expect_console_error("401 (Unauthorized)");
    let tab = trial.open_empty_tab()?;
    for path in ["/", "/history", &format!("/s/{id}")] {
        trial.show_page(&tab, path)?;
        tab.wait_for("body", "switchboard serve")?;
        let shown = tab.run_js("return document.documentElement.textContent", &[])?.to_string();
        ensure!(!shown.contains("secret") && !shown.contains("script"), "{path} shows {shown}");
    }
    // An expired link is recognized and does not stay in the address bar.
    trial.show_page(&tab, "/history?token=of-another-time")?;
    tab.wait_for("#old-link", "has expired")?;
    ensure!(!tab.current_url()?.contains("token"), "it stays: {}", tab.current_url()?);
    trial.show_page(&tab, "/nosuch")?;
    tab.wait_for("body", "switchboard serve")?;
    let stored = tab.run_js("return document.cookie + JSON.stringify(localStorage)", &[])?.to_string();
    ensure!(!stored.contains(&trial.api_client().token), "a token is kept: {stored}");
    Ok(())
}

/// The link signs in. The token is neither in the address nor in the history nor readable by scripts, and the server
/// does not print it again.
pub fn sign_in_with_link(trial: &PageTrial) -> anyhow::Result<()> {
    let (token, tab) = (trial.api_client().token, trial.open_empty_tab()?);
    tab.navigate(&trial.server.borrow().sign_in_link())?;
    tab.wait_until_gone("body", "switchboard serve")?;
    ensure!(!tab.current_url()?.contains(&token), "it is in the address {}", tab.current_url()?);
    let script = "return [document.cookie, document.referrer, document.documentElement.outerHTML, \
                  JSON.stringify(localStorage), JSON.stringify(sessionStorage), JSON.stringify(history.state), \
                  performance.getEntries().slice(1).map(it => it.name).join()]";
    let readable = tab.run_js(script, &[])?.to_string();
    ensure!(!readable.contains(&token), "scripts can read it: {readable}");
    trial.show_page(&tab, "/history")?;
    tab.wait_until_gone("body", "switchboard serve")?;
    // A signed-in browser stays signed in, whatever link it opens; unknown paths show an error page.
    trial.show_page(&tab, "/usage?token=of-another-time")?;
    tab.wait_for(".nav [aria-current=page]", "Usage")?;
    ensure!(!tab.current_url()?.contains("token"), "it stays: {}", tab.current_url()?);
    trial.expect_console_error("404 (Not Found)");
    trial.show_page(&tab, "/nosuch")?;
    tab.wait_for("main", "There is no such page.")?;
    let printed = trial.server.borrow().printed_output();
    ensure!(printed.matches(&token).count() == 1, "the server repeats it: {printed}");
    Ok(())
}

/// A reload in the middle of an answer shows all of it once.
pub fn reload_mid_answer(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("burst 600 at 200\nrun echo behind it")?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    let now = wait_for_growth(&tab, 100)?;
    tab.reload()?;
    wait_for_growth(&tab, now)?;
    tab.reload()?;
    wait_for_answer(&tab, &counted_answer(600))?;
    tab.wait_for("@entry[data-kind=command]", "behind it")
}

/// The page reports a lost connection and continues after it is restored.
pub fn go_offline(trial: &PageTrial) -> anyhow::Result<()> {
    trial.expect_console_error("net::ERR_");
    let id = trial.start_script("burst 900 at 200\nthink about it\nrun echo behind it\ntext The end")?;
    let (door, port) = (trial.server.borrow().door, trial.api_client().port);
    let (cable, tab) = (InterruptibleProxy::new(door, port)?, trial.open_tab("/")?);
    tab.navigate(&format!("http://127.0.0.1:{door}/s/{id}"))?;
    wait_for_growth(&tab, 100)?;
    let known = || anyhow::Ok(trial.api_client().get(&format!("/api/sessions/{id}"))?["events"].clone());
    while_offline(&tab, &cable, || {
        let then = known()?;
        tab.wait_until("more to happen meanwhile", || Ok((known()? != then).then_some(())))
    })?;
    wait_for_growth(&tab, 200)?;
    while_offline(&tab, &cable, || trial.api_client().wait_for_end(&id, Duration::from_secs(30)).map(drop))?;
    wait_for_answer(&tab, &format!("{}\nThe end", counted_answer(900)))?;
    tab.wait_for("@entry[data-kind=command]", "behind it")?;
    let shown = "return [...document.querySelectorAll('[data-test=entry]')].map(it => Number(it.dataset.n))";
    let numbers = tab.run_js(shown, &[])?;
    let numbers: Vec<_> = numbers.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64).collect();
    ensure!(numbers.iter().zip(0..).all(|(n, at)| *n == at), "entries are missing or twice there: {numbers:?}");
    Ok(())
}

/// Disconnects the page while `meanwhile` runs.
fn while_offline(
    tab: &BrowserTab,
    cable: &InterruptibleProxy,
    meanwhile: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    tab.set_offline(true)?;
    cable.disconnect_all();
    tab.wait_for("@offline", "")?;
    meanwhile()?;
    cable.start_accepting()?;
    tab.set_offline(false)?;
    tab.wait_until_gone("@offline", "")
}

/// Navigating back continues a page that the browser kept in its back-forward cache, without a connection.
pub fn navigate_back(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("burst 1500 at 200\nrun echo behind it")?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    let before = wait_for_growth(&tab, 100)?;
    tab.run_js("window.stood = true", &[])?;
    trial.show_page(&tab, "/")?;
    tab.wait_for("@column", "")?;
    tab.run_js("history.back()", &[])?;
    wait_for_growth(&tab, before + 100)?;
    let stood = tab.run_js("return window.stood === true", &[])?;
    ensure!(stood == true, "the browser did not keep the page, so nothing was tried");
    wait_for_answer(&tab, &counted_answer(1500))?;
    tab.wait_for("@entry[data-kind=command]", "behind it")
}

/// With more tabs than the browser has connections, each shows its session and the first continues.
pub fn open_many_tabs(trial: &PageTrial) -> anyhow::Result<()> {
    let first = trial.start_script("burst 100000 at 50")?;
    let tab = trial.open_tab(&format!("/s/{first}"))?;
    let before = wait_for_growth(&tab, 10)?;
    for n in 1..=8 {
        let id = trial.start_script_with(&format!("text The session number {n}"), json!({ "stay": true }))?;
        let other = trial.open_tab(&format!("/s/{id}"))?;
        other.wait_for("@entry[data-kind=answer]", &format!("The session number {n}"))?;
    }
    tab.activate()?;
    wait_for_growth(&tab, before + 100).map(drop)
}

/// The server is killed and restarted: the page reports it, and then shows the session's end.
pub fn restart_server(trial: &PageTrial) -> anyhow::Result<()> {
    trial.expect_console_error("ERR_CONNECTION_REFUSED");
    trial.expect_console_error("ERR_INCOMPLETE_CHUNKED_ENCODING");
    trial.expect_console_error("ERR_CONNECTION_RESET");
    trial.expect_console_error("ERR_EMPTY_RESPONSE");
    let id = trial.start_script("text Before the end\nburst 100000 at 100")?;
    let (tab, board) = (trial.open_tab(&format!("/s/{id}"))?, trial.open_tab("/")?);
    wait_for_growth(&tab, 30)?;
    board.wait_for("@column[data-column=running] @card", "")?;
    trial.server.borrow_mut().restart(&trial.stage)?;
    tab.wait_for("@session[data-state=failed]", "")?;
    tab.wait_for("@entry[data-kind=answer]", "Before the end")?;
    tab.wait_until_gone("@offline", "")?;
    board.wait_for("@column[data-column=failed] @card", "")?;
    tab.fill_field("@follow-up", "text It goes on")?;
    tab.click("@send", "")?;
    tab.wait_for("@entry[data-kind=answer]", "It goes on")
}
