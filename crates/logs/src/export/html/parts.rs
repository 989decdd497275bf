//! What was said, thought and done, on the page.

use switchboard_event::Change;

use super::{Page, plain};
use crate::export::{
    figures::took,
    story::{Did, Step, What},
};

/// What is longer is folded.
const OPEN_LINES: usize = 12;

impl Page<'_> {
    pub(super) fn step(&mut self, step: &Step) {
        match &step.what {
            What::Said(text) => self.element("div", "text", text),
            What::Thought(text) => {
                self.tag("<details class=\"thought\"><summary>thought</summary>");
                self.element("div", "text", text);
                self.tag("</details>\n");
            }
            What::Note(text) => self.element("p", "note", text),
            What::Did(did) => self.did(did, &step.inner),
        }
    }

    fn did(&mut self, did: &Did, inner: &[Step]) {
        let changed: usize = did.changes.iter().map(|change| change.diff.lines().count()).sum();
        let is_open = (1..=OPEN_LINES).contains(&changed) || did.problem.is_some();
        self.tag(if is_open { "<details open><summary>" } else { "<details><summary>" });
        self.heading(did);
        self.tag("</summary>\n");
        [&did.command, &did.input].into_iter().flatten().for_each(|text| self.element("pre", "", text));
        did.changes.iter().for_each(|change| self.change(change));
        if !inner.is_empty() {
            self.tag("<div class=\"inner\">\n");
            inner.iter().for_each(|step| self.step(step));
            self.tag("</div>\n");
        }
        if !did.output.trim().is_empty() {
            self.element("pre", "", did.output.trim_end());
        }
        if let Some(problem) = &did.problem {
            self.element("p", "bad", problem);
        }
        self.tag("</details>\n");
    }

    fn heading(&mut self, did: &Did) {
        self.tag("<code>");
        self.text(&plain::line(&did.name));
        self.tag("</code> ");
        let about = did.command.as_deref().unwrap_or(&did.about);
        let about: String = plain::line(about).chars().take(200).collect();
        self.text(&about);
        let mut ends = did.exit_code.map(|code| format!("exit {code}")).into_iter().collect::<Vec<_>>();
        ends.extend(did.duration_ms.filter(|millis| *millis >= 1_000).map(took));
        if !ends.is_empty() {
            self.tag(" <span class=\"note\">");
            self.text(&ends.join(" · "));
            self.tag("</span>");
        }
    }

    fn change(&mut self, change: &Change) {
        let to = change.to.as_deref().map(|to| format!(" → {to}")).unwrap_or_default();
        self.element("div", "note", &plain::line(&format!("{}{to}", change.path)));
        self.tag("<pre>");
        for line in change.diff.lines() {
            let class = match line.as_bytes().first() {
                Some(b'+') => "add",
                Some(b'-') => "del",
                Some(b'@') => "hunk",
                _ => "",
            };
            self.tag(&format!("<span class=\"{class}\">"));
            self.text(line);
            self.tag("</span>\n");
        }
        self.tag("</pre>\n");
    }
}
