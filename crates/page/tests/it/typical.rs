//! Typical output of agents.

use insta::assert_snapshot;
use switchboard_page::html::{DiffSource, code, diff, markdown, plain, terminal};

use crate::checker::check;

/// Checks the HTML and puts each element on its own line, so that diffs are readable.
fn shown(html: &str) -> String {
    check(html);
    html.replace("<tr", "\n<tr").replace("<li", "\n<li").replace("<p", "\n<p").replace("<table", "\n<table")
}

#[test]
fn an_answer() {
    let text = "# Done\n\nI changed `main.rs`, see [the docs](https://docs.example/a?b=1&c=2) and https://a.example/x_y_z.\nNext line.\n\n\
        1. first\n2. second\n   - nested *em* **strong** ~~gone~~\n\n- [x] done\n- [ ] open\n\n> quoted\n\n\
        | a | b |\n|---|--:|\n| 1 | <br> x |\n\n```rust\nfn main() {\n    println!(\"hi {}\", 1); // say\n}\n```\n\n---\n\n5. five\n";
    assert_snapshot!(shown(markdown(text).html.as_str()));
}

#[test]
fn code_of_several_languages() {
    let samples = [
        (
            "rust",
            "#[derive(Debug)]\npub struct A<'a> { x: &'a str }\nlet c = 'x'; let r = r#\"raw \"x\"\"#; /* a\nb */ MAX + 0x1f;",
        ),
        ("ts", "export const f = async (a: string) => `v ${a}\n more`; // c\nclass Foo extends Bar {}"),
        ("python", "@wraps(f)\ndef foo(self, x=None):\n    \"\"\"Doc\n    string.\"\"\"\n    return f'{x}'  # c"),
        ("json", "{\"name\": \"a\\\"b\", \"n\": [1, true, null]}"),
        ("bash", "for f in *.rs; do echo \"$f\" # c\ndone"),
        ("html", "<div class=\"a\"><!-- c\n c --><p>text</p></div>"),
        ("yaml", "name: x # c\nlist:\n  - a: true"),
        ("sql", "SELECT a FROM b WHERE c = 'it' -- c"),
        ("diff", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new"),
    ];
    let all: Vec<String> = samples.iter().map(|(language, text)| shown(code(text, language).html.as_str())).collect();
    assert_snapshot!(all.join("\n"));
}

#[test]
fn output_of_a_build() {
    let text = "\u{1b}[1m\u{1b}[32m   Compiling\u{1b}[0m a v0.1.0\r\nDownloading 10%\rDownloading 50%\rDownloading 100%\n\
        \u{1b}[38;5;196merror\u{1b}[0m: \u{1b}[48;2;0;0;230mblue\u{1b}[49m plain\nab\u{8}c\n12345\r\u{1b}[Kx\n\ttab <b>\n";
    assert_snapshot!(shown(terminal(text).html.as_str()));
}

#[test]
fn a_change() {
    let text = "@@ -1,4 +1,5 @@ mod a;\n fn main() {\n-    let a = 1;\n+    let a = 2;\n+    let b = a;\n }\n@@ -20,2 +21,1 @@\n x\n-y\n";
    let (html, tally) = diff(DiffSource::Unified(text), "src/main.rs");
    assert_eq!((tally.added, tally.removed), (2, 2));
    assert_snapshot!(shown(html.html.as_str()));
}

#[test]
fn a_change_known_by_its_sides() {
    let before: String = (1..=30).map(|number| format!("line {number}\n")).collect();
    let after = before.replace("line 3\n", "line three\n").replace("line 25\n", "");
    assert_snapshot!(shown(diff(DiffSource::Sides(&before, &after), "a.txt").0.html.as_str()));
}

#[test]
fn a_new_file_has_one_table() {
    let html = diff(DiffSource::Unified("@@ -0,0 +1,2 @@\n+a\n+b\n"), "a.txt").0.html;
    assert_eq!(html.as_str().matches("<table").count(), 1);
    assert_snapshot!(shown(html.as_str()));
}

#[test]
fn text_as_it_is() {
    assert_snapshot!(shown(plain("a <b> & \"c\"\r\n\ttab\n👩\u{200d}💻 ❤\u{fe0f}\n").html.as_str()));
}
