//! Hostile output of agents: nothing of it is executed, and nothing freezes the tab.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::kinds::scroll_to;
use crate::scenario::PageTrial;
use crate::tab::BrowserTab;

/// Far above the normal response time, far below a tab that hangs.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(5);

/// Payloads that would set `__pwned` if the page executed them.
const INJECTION_PAYLOADS: &[&str] = &[
    "<script>window.__pwned = 1</script>",
    "<img src=x onerror=\"window.__pwned = 2\">",
    "<svg onload=\"window.__pwned = 3\"><script>window.__pwned = 3</script></svg>",
    "<iframe srcdoc=\"<script>parent.__pwned = 4</script>\"></iframe>",
    "<a href=\"javascript:window.__pwned = 5\" id=bait>click me</a>",
    "[click me](javascript:window.__pwned%20=%206)",
    "[click me](JaVaScRiPt&colon;window.__pwned=7)",
    "[click me](data:text/html,<script>opener.__pwned=8</script>)",
    "![x](x\"onerror=\"window.__pwned=9)",
    "![x](http://127.0.0.1:9/tracking.png)",
    "<style>body { display: none }</style>",
    "<form action=\"/api/sessions\"><input name=prompt autofocus onfocus=\"window.__pwned=10\"></form>",
    "<base href=\"http://127.0.0.1:9/\">",
    "<meta http-equiv=refresh content=\"0;url=http://127.0.0.1:9/\">",
    "<details open ontoggle=\"window.__pwned=11\"><summary>x</summary></details>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=\"window.__pwned=12\">",
    "<noscript><p title=\"</noscript><img src=x onerror=window.__pwned=13>\">",
    "</textarea><script>window.__pwned = 14</script>",
    "```\n</code></pre><script>window.__pwned = 15</script>\n```",
    "```\"><img src=x onerror=window.__pwned=16>\nx\n```",
    "<div class=\"ask\" data-test=\"ask\"><button data-test=\"allow\">Allow</button></div>",
    "<span style=\"position:fixed;inset:0;z-index:9999;background:red\">over everything</span>",
    "<https://example.com/\"onmouseover=\"window.__pwned=17>",
    "\u{202e}txt.exe\u{202c} and \u{2066}hidden\u{2069}",
    "\u{1b}]8;;javascript:window.__pwned=18\u{7}link\u{1b}]8;;\u{7}\u{1b}[2J\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
];

/// Returns elements and attributes that no entry may have.
const FORBIDDEN_ELEMENTS_JS: &str = "const all = [...document.querySelectorAll('#page *')]; return all.filter(it => \
    ['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'STYLE', 'BASE', 'META', 'LINK'].includes(it.tagName) \
    || [...it.attributes].some(one => one.name.startsWith('on') || one.name == 'style' && it.closest('[data-test=entry-body]') \
        || ['href', 'src', 'action', 'srcdoc'].includes(one.name) \
            && !/^(https?:|mailto:|\\/|#|blob:)/.test(one.value)) \
    || it.tagName == 'IMG' && !it.src.startsWith(location.origin)).map(it => it.outerHTML.slice(0, 200))";

/// Checks that no payload was executed.
fn check_harmless(tab: &BrowserTab) -> anyhow::Result<()> {
    let pwned = tab.run_js("return window.__pwned ?? null", &[])?;
    ensure!(pwned.is_null(), "bait {pwned} was taken");
    let forbidden = tab.run_js(FORBIDDEN_ELEMENTS_JS, &[])?;
    ensure!(forbidden.as_array().is_some_and(Vec::is_empty), "the page has {forbidden:#}");
    Ok(())
}

/// Checks that the page responds in time.
fn check_responsive(tab: &BrowserTab) -> anyhow::Result<()> {
    let begin = Instant::now();
    tab.press_keys("?")?;
    tab.wait_for("@dialog[open]", "")?;
    tab.press_key(&thirtyfour::Key::Escape)?;
    tab.wait_until_gone("@dialog[open]", "")?;
    ensure!(begin.elapsed() < MAX_RESPONSE_TIME, "the page took {:?} to answer", begin.elapsed());
    Ok(())
}

