//! Authentication: without a token the page shows only how to sign in, and the token is stored nowhere that scripts can
//! read.

use anyhow::ensure;

use crate::trial::PageTrial;

/// Without the token, every page shows how to sign in; no session data is shown or requested.
pub fn reject_without_token(trial: &PageTrial) -> anyhow::Result<()> {
    let id = trial.start_script("text a secret that nobody may see")?;
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
