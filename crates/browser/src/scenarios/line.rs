//! The line to the server: it is cut, the page is loaded anew, the server dies. Nothing is missed, and nothing is shown
//! twice.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use super::begun::{counted, grows, says};
use crate::{cable::Cable, tab::Tab, trial::Trial};

/// A reload in the middle of an answer shows all of it, once.
pub fn reload(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("burst 600 at 200\nrun echo behind it")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    let now = grows(&tab, 100)?;
    tab.reload()?;
    grows(&tab, now)?;
    tab.reload()?;
    says(&tab, &counted(600))?;
    tab.see("@entry[data-kind=command]", "behind it")
}

/// Without a connection the page says so; with it again, it goes on where it was.
pub fn offline(trial: &Trial) -> anyhow::Result<()> {
    trial.expects("net::ERR_");
    let id = trial.perform("burst 900 at 200\nthink about it\nrun echo behind it\ntext The end")?;
    let (door, port) = (trial.server.borrow().door, trial.api().port);
    let (cable, tab) = (Cable::new(door, port)?, trial.tab("/")?);
    tab.go(&format!("http://127.0.0.1:{door}/s/{id}"))?;
    grows(&tab, 100)?;
    let known = || anyhow::Ok(trial.api().get(&format!("/api/sessions/{id}"))?["events"].clone());
    cut(&tab, &cable, || {
        let then = known()?;
        tab.until("more to happen meanwhile", || Ok((known()? != then).then_some(())))
    })?;
    grows(&tab, 200)?;
    cut(&tab, &cable, || trial.api().ended(&id, Duration::from_secs(30)).map(drop))?;
    says(&tab, &format!("{}\nThe end", counted(900)))?;
    tab.see("@entry[data-kind=command]", "behind it")?;
    let shown = "return [...document.querySelectorAll('[data-test=entry]')].map(it => Number(it.dataset.n))";
    let numbers = tab.js(shown, &[])?;
    let numbers: Vec<_> = numbers.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64).collect();
    ensure!(numbers.iter().zip(0..).all(|(n, at)| *n == at), "entries are missing or twice there: {numbers:?}");
    Ok(())
}

/// Cuts the line while something is done.
fn cut(tab: &Tab, cable: &Cable, meanwhile: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    tab.offline(true)?;
    cable.pull_out();
    tab.see("@offline", "")?;
    meanwhile()?;
    cable.put_in()?;
    tab.offline(false)?;
    tab.gone("@offline", "")
}

/// A page that was left and is come back to goes on where it was. The browser keeps it as it stood, without a connection.
pub fn back(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("burst 1500 at 200\nrun echo behind it")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    let before = grows(&tab, 100)?;
    tab.js("window.stood = true", &[])?;
    trial.go(&tab, "/")?;
    tab.see("@column", "")?;
    tab.js("history.back()", &[])?;
    grows(&tab, before + 100)?;
    let stood = tab.js("return window.stood === true", &[])?;
    ensure!(stood == true, "the browser did not keep the page, so nothing was tried");
    says(&tab, &counted(1500))?;
    tab.see("@entry[data-kind=command]", "behind it")
}

/// More tabs than a browser has connections for: each shows its session, and the first goes on where it was.
pub fn tabs(trial: &Trial) -> anyhow::Result<()> {
    let first = trial.perform("burst 100000 at 50")?;
    let tab = trial.tab(&format!("/s/{first}"))?;
    let before = grows(&tab, 10)?;
    for n in 1..=8 {
        let id = trial.perform_with(&format!("text The session number {n}"), json!({ "stay": true }))?;
        let other = trial.tab(&format!("/s/{id}"))?;
        other.see("@entry[data-kind=answer]", &format!("The session number {n}"))?;
    }
    tab.show()?;
    grows(&tab, before + 100).map(drop)
}

/// The server is killed and started again: the page says that it is gone, and then what became of the session.
pub fn restart(trial: &Trial) -> anyhow::Result<()> {
    trial.expects("ERR_CONNECTION_REFUSED");
    trial.expects("ERR_INCOMPLETE_CHUNKED_ENCODING");
    trial.expects("ERR_CONNECTION_RESET");
    trial.expects("ERR_EMPTY_RESPONSE");
    let id = trial.perform("text Before the end\nburst 100000 at 100")?;
    let (tab, board) = (trial.tab(&format!("/s/{id}"))?, trial.tab("/")?);
    grows(&tab, 30)?;
    board.see("@column[data-column=running] @card", "")?;
    trial.server.borrow_mut().restart(&trial.stage)?;
    tab.see("@session[data-state=failed]", "")?;
    tab.see("@entry[data-kind=answer]", "Before the end")?;
    tab.gone("@offline", "")?;
    board.see("@column[data-column=failed] @card", "")?;
    tab.fill("@follow-up", "text It goes on")?;
    tab.click("@send", "")?;
    tab.see("@entry[data-kind=answer]", "It goes on")
}
