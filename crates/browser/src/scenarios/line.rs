//! The line to the server: it is cut, the page is loaded anew, the server dies. Nothing is missed, and nothing is shown
//! twice.

use std::time::Duration;

use anyhow::ensure;

use super::begun::{counted, grows, says};
use crate::trial::Trial;

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

/// Without network the page says so; with it again, it goes on where it was.
pub fn offline(trial: &Trial) -> anyhow::Result<()> {
    trial.expects("ERR_INTERNET_DISCONNECTED");
    let id = trial.perform("burst 900 at 200\nthink about it\nrun echo behind it\ntext The end")?;
    let tab = trial.tab(&format!("/s/{id}"))?;
    grows(&tab, 100)?;
    tab.offline(true)?;
    tab.see("@offline", "")?;
    let known = |trial: &Trial| anyhow::Ok(trial.api().get(&format!("/api/sessions/{id}"))?["events"].clone());
    let then = known(trial)?;
    tab.until("more to happen meanwhile", || Ok((known(trial)? != then).then_some(())))?;
    tab.offline(false)?;
    tab.gone("@offline", "")?;
    grows(&tab, 200)?;
    tab.offline(true)?;
    tab.see("@offline", "")?;
    trial.api().ended(&id, Duration::from_secs(30))?;
    tab.offline(false)?;
    tab.gone("@offline", "")?;
    says(&tab, &format!("{}\nThe end", counted(900)))?;
    tab.see("@entry[data-kind=command]", "behind it")?;
    let kinds = "return [...document.querySelectorAll('[data-test=entry]')].map(it => Number(it.dataset.n))";
    let numbers = tab.js(kinds, &[])?;
    let numbers: Vec<_> = numbers.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64).collect();
    ensure!(numbers.iter().zip(0..).all(|(n, at)| *n == at), "entries are missing or twice there: {numbers:?}");
    Ok(())
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
