//! Attacks, texts of excessive size and random markup stay safe and bounded.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use switchboard_page::html::{
    DiffSource, HtmlFragment, approval_text, code, diff, finished, line, link, markdown, plain, terminal,
};

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

/// The maximum size of any output.
const MAX_HTML_BYTES: usize = 2_500_000;

#[track_caller]
fn bounded(shown: &HtmlFragment, what: &str) {
    assert!(shown.html.as_str().len() < MAX_HTML_BYTES, "{} bytes of {what}", shown.html.as_str().len());
    check(shown.html.as_str());
}

#[test]
fn markdown_bombs_are_bounded() {
    let marks = [
        ">", "> ", "- ", "* ", "1. ", "[", "![", "](", "[a](", "*", "_", "**", "*a ", "*a_ ", "`", "~~", "<", "<a ",
        "<!--", "&", "\\", "|", "a|", "[]", "[a]: b\n", "[a]: <", "(", "a\n", "# ", "```\n", "~~~\n", "- [ ] ", "> - ",
        "\t", "<x>", "=\n", "\0",
    ];
    for mark in marks {
        let text = mark.repeat(100_000 / mark.len());
        bounded(&markdown(&text), mark);
        assert!(finished(&text) <= text.len());
    }
}

#[test]
fn nests_are_flat() {
    let html = markdown(&"> ".repeat(50_000)).html;
    assert!(html.as_str().matches("<blockquote>").count() < 100);
    let lists: String = (0..400).map(|depth| format!("{}- a\n", " ".repeat(depth * 2 % 400))).collect();
    bounded(&markdown(&lists), "lists");
}

#[test]
fn wide_tables_are_bounded() {
    let table = format!("{}\n{}\n{}", "|a".repeat(100_000), "|-".repeat(100_000), "|\n".repeat(1_000));
    bounded(&markdown(&table), "a table");
    let table = format!("{}\n{}\n{}", "|a".repeat(500), "|-".repeat(500), "|\n".repeat(20_000));
    bounded(&markdown(&table), "a table");
}

#[test]
fn long_lines_are_cut() {
    let text = "x".repeat(10 << 20);
    for shown in [plain(&text), code(&text, "rust"), terminal(&text), diff(DiffSource::Sides("", &text), "a.rs").0] {
        assert!(shown.cut && shown.html.as_str().len() < 30_000);
        bounded(&shown, "a line");
    }
    assert!(markdown(&text).cut);
    bounded(&markdown(&text), "a line");
}

#[test]
fn long_texts_keep_head_and_tail() {
    let text: String = (0..200_000).map(|number| format!("line {number}\n")).collect();
    for shown in [plain(&text), code(&text, "rust"), terminal(&text), markdown(&text)] {
        let html = shown.html.as_str();
        assert!(
            shown.cut && html.contains("line 0\n") && html.contains("line 199999") && html.contains("class=\"cut\"")
        );
        bounded(&shown, "lines");
    }
}

#[test]
fn diffs_that_claim_much_cost_nothing() {
    for header in ["@@ -1,1000000000000 +1,1000000000000 @@", "@@ -18446744073709551615,18446744073709551615 +0,0 @@"] {
        let (shown, tally) = diff(DiffSource::Unified(&format!("{header}\n-a\n+b\n")), "a.rs");
        assert_eq!((tally.added, tally.removed, shown.lines), (1, 1, 2));
        bounded(&shown, header);
    }
    let long: String = (0..300_000).map(|number| format!("+line {number}\n")).collect();
    let (shown, tally) = diff(DiffSource::Unified(&format!("@@ -0,0 +1,300000 @@\n{long}")), "a.rs");
    assert!(shown.cut && tally.added == 300_000 && shown.lines <= 401);
    bounded(&shown, "a diff");
}

#[test]
fn files_that_share_nothing_are_compared() {
    let side = |seed: usize| (0..4_000).map(|line| format!("{}\n", (line * seed) % 4_001)).collect::<String>();
    let (shown, _) = diff(DiffSource::Sides(&side(7), &side(11)), "a.txt");
    bounded(&shown, "sides");
}

#[test]
fn terminal_bombs_are_bounded() {
    let bombs = [
        "\u{1b}[31m\u{1b}[42m\u{1b}[1;2;3;4;7mx",
        "\u{1b}[9999C x\n",
        "\t",
        "\r",
        "\u{8}",
        "x\r",
        "\u{1b}]8;;x",
        "\u{1b}[",
        "\u{1b}[38;2;1;2;3mx",
        "\u{1b}[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m",
        "\u{1b}P",
        "\u{1b}[999999999999999999999Gx",
        "\n",
        "\u{1b}[1Kx",
        "\u{1b}[2K",
    ];
    for bomb in bombs {
        bounded(&terminal(&bomb.repeat(1_000_000 / bomb.len())), bomb);
    }
}

