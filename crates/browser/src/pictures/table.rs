//! The pictures. A new one is a line here.

use super::content::Page;
use crate::tab::Tab;

/// One picture.
pub struct Picture {
    /// The name of its file.
    pub name: &'static str,
    /// What is shown.
    pub page: Page,
    /// What must be there.
    pub waits: &'static str,
    /// What is done before.
    pub prepare: Option<fn(&Tab) -> anyhow::Result<()>>,
    /// On what.
    pub screen: Screen,
    /// Light or dark.
    pub scheme: &'static str,
    /// By somebody who has no token.
    pub outside: bool,
    /// The README shows it.
    pub shown: bool,
}

/// What a page is shown on.
#[derive(Clone, Copy)]
pub enum Screen {
    /// A computer.
    Desk,
    /// A phone.
    Phone,
}

const fn picture(name: &'static str, page: Page, waits: &'static str) -> Picture {
    Picture { name, page, waits, prepare: None, screen: Screen::Desk, scheme: "light", outside: false, shown: false }
}

impl Picture {
    const fn dark(self) -> Self {
        Self { scheme: "dark", ..self }
    }

    const fn phone(self) -> Self {
        Self { screen: Screen::Phone, ..self }
    }

    const fn shown(self) -> Self {
        Self { shown: true, ..self }
    }

    const fn outside(self) -> Self {
        Self { outside: true, ..self }
    }

    const fn after(self, prepare: fn(&Tab) -> anyhow::Result<()>) -> Self {
        Self { prepare: Some(prepare), ..self }
    }
}

/// Those that wait for an answer are answered by nobody, so that all pictures can be taken of the same content. Whoever
/// has no token is pictured first: a browser that was let in stays in.
pub const PICTURES: &[Picture] = &[
    picture("signed-out", Page::Board, "@signed-out, main").outside(),
    picture("board", Page::Board, "@card").shown(),
    picture("board-dark", Page::Board, "@card").dark().shown(),
    picture("board-phone", Page::Board, "@card").phone(),
    picture("board-empty", Page::At("/?text=nothing+like+it"), "@empty"),
    picture("new", Page::New, "@new-form").after(written),
    picture("new-phone", Page::New, "@new-form").phone(),
    picture("session-streaming", Page::Streaming, "@entry[data-kind=answer]").dark(),
    picture("session", Page::Done, "@entry[data-kind=answer]").after(top).shown(),
    picture("session-dark", Page::Done, "@entry[data-kind=answer]").after(top).dark(),
    picture("session-phone", Page::Done, "@entry[data-kind=answer]").phone(),
    picture("session-raw", Page::Done, "@entry[data-kind=answer]").after(raw),
    picture("approval", Page::Asking, "@ask").shown(),
    picture("approval-phone", Page::Asking, "@ask").phone().dark().shown(),
    picture("question", Page::Question, "@ask"),
    picture("diff-side", Page::Changed, "@entry[data-kind=change]").after(side),
    picture("diff-inline", Page::Changed, "@entry[data-kind=change]").after(inline).dark(),
    picture("failed", Page::Failed, "@entry"),
    picture("history", Page::At("/history"), "@log"),
    picture("search", Page::Search, "@hit"),
    picture("search-dark", Page::Search, "@hit").dark(),
    picture("transcript", Page::Log, "@entry"),
    picture("usage", Page::At("/usage?range="), "@usage-table").shown(),
    picture("usage-dark", Page::At("/usage?range="), "@usage-table").dark(),
    picture("usage-phone", Page::At("/usage?range="), "@usage-table").phone(),
    picture("error", Page::At("/s/01a1e0b0-d3d8-7c70-b6cd-33c646aea9c2"), "@error"),
    picture("shortcuts", Page::Done, "@entry[data-kind=answer]").after(|tab| {
        tab.press("?")?;
        tab.see("@dialog[open]", "")
    }),
];

fn written(tab: &Tab) -> anyhow::Result<()> {
    tab.paste(
        "@prompt",
        "The login form forgets the e-mail address when the password was wrong. Keep it, and add a test.",
    )
}

fn top(tab: &Tab) -> anyhow::Result<()> {
    tab.press("gg")?;
    tab.see("@entry[data-kind=user]", "")?;
    tab.until_js("everything to be drawn", "return !document.querySelector('.stand-in')", &[]).map(drop)
}

fn raw(tab: &Tab) -> anyhow::Result<()> {
    tab.press("kr")?;
    tab.see("@raw-event", "")
}

fn side(tab: &Tab) -> anyhow::Result<()> {
    shape(tab, "side")
}

fn inline(tab: &Tab) -> anyhow::Result<()> {
    shape(tab, "inline")
}

fn shape(tab: &Tab, shape: &str) -> anyhow::Result<()> {
    let now = tab.js("return document.querySelector('[data-test=entries]').dataset.diff", &[])?;
    if now != shape {
        tab.press("v")?;
    }
    tab.see(&format!("@entries[data-diff={shape}] .diff"), "")
}
