//! Content that is designed to freeze the renderer. The tests measure no time: output is bounded, and a slow case would
//! stall the suite.

use switchboard_page::html::{DiffSource, HtmlFragment, asked, code, diff, finished, markdown, plain, terminal};

use crate::checker::check;

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
    let html = asked(&long, "bash").html;
    assert!(html.as_str().len() > 50_000 && html.as_str().contains("rf ~"));
    let hidden = format!("ls{}; evil\n{}; worse", " ".repeat(5_000), "\n".repeat(3_000));
    let html = asked(&hidden, "").html;
    assert!(
        html.as_str().len() < 1_000 && html.as_str().contains("evil") && html.as_str().contains("worse"),
        "{html:?}"
    );
    check(html.as_str());
    bounded(&asked(&"x".repeat(10 << 20), "bash"), "a command");
    bounded(&asked(&"x\n".repeat(5 << 20), "bash"), "a command");
}