#[test]
fn hidden_characters_are_counted() {
    let html = plain(&"\u{200b}".repeat(10_000)).html;
    assert!(html.as_str().contains("U+200B×") && html.as_str().len() < 500, "{html:?}");
    bounded(&plain(&"\u{1}\u{2}".repeat(50_000)), "controls");
    bounded(&markdown(&"\u{202e}\u{202d}".repeat(50_000)), "controls");
}

#[test]
fn what_would_run_is_not_left_out() {
    let long = format!("ls {}; rm -rf ~", "a".repeat(50_000));
    let html = approval_text(&long, "bash").html;
    assert!(html.as_str().len() > 50_000 && html.as_str().contains("rf ~"));
    let hidden = format!("ls{}; evil\n{}; worse", " ".repeat(5_000), "\n".repeat(3_000));
    let html = approval_text(&hidden, "").html;
    assert!(
        html.as_str().len() < 1_000 && html.as_str().contains("evil") && html.as_str().contains("worse"),
        "{html:?}"
    );
    check(html.as_str());
    bounded(&approval_text(&"x".repeat(10 << 20), "bash"), "a command");
    bounded(&approval_text(&"x\n".repeat(5 << 20), "bash"), "a command");
}

/// Pieces with a meaning in HTML, Markdown, terminals or code.
const PIECES: &[&str] = &[
    "<",
    ">",
    "&",
    "\"",
    "'",
    "`",
    "```",
    "~~~",
    "*",
    "**",
    "_",
    "~~",
    "[",
    "]",
    "(",
    ")",
    "!",
    "|",
    "|-|",
    "-",
    "- ",
    "1. ",
    "> ",
    "# ",
    "\n",
    "\n\n",
    "  \n",
    "\r",
    "\r\n",
    "\t",
    "    ",
    " ",
    ":",
    "//",
    "https://a.b/",
    "http:",
    "javascript:",
    "mailto:x@y.z",
    "data:",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<a href=",
    "<br>",
    "<img src=x onerror=y>",
    "&lt;",
    "&#x6a;",
    "&#0;",
    "\\",
    "\0",
    "\u{1b}[",
    "\u{1b}[31m",
    "\u{1b}]8;;",
    "\u{7}",
    "\u{8}",
    "\u{9b}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{fe0f}",
    "👩",
    "é",
    "漢",
    "[a]: ",
    "[a]",
    "@@ -1,2 +3,4 @@",
    "+",
    "--- a\n",
    "+++ b\n",
    "{\"a\":1}",
    "r#\"",
    "/*",
    "*/",
    "0x1f",
    "fn ",
    "$x",
    "=",
    ";",
    "x",
    "word",
    "\\ud800",
    "<svg>",
    "<style>",
    "]]>",
    "<![CDATA[",
    "<?",
    "- [x] ",
    "==",
    "--",
];

fn nasty() -> impl Strategy<Value = String> {
    vec(select(PIECES), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn everything_shown_is_safe(text in nasty(), other in nasty(), language in select(vec!["rs", "html", "js", "sh", "json", "yaml", "diff", "css", "sql", "py"])) {
        check(markdown(&text).html.as_str());
        check(plain(&text).html.as_str());
        check(terminal(&text).html.as_str());
        check(line(&text).as_str());
        check(link(&text, &other).as_str());
        check(code(&text, language).html.as_str());
        check(approval_text(&text, language).html.as_str());
        check(diff(DiffSource::Unified(&text), &format!("a.{language}")).0.html.as_str());
        check(diff(DiffSource::Sides(&text, &other), &format!("a.{language}")).0.html.as_str());
    }

    #[test]
    fn code_loses_nothing(text in nasty(), language in select(vec!["rs", "html", "js", "sh", "json", "yaml", "css", "sql", "py", "lua"])) {
        let bare = |html: &str| {
            let mut out = String::new();
            html.split('<').for_each(|piece| out.push_str(piece.split_once('>').map_or(piece, |(_, text)| text)));
            out
        };
        // A joiner between two pieces has no effect.
        let text = text.replace(['\u{200d}', '\u{fe0f}'], "");
        prop_assert_eq!(bare(code(&text, language).html.as_str()), bare(code(&text, "").html.as_str()));
    }

    #[test]
    fn what_is_finished_stays(text in nasty(), more in nasty()) {
        // A carriage return alone ends a line for the parser, but not always the block.
        let (text, more) = (text.replace('\r', ""), more.replace('\r', ""));
        let whole = format!("{text}{more}");
        let first = finished(&text);
        let second = finished(&whole);
        prop_assert!(first <= second && second <= whole.len() && whole.is_char_boundary(second));
        // Parsing only the unfinished part has the same result.
        prop_assert_eq!(first + finished(whole.get(first..).unwrap()), second);
    }
}