/// HTML, scripts, links, terminal escapes and bidi characters wherever the page shows agent output.
pub fn show_hostile_text(trial: &PageTrial) -> anyhow::Result<()> {
    let quoted: Vec<_> = INJECTION_PAYLOADS.iter().map(|bait| json!(bait).to_string()).collect();
    let says = quoted.iter().map(|bait| format!("say {bait}\nrun cat page => {bait}\n"));
    let named = INJECTION_PAYLOADS.iter().filter(|bait| !bait.contains('\n')).take(12);
    let named = named.map(|bait| {
        format!(
            "run {bait}\nedit {bait}\nplan {bait}\nsubagent {bait}\nsearch {bait}\nretry {bait}\nmcp {bait} {bait}\n"
        )
    });
    let script: String = says.chain(named).collect();
    let end =
        "approve <img src=x onerror=window.__pwned=19>\nask <b onclick=x>Which?</b> | <i>one</i> | two\ntext the end";
    let id = trial.start_script(&format!("{script}{end}"))?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    let board = trial.open_tab("/")?;
    board.wait_for("@card @ask", "")?;
    check_harmless(&board)?;
    tab.wait_for("@ask", "Allow")?;
    tab.click("@ask @allow", "")?;
    tab.click("@choice", "<i>one</i>")?;
    tab.wait_for("@entry[data-kind=answer]", "the end")?;
    scroll_through(&tab)?;
    tab.click("@entry-title", "")?;
    check_harmless(&tab)?;
    check_responsive(&tab)?;
    ensure!(tab.current_url()?.contains(&id), "it went to {}", tab.current_url()?);
    check_bidi_controls(&tab)
}

/// Scrolls over every entry and unfolds it.
fn scroll_through(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.press_keys("gg")?;
    let step = "const it = document.querySelector('[data-test=entries]'); \
                document.querySelectorAll('[data-test=fold][aria-expanded=false]').forEach(one => one.hidden || one.click()); \
                const before = it.scrollTop; \
                it.scrollTop += Math.max(it.clientHeight * 0.8, it.scrollHeight / 150); return it.scrollTop <= before + 1";
    for _ in 0..400 {
        check_harmless(tab)?;
        if tab.run_js(step, &[])? == true {
            return Ok(());
        }
    }
    anyhow::bail!("the end of the list is never reached")
}

/// Bidi control characters are made visible and have no effect.
fn check_bidi_controls(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.press_keys("gg")?;
    scroll_to(tab, "@entry[data-kind=answer]", "txt.exe")?;
    let shown = tab.texts_of("@entry[data-kind=answer] @entry-body")?.join("");
    ensure!(!shown.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{7}']), "a character that does something is shown");
    Ok(())
}

/// A line of 10 MB, a change of 100,000 lines, and Markdown that explodes.
pub fn show_huge_output(trial: &PageTrial) -> anyhow::Result<()> {
    let bombs = [
        r#"run cat big => "0123456789abcdef" * 655360"#,
        r#"run yes => "y\n" * 1000000"#,
        r#"say "x" * 10000000"#,
        r#"say "lorem ipsum\n" * 200000"#,
        r#"edit huge.txt => "a line of text\n" * 100000 => "another line of text\n" * 100000"#,
        r#"edit long.txt => "a" * 2000000 => "b" * 2000000"#,
        r#"say "> " * 5000 "deep""#,
        r#"say "- " * 5000 "deep""#,
        r#"say "[" * 20000 "x" "](y)" * 20000"#,
        r#"say "*_" * 20000 "x""#,
        r#"say "|a" * 2000 "\n" "|-" * 2000 "\n" "|b" * 2000"#,
        r#"say "[a]: <" * 20000"#,
        r#"say "<!--" * 20000"#,
        r#"say "`" * 9999 "x""#,
        "say \"\\u001b[31mx\" * 200000",
        "run colours => \"\\u001b[31mx\\u001b[32my\" * 200000",
        "say \"\\u0300\" * 50000",
        "text the end of it all",
    ];
    let id = trial.start_script(&bombs.join("\n"))?;
    let tab = trial.open_tab(&format!("/s/{id}"))?;
    trial.api_client().wait_for_end(&id, Duration::from_secs(60))?;
    tab.wait_for("@entry[data-kind=answer]", "the end of it all")?;
    check_responsive(&tab)?;
    scroll_through(&tab)?;
    check_responsive(&tab)?;
    let used = tab.send_cdp_command("Runtime.getHeapUsage", json!({}))?;
    let used = used["usedSize"].as_f64().context("no heap")? / 1e6;
    ensure!(used < 300.0, "the page holds {used} MB");
    trial.show_page(&tab, "/")?;
    tab.wait_for("@card", "")?;
    check_responsive(&tab)
}
