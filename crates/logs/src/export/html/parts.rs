//! Messages, reasoning and tool calls on the page.

use switchboard_event::Change;

use super::{HtmlPage, plain};
use crate::export::{
    figures::format_duration,
    story::{StepContent, TranscriptStep, TranscriptToolCall},
};

/// Longer diffs are collapsed.
const MAX_OPEN_DIFF_LINES: usize = 12;

impl HtmlPage<'_> {
    pub(super) fn push_step(&mut self, step: &TranscriptStep) {
        match &step.what {
            StepContent::Said(text) => self.push_element("div", "text", text),
            StepContent::Thought(text) => {
                self.push_tag("<details class=\"thought\"><summary>thought</summary>");
                self.push_element("div", "text", text);
                self.push_tag("</details>\n");
            }
            StepContent::Note(text) => self.push_element("p", "note", text),
            StepContent::Did(did) => self.push_tool_call(did, &step.inner),
        }
    }

    fn push_tool_call(&mut self, did: &TranscriptToolCall, inner: &[TranscriptStep]) {
        let changed: usize = did.changes.iter().map(|change| change.diff.lines().count()).sum();
        let is_open = (1..=MAX_OPEN_DIFF_LINES).contains(&changed) || did.problem.is_some();
        self.push_tag(if is_open { "<details open><summary>" } else { "<details><summary>" });
        self.push_call_heading(did);
        self.push_tag("</summary>\n");
        [&did.command, &did.input].into_iter().flatten().for_each(|text| self.push_element("pre", "", text));
        did.changes.iter().for_each(|change| self.push_change(change));
        if !inner.is_empty() {
            self.push_tag("<div class=\"inner\">\n");
            inner.iter().for_each(|step| self.push_step(step));
            self.push_tag("</div>\n");
        }
        if !did.output.trim().is_empty() {
            self.push_element("pre", "", did.output.trim_end());
        }
        if let Some(problem) = &did.problem {
            self.push_element("p", "bad", problem);
        }
        self.push_tag("</details>\n");
    }

    fn push_call_heading(&mut self, did: &TranscriptToolCall) {
        self.push_tag("<code>");
        self.push_text(&plain::visible_line(&did.name));
        self.push_tag("</code> ");
        let about = did.command.as_deref().unwrap_or(&did.about);
        let about: String = plain::visible_line(about).chars().take(200).collect();
        self.push_text(&about);
        let mut ends = did.exit_code.map(|code| format!("exit {code}")).into_iter().collect::<Vec<_>>();
        ends.extend(did.duration_ms.filter(|millis| *millis >= 1_000).map(format_duration));
        if !ends.is_empty() {
            self.push_tag(" <span class=\"note\">");
            self.push_text(&ends.join(" · "));
            self.push_tag("</span>");
        }
    }

    fn push_change(&mut self, change: &Change) {
        let to = change.to.as_deref().map(|to| format!(" → {to}")).unwrap_or_default();
        self.push_element("div", "note", &plain::visible_line(&format!("{}{to}", change.path)));
        self.push_tag("<pre>");
        for line in change.diff.lines() {
            let class = match line.as_bytes().first() {
                Some(b'+') => "add",
                Some(b'-') => "del",
                Some(b'@') => "hunk",
                _ => "",
            };
            self.push_tag(&format!("<span class=\"{class}\">"));
            self.push_text(line);
            self.push_tag("</span>\n");
        }
        self.push_tag("</pre>\n");
    }
}
