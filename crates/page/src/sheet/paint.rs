//! What is shown of things, as `html` and `body` make it. Placeholder: text, escaped.

use serde::Serialize;
use switchboard_event::{Item, Notice, RequestOpened, RequestResolved};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Html(String);

impl Html {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Default)]
pub struct Body {
    pub title: Html,
    pub label: Option<String>,
    pub html: Html,
    pub fold: bool,
    pub size: u32,
    pub more: bool,
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub fn line(text: &str) -> Html {
    Html(escape(text))
}

pub fn join(parts: &[Html]) -> Html {
    Html(parts.iter().map(Html::as_str).collect())
}

pub fn note(text: &str) -> Html {
    Html(format!("<p class=\"note\">{}</p>", escape(text)))
}

pub fn markdown(text: &str) -> Html {
    Html(format!("<pre>{}</pre>", escape(text)))
}

/// How much of a text are blocks that are finished.
pub fn finished(text: &str) -> usize {
    text.rfind("\n\n").map_or(0, |at| at + 2)
}

pub fn cut() -> Html {
    Html("<p class=\"cut\">…</p>".to_owned())
}

pub fn item(item: &Item, media: &str) -> Body {
    let _ = media;
    let json = serde_json::to_string_pretty(item).unwrap_or_default();
    Body { title: line(item.details.tag()), html: markdown(&json), size: 10, ..Body::default() }
}

pub fn request(request: &RequestOpened, _: Option<&RequestResolved>) -> Body {
    Body { title: line(&request.title), size: 4, ..Body::default() }
}

pub fn notice(notice: &Notice) -> Body {
    Body { title: line(notice.text.as_deref().unwrap_or("notice")), size: 1, ..Body::default() }
}

pub fn note_of(html: Html) -> Html {
    Html(format!("<p class=\"note\">{}</p>", html.as_str()))
}
