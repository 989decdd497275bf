//! Renders a session as a single HTML page: no scripts, no images, no external URLs, light and dark. Agent output is
//! always escaped as text; the page's Content-Security-Policy blocks everything else as a second line of defense.

mod parts;
#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;
use switchboard_event::Timestamp;

use super::{
    TranscriptDocument,
    figures::{self, format_usage},
    plain,
    story::TranscriptTurn,
};

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
        for c in plain::visible_text(text).chars() {
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
        self.push_element("title", "", &plain::visible_line(title));
        self.push_tag("<style>\n");
        self.push_tag(STYLE_CSS);
        self.push_tag("</style>\n</head>\n<body>\n");
        self.push_element("h1", "", &plain::visible_line(title));
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
            let prompt = plain::visible_line(turn.prompt.as_deref().unwrap_or_default());
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
            self.push_text(&figures::format_minute(at, self.zone));
            self.push_tag("</time>");
        }
    }
}
