//! A story as one page of HTML: no script, no picture, no address but its own, light and dark. What agents say is text
//! here and nothing else; the page's own policy forbids the rest, should a browser see it otherwise.

mod parts;
#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;
use switchboard_event::Timestamp;

use super::{
    Story,
    figures::{self, used},
    plain,
    story::Turn,
};

const STYLE: &str = include_str!("style.css");

/// With so many turns there is a list of them.
const LISTED: usize = 4;

/// The page. Times are those of the zone.
#[must_use]
pub fn page(story: &Story, zone: &TimeZone) -> String {
    let mut page = Page { out: String::with_capacity(64 << 10), zone };
    page.head(&story.title);
    page.about(story);
    if story.turns.len() >= LISTED {
        page.contents(&story.turns);
    }
    story.turns.iter().for_each(|turn| page.turn(turn));
    page.out.push_str("</body>\n</html>\n");
    page.out
}

/// A page as it is written. Tags are ours; all text goes through [`Page::text`].
struct Page<'a> {
    out: String,
    zone: &'a TimeZone,
}

impl Page<'_> {
    /// Adds what is ours.
    fn tag(&mut self, tag: &str) {
        self.out.push_str(tag);
    }

    /// Adds what is not ours.
    fn text(&mut self, text: &str) {
        for c in plain::text(text).chars() {
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

    /// An element with a text.
    fn element(&mut self, name: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.tag(&format!("<{name}{class}>"));
        self.text(text);
        self.tag(&format!("</{name}>\n"));
    }

    fn head(&mut self, title: &str) {
        self.tag("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.tag(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        );
        self.tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        self.tag("<meta name=\"referrer\" content=\"no-referrer\">\n");
        self.element("title", "", &plain::line(title));
        self.tag("<style>\n");
        self.tag(STYLE);
        self.tag("</style>\n</head>\n<body>\n");
        self.element("h1", "", &plain::line(title));
    }

    fn about(&mut self, story: &Story) {
        self.tag("<dl>\n");
        let total = used(&story.usage, None);
        let all = story.about.iter().map(|(name, value)| (*name, value)).chain([("used", &total)]);
        for (name, value) in all.filter(|(_, value)| !value.is_empty()) {
            self.element("dt", "", name);
            self.element("dd", "", value);
        }
        self.tag("</dl>\n");
    }

    fn contents(&mut self, turns: &[Turn]) {
        self.tag("<nav><details><summary>Turns</summary><ol>\n");
        for turn in turns.iter().filter(|turn| turn.number > 0) {
            self.tag(&format!("<li value=\"{0}\"><a href=\"#turn-{0}\">", turn.number));
            let prompt = plain::line(turn.prompt.as_deref().unwrap_or_default());
            self.text(&prompt.chars().take(120).collect::<String>());
            self.tag("</a></li>\n");
        }
        self.tag("</ol></details></nav>\n");
    }

    fn turn(&mut self, turn: &Turn) {
        self.tag(&format!("<section id=\"turn-{0}\">\n", turn.number));
        if turn.number > 0 {
            self.tag(&format!("<h2><a href=\"#turn-{0}\">Turn {0}</a> ", turn.number));
            self.time(turn.at);
            self.tag("</h2>\n");
        }
        if let Some(prompt) = &turn.prompt {
            self.element("div", "text ask", prompt);
        }
        turn.steps.iter().for_each(|step| self.step(step));
        if let Some(problem) = &turn.problem {
            self.element("p", "bad", problem);
        }
        let figures = used(&turn.usage, turn.duration_ms);
        if !figures.is_empty() {
            self.element("p", "end", &figures);
        }
        self.tag("</section>\n");
    }

    fn time(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.tag(&format!("<time datetime=\"{at}\">"));
            self.text(&figures::minute(at, self.zone));
            self.tag("</time>");
        }
    }
}
