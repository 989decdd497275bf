//! Getting in: who has no token sees how to get one and nothing else, and the token stays nowhere that others look.

use anyhow::ensure;

use crate::trial::Trial;

/// Without the token, every page says how to get in; nothing of any session is shown or asked for.
pub fn outside(trial: &Trial) -> anyhow::Result<()> {
    let id = trial.perform("text a secret that nobody may see")?;
    // What the page asks for is refused.
    trial.expects("401 (Unauthorized)");
    let tab = trial.empty_tab()?;
    for path in ["/", "/history", &format!("/s/{id}")] {
        trial.go(&tab, path)?;
        tab.see("body", "switchboard serve")?;
        let shown = tab.js("return document.documentElement.textContent", &[])?.to_string();
        ensure!(!shown.contains("secret") && !shown.contains("script"), "{path} shows {shown}");
    }
    // A link of another time is told apart, and does not stay in the address bar.
    trial.go(&tab, "/history?token=of-another-time")?;
    tab.see("#old-link", "does not let in")?;
    ensure!(!tab.address()?.contains("token"), "it stays: {}", tab.address()?);
    trial.go(&tab, "/nosuch")?;
    tab.see("body", "switchboard serve")?;
    let stored = tab.js("return document.cookie + JSON.stringify(localStorage)", &[])?.to_string();
    ensure!(!stored.contains(&trial.api().token), "a token is kept: {stored}");
    Ok(())
}

/// The link lets in; the token is neither in the address nor in the history, nor anywhere that scripts can read, and
/// the server does not repeat it.
pub fn inside(trial: &Trial) -> anyhow::Result<()> {
    let (token, tab) = (trial.api().token, trial.empty_tab()?);
    tab.go(&trial.server.borrow().link())?;
    tab.gone("body", "switchboard serve")?;
    ensure!(!tab.address()?.contains(&token), "it is in the address {}", tab.address()?);
    let script = "return [document.cookie, document.referrer, document.documentElement.outerHTML, \
                  JSON.stringify(localStorage), JSON.stringify(sessionStorage), JSON.stringify(history.state), \
                  performance.getEntries().slice(1).map(it => it.name).join()]";
    let readable = tab.js(script, &[])?.to_string();
    ensure!(!readable.contains(&token), "scripts can read it: {readable}");
    trial.go(&tab, "/history")?;
    tab.gone("body", "switchboard serve")?;
    // Whoever is in stays in, whatever link is opened; where there is no page, the page says so.
    trial.go(&tab, "/usage?token=of-another-time")?;
    tab.see(".nav [aria-current=page]", "Usage")?;
    ensure!(!tab.address()?.contains("token"), "it stays: {}", tab.address()?);
    trial.expects("404 (Not Found)");
    trial.go(&tab, "/nosuch")?;
    tab.see("main", "There is no such page.")?;
    let printed = trial.server.borrow().printed();
    ensure!(printed.matches(&token).count() == 1, "the server repeats it: {printed}");
    Ok(())
}
