//! What agents and their tools say is never obeyed by a terminal or a browser.

use super::{Log, Machine};

/// Colours, the title of the window, the clipboard, a bell, text turned around, what ends a line, tags.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{202e}gpj\u{2066}\r\u{8}<script>alert(1)</script>needle";

fn machine() -> Machine {
    let log = Log::new("22222222-1111-4111-8111-111111111111")
        .asks(HOSTILE)
        .thinks(HOSTILE)
        .runs(HOSTILE, HOSTILE)
        .says(HOSTILE)
        .record(serde_json::json!({"type": HOSTILE}));
    Machine::with(&[log])
}

fn obeyed(text: &str) -> Vec<char> {
    let turns = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| c.is_control() && !"\n\t".contains(*c) || turns(c)).collect()
}

#[test]
fn no_sequence_reaches_a_terminal() {
    let machine = machine();
    for args in [
        &["list"][..],
        &["show", "last"],
        &["show", "last", "--full"],
        &["search", "needle"],
        &["doctor"],
        &["export", "-f", "markdown"],
        &["export", "-f", "html"],
    ] {
        let ran = machine.logs(args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stdout.is_empty() && obeyed(&ran.stdout).is_empty(), "{args:?}: {:?}", ran.stdout);
        assert!(obeyed(&ran.stderr).is_empty(), "{args:?}: {:?}", ran.stderr);
    }
}

#[test]
fn no_tag_reaches_a_browser() {
    let page = machine().logs(&["export", "-f", "html"]).ok();
    assert!(page.contains("needle") && !page.contains("<script"), "{page}");
}

#[test]
fn a_record_of_nobodys_kind_is_told() {
    let troubles = machine().objects(&["doctor", "--json"]);
    let told = troubles.iter().find(|object| object["type"] == "trouble").unwrap();
    assert!(told["what"].as_str().unwrap().contains("unknown kind"), "{told}");
    assert!(told["offset"].as_u64().unwrap() > 0 && told["times"] == 1 && told["agent"] == "claude", "{told}");
}
