//! Renders a session as a single HTML page: no scripts, no images, no external URLs, light and dark. Agent output is
//! always escaped as text; the page's Content-Security-Policy blocks everything else as a second line of defense.

#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;
use switchboard_event::{Change, Timestamp};

use super::story::{StepContent, TranscriptStep, TranscriptToolCall, TranscriptTurn};
use super::{TranscriptDocument, format_duration, format_minute, format_usage, visible_line, visible_text};

const STYLE_CSS: &str = include_str!("style.css");

/// Pages with at least this many turns get a table of contents.
const MIN_LISTED_TURNS: usize = 4;

/// Renders the page, with times in `zone`.
#[must_use]
pub fn render_html(story: &TranscriptDocument, zone: &TimeZone) -> String {
    let mut page = HtmlPage { out: String::with_capacity(64 << 10), zone };
    page.push_head(&story.title);
    page.push_about(story);
    if story.turns.len() >= MIN_LISTED_TURNS {
        page.push_contents(&story.turns);
    }
    story.turns.iter().for_each(|turn| page.push_turn(turn));
    page.out.push_str("</body>\n</html>\n");
    page.out
}

/// A page being written. Tags are trusted; all other text goes through [`Page::text`].
struct HtmlPage<'a> {
    out: String,
    zone: &'a TimeZone,
}

impl HtmlPage<'_> {
    /// Appends trusted markup.
    fn push_tag(&mut self, tag: &str) {
        self.out.push_str(tag);
    }

    /// Appends untrusted text, escaped.
    fn push_text(&mut self, text: &str) {
        for c in visible_text(text).chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c => self.out.push(c),
            }
        }
    }

    fn push_element(&mut self, name: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.push_tag(&format!("<{name}{class}>"));
        self.push_text(text);
        self.push_tag(&format!("</{name}>\n"));
    }

    fn push_head(&mut self, title: &str) {
        self.push_tag("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.push_tag(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        );
        self.push_tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        self.push_tag("<meta name=\"referrer\" content=\"no-referrer\">\n");
        self.push_element("title", "", &visible_line(title));
        self.push_tag("<style>\n");
        self.push_tag(STYLE_CSS);
        self.push_tag("</style>\n</head>\n<body>\n");
        self.push_element("h1", "", &visible_line(title));
    }

    fn push_about(&mut self, story: &TranscriptDocument) {
        self.push_tag("<dl>\n");
        let total = format_usage(&story.usage, None);
        let all = story.about.iter().map(|(name, value)| (*name, value)).chain([("used", &total)]);
        for (name, value) in all.filter(|(_, value)| !value.is_empty()) {
            self.push_element("dt", "", name);
            self.push_element("dd", "", value);
        }
        self.push_tag("</dl>\n");
    }

    fn push_contents(&mut self, turns: &[TranscriptTurn]) {
        self.push_tag("<nav><details><summary>Turns</summary><ol>\n");
        for turn in turns.iter().filter(|turn| turn.number > 0) {
            self.push_tag(&format!("<li value=\"{0}\"><a href=\"#turn-{0}\">", turn.number));
            let prompt = visible_line(turn.prompt.as_deref().unwrap_or_default());
            self.push_text(&prompt.chars().take(120).collect::<String>());
            self.push_tag("</a></li>\n");
        }
        self.push_tag("</ol></details></nav>\n");
    }

    fn push_turn(&mut self, turn: &TranscriptTurn) {
        self.push_tag(&format!("<section id=\"turn-{0}\">\n", turn.number));
        if turn.number > 0 {
            self.push_tag(&format!("<h2><a href=\"#turn-{0}\">Turn {0}</a> ", turn.number));
            self.push_time(turn.at);
            self.push_tag("</h2>\n");
        }
        if let Some(prompt) = &turn.prompt {
            self.push_element("div", "text ask", prompt);
        }
        turn.steps.iter().for_each(|step| self.push_step(step));
        if let Some(problem) = &turn.problem {
            self.push_element("p", "bad", problem);
        }
        let figures = format_usage(&turn.usage, turn.duration_ms);
        if !figures.is_empty() {
            self.push_element("p", "end", &figures);
        }
        self.push_tag("</section>\n");
    }

    fn push_time(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.push_tag(&format!("<time datetime=\"{at}\">"));
            self.push_text(&format_minute(at, self.zone));
            self.push_tag("</time>");
        }
    }
}

/// Longer diffs are collapsed.
const MAX_OPEN_DIFF_LINES: usize = 12;

impl HtmlPage<'_> {
    fn push_step(&mut self, step: &TranscriptStep) {
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
        self.push_text(&visible_line(&did.name));
        self.push_tag("</code> ");
        let about = did.command.as_deref().unwrap_or(&did.about);
        let about: String = visible_line(about).chars().take(200).collect();
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
        self.push_element("div", "note", &visible_line(&format!("{}{to}", change.path)));
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
