//! Properties over hostile alphabets: all output is safe, and finished blocks stay finished.

use proptest::{collection::vec, prelude::*, sample::select};
use switchboard_page::html::{DiffSource, asked, code, diff, finished, line, link, markdown, plain, terminal};

use crate::checker::check;

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
        check(asked(&text, language).html.as_str());
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
