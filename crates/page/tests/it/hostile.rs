//! Attacks of agents on the browser of the user.

use switchboard_page::html::{DiffSource, code, diff, line, link, markdown, plain, terminal};

use crate::checker::check;

/// Attempts to run a script or to load something.
const ATTACKS: &[&str] = &[
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror=\"alert(1)\"//",
    "<svg onload=alert(1)>",
    "<svg><script href=\"data:,alert(1)\"/></svg>",
    "<svg><a xlink:href=\"javascript:alert(1)\"><text>x</text></a></svg>",
    "<math><mi xlink:href=\"javascript:alert(1)\">x</mi></math>",
    "<style>@import 'https://evil.example'</style>",
    "<p style=\"background:url(https://evil.example)\">x</p>",
    "<iframe src=\"javascript:alert(1)\"></iframe>",
    "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
    "<object data=\"data:text/html,x\"></object><embed src=x>",
    "<form action=\"javascript:alert(1)\"><button>x</button></form>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<base href=\"https://evil.example/\"><meta http-equiv=refresh content=0>",
    "<link rel=stylesheet href=//evil.example>",
    "<!--><script>alert(1)</script>-->",
    "<!--\n\n--!><img src=x onerror=alert(1)>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<template><script>alert(1)</script></template>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version=\"1.0\"?><x:script xmlns:x=\"http://www.w3.org/1999/xhtml\">alert(1)</x:script>",
    "\" onmouseover=\"alert(1)",
    "'><script>alert(1)</script>",
    "</pre></code></td></table><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<a\u{0}href=javascript:alert(1)>x</a>",
    "<\u{0}script>alert(1)</script>",
    "\u{feff}<script>alert(1)</script>",
];

/// Forbidden links in many disguises.
const LINKS: &[&str] = &[
    "[x](javascript:alert(1))",
    "[x](JAVASCRIPT:alert(1))",
    "[x](jav&#x61;script:alert(1))",
    "[x](java&Tab;script:alert(1))",
    "[x](java&NewLine;script:alert(1))",
    "[x](&#x1;javascript:alert(1))",
    "[x](&#106&#97&#118&#97&#115&#99&#114&#105&#112&#116&#58&#97)",
    "[x](<javascript:alert(1)>)",
    "[x](< javascript:alert(1)>)",
    "[x](<java\tscript:alert(1)>)",
    "[x](\\javascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](javascript:alert(1) \"title\")",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/\\evil.example)",
    "[x](blob:https://a/b)",
    "[x](view-source:https://a)",
    "[x](https:javascript:alert(1))",
    "[x](http://a\" onclick=\"alert(1))",
    "[x](http://a'onclick='alert(1))",
    "[x](<http://a\"><script>alert(1)</script>>)",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "[r]\n\n[r]: <data:text/html,x> 'title'",
    "[x]: javascript:alert(1)\n[x]",
    "<javascript:alert(1)>",
    "<data:text/html,<script>alert(1)</script>>",
    "<vbscript:x>",
    "<x@y.z\" onclick=\"alert(1)>",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "[![x](https://evil.example/a.png)](javascript:alert(1))",
    "[![x](javascript:alert(1))](https://a.example)",
    "![![x](javascript:alert(1))](https://a.example)",
    "![[x](javascript:alert(1))](https://a.example)",
    "[a [b](javascript:alert(1)) c](https://a.example)",
    "https://a.example/\"onmouseover=alert(1)",
    "https://a.example/<script>alert(1)</script>",
    "https://a\u{202e}b.example/",
    "www.javascript:alert(1)",
    "[x](mailto:a@b?subject=\"><script>)",
];

#[test]
fn nothing_that_agents_write_runs() {
    for attack in ATTACKS.iter().chain(LINKS) {
        let both = format!(
            "text {attack} text\n\n{attack}\n\n> {attack}\n\n- {attack}\n\n| {attack} |\n|---|\n| {attack} |\n"
        );
        for text in [*attack, &both] {
            check(markdown(text).html.as_str());
            check(markdown(&format!("```{text}\n{text}\n```\n")).html.as_str());
            check(markdown(&format!("`{text}`\n\n    {text}\n")).html.as_str());
            check(plain(text).html.as_str());
            check(terminal(text).html.as_str());
            check(line(text).as_str());
            check(link(text, text).as_str());
            for language in ["html", "rust", "js", "json", "diff", "yaml", text] {
                check(code(text, language).html.as_str());
            }
            check(diff(DiffSource::Unified(text), text).0.html.as_str());
            check(
                diff(DiffSource::Unified(&format!("@@ -1 +1 @@ {text}\n-{text}\n+{text} more\n")), "a.html")
                    .0
                    .html
                    .as_str(),
            );
            check(diff(DiffSource::Sides(text, &both), "a.rs").0.html.as_str());
        }
    }
}

#[test]
fn markup_is_shown_as_text() {
    let html = markdown("a <b onclick=x>c</b>\n\n<script>alert(1)</script>\n").html;
    assert!(html.as_str().contains("&lt;b onclick=x&gt;c&lt;/b&gt;"), "{html:?}");
    assert!(html.as_str().contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html:?}");
}

#[test]
fn links_that_lie_say_where_they_lead() {
    let html = markdown("[https://bank.example](https://evil.example)").html;
    assert!(html.as_str().contains("(https://evil.example)"), "{html:?}");
    let html = markdown("[the file](/src/main.rs)").html;
    assert!(html.as_str().contains("the file") && html.as_str().contains("(/src/main.rs)"), "{html:?}");
    assert!(!html.as_str().contains("href"), "{html:?}");
}

#[test]
fn images_of_the_web_are_not_loaded() {
    let html = markdown("![pixel](https://evil.example/x.png)").html;
    assert!(!html.as_str().contains("<img") && html.as_str().contains("image: pixel"), "{html:?}");
}

#[test]
fn what_hides_is_shown_everywhere() {
    let text = "a\u{202e}b\u{200b}c";
    let diffed = diff(DiffSource::Unified("@@ -1 +1 @@\n-a\n+a\u{202e}b\u{200b}c\n"), "x.rs").0.html;
    let fenced = markdown(&format!("```rust\n{text}\n```\n")).html;
    for html in
        [markdown(text).html, fenced, plain(text).html, code(text, "rs").html, terminal(text).html, line(text), diffed]
    {
        let shown = |number: &str| html.as_str().contains(&format!("<span class=\"ctl\">{number}</span>"));
        assert!(shown("U+202E") && shown("U+200B"), "{html:?}");
        check(html.as_str());
    }
}

#[test]
fn terminals_only_show() {
    let text = "\u{1b}]0;title\u{7}\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\\u{1b}[2J\u{1b}[31mred\u{1b}[0m\u{1b}P1$q\u{1b}\\\u{1b}[6n";
    let html = terminal(text).html;
    assert_eq!(html.as_str(), "<pre class=\"term\">link<span class=\"a-1\">red</span>\n</pre>");
}
