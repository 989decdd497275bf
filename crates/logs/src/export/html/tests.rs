//! Pages with hostile content.

use jiff::tz::TimeZone;
use switchboard_event::{Change, Timestamp};

use crate::export::{
    TranscriptDocument, html, markdown,
    story::{StepContent, TranscriptStep, TranscriptToolCall, TranscriptTurn},
};

const HOSTILE_TEXT: &str = "</pre></title></style><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='x' &lt; \u{202e}\x1b]0;t\x07";

/// Builds a document in which every text is `text`.
fn document_with_text(text: &str) -> TranscriptDocument {
    let given = || text.to_owned();
    let step = |what| TranscriptStep { at: Timestamp::default(), what, inner: Vec::new() };
    let change = Change { path: given(), to: Some(given()), diff: format!("+{text}\n-{text}"), ..Change::default() };
    let did = TranscriptToolCall {
        name: given(),
        about: given(),
        command: Some(given()),
        input: Some(given()),
        output: given(),
        changes: vec![change],
        problem: Some(given()),
        exit_code: Some(1),
        duration_ms: Some(5_000),
    };
    let mut call = step(StepContent::Did(Box::new(did)));
    call.inner = vec![step(StepContent::Said(given())), step(StepContent::Thought(given()))];
    let steps = vec![
        call,
        step(StepContent::Said(given())),
        step(StepContent::Thought(given())),
        step(StepContent::Note(given())),
    ];
    let turn =
        TranscriptTurn { number: 1, prompt: Some(given()), steps, problem: Some(given()), ..TranscriptTurn::default() };
    TranscriptDocument {
        title: given(),
        about: vec![("project", given())],
        turns: vec![turn; 5],
        ..TranscriptDocument::default()
    }
}

fn tag_names(page: &str) -> Vec<&str> {
    page.split('<').skip(1).filter_map(|rest| rest.split(['>', ' ', '\n']).next()).collect()
}

#[test]
fn nothing_that_an_agent_says_becomes_a_tag() {
    let (hostile, tame) = (
        html::render_html(&document_with_text(HOSTILE_TEXT), &TimeZone::UTC),
        html::render_html(&document_with_text("tame"), &TimeZone::UTC),
    );
    assert_eq!(tag_names(&hostile), tag_names(&tame));
    assert!(!tag_names(&tame).contains(&"script"));
    for c in ['\x1b', '\x07', '\u{202e}'] {
        assert!(!hostile.contains(c), "{c:?}");
    }
    let attributes = |page: &str| page.matches(['"', '\'']).count();
    assert_eq!(attributes(&hostile), attributes(&tame), "no quotation mark comes from an agent");
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let page = html::render_html(&document_with_text("tame"), &TimeZone::UTC);
    for word in ["http://", "https://", "src=", "url(", "@import", "<link", "<script"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme: dark"));
}

#[test]
fn markdown_has_no_tags_outside_of_code() {
    let page =
        markdown::render_markdown(&document_with_text("<img src=x onerror=y> ![a](https://e.org)"), &TimeZone::UTC);
    let mut in_fence = false;
    for line in page.lines() {
        let line = line.trim_start_matches(['>', ' ']);
        if line.starts_with("```") {
            in_fence = !in_fence;
        }
        assert!(in_fence || !line.contains("<img") && !line.contains("![a"), "{line}");
    }
    assert!(!in_fence);
}
