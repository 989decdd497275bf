//! The list of screenshots; add a line for a new one.

use super::content::PicturedPage;
use crate::tab::BrowserTab;

pub struct PagePicture {
    pub name: &'static str,
    pub page: PicturedPage,
    /// Selector that must be visible first.
    pub waits: &'static str,
    /// Runs before the screenshot.
    pub prepare: Option<fn(&BrowserTab) -> anyhow::Result<()>>,
    pub screen: PictureScreen,
    /// `light` or `dark`.
    pub scheme: &'static str,
    /// Viewed without a token.
    pub outside: bool,
    /// Shown in the README.
    pub shown: bool,
}

#[derive(Clone, Copy)]
pub enum PictureScreen {
    Desk,
    Phone,
}

const fn page_picture(name: &'static str, page: PicturedPage, waits: &'static str) -> PagePicture {
    PagePicture {
        name,
        page,
        waits,
        prepare: None,
        screen: PictureScreen::Desk,
        scheme: "light",
        outside: false,
        shown: false,
    }
}

impl PagePicture {
    const fn dark(self) -> Self {
        Self { scheme: "dark", ..self }
    }

    const fn phone(self) -> Self {
        Self { screen: PictureScreen::Phone, ..self }
    }

    const fn shown(self) -> Self {
        Self { shown: true, ..self }
    }

    const fn outside(self) -> Self {
        Self { outside: true, ..self }
    }

    const fn after(self, prepare: fn(&BrowserTab) -> anyhow::Result<()>) -> Self {
        Self { prepare: Some(prepare), ..self }
    }
}

/// Open requests are never answered, so that all pictures show the same content. The signed-out page comes first,
/// because a browser that has signed in stays signed in.
pub const PICTURES: &[PagePicture] = &[
    page_picture("signed-out", PicturedPage::Board, "@signed-out, main").outside(),
    page_picture("board", PicturedPage::Board, "@card").shown(),
    page_picture("board-dark", PicturedPage::Board, "@card").dark().shown(),
    page_picture("board-phone", PicturedPage::Board, "@card").phone(),
    page_picture("board-empty", PicturedPage::At("/?text=nothing+like+it"), "@empty"),
    page_picture("new", PicturedPage::New, "@new-form").after(fill_prompt),
    page_picture("new-phone", PicturedPage::New, "@new-form").phone(),
    page_picture("session-streaming", PicturedPage::Streaming, "@entry[data-kind=answer]").dark(),
    page_picture("session", PicturedPage::Done, "@entry[data-kind=answer]").after(scroll_to_top).shown(),
    page_picture("session-dark", PicturedPage::Done, "@entry[data-kind=answer]").after(scroll_to_top).dark(),
    page_picture("session-phone", PicturedPage::Done, "@entry[data-kind=answer]").phone(),
    page_picture("session-raw", PicturedPage::Done, "@entry[data-kind=answer]").after(open_raw_event),
    page_picture("approval", PicturedPage::Asking, "@ask").shown(),
    page_picture("approval-phone", PicturedPage::Asking, "@ask").phone().dark().shown(),
    page_picture("question", PicturedPage::Question, "@ask"),
    page_picture("diff-side", PicturedPage::Changed, "@entry[data-kind=change]").after(show_side_diff),
    page_picture("diff-inline", PicturedPage::Changed, "@entry[data-kind=change]").after(show_inline_diff).dark(),
    page_picture("failed", PicturedPage::Failed, "@entry"),
    page_picture("history", PicturedPage::At("/history"), "@log"),
    page_picture("search", PicturedPage::Search, "@hit"),
    page_picture("search-dark", PicturedPage::Search, "@hit").dark(),
    page_picture("transcript", PicturedPage::Log, "@entry"),
    page_picture("usage", PicturedPage::At("/usage?range="), "@usage-table").shown(),
    page_picture("usage-dark", PicturedPage::At("/usage?range="), "@usage-table").dark(),
    page_picture("usage-phone", PicturedPage::At("/usage?range="), "@usage-table").phone(),
    page_picture("error", PicturedPage::At("/s/01a1e0b0-d3d8-7c70-b6cd-33c646aea9c2"), "@error"),
    page_picture("shortcuts", PicturedPage::Done, "@entry[data-kind=answer]").after(|tab| {
        tab.press_keys("?")?;
        tab.wait_for("@dialog[open]", "")
    }),
];

fn fill_prompt(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.paste_text(
        "@prompt",
        "The login form forgets the e-mail address when the password was wrong. Keep it, and add a test.",
    )
}

fn scroll_to_top(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.press_keys("gg")?;
    tab.wait_for("@entry[data-kind=user]", "")?;
    tab.wait_until_js("everything to be drawn", "return !document.querySelector('.stand-in')", &[]).map(drop)
}

fn open_raw_event(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.press_keys("kr")?;
    tab.wait_for("@raw-event", "")
}

fn show_side_diff(tab: &BrowserTab) -> anyhow::Result<()> {
    select_diff_view(tab, "side")
}

fn show_inline_diff(tab: &BrowserTab) -> anyhow::Result<()> {
    select_diff_view(tab, "inline")
}

fn select_diff_view(tab: &BrowserTab, shape: &str) -> anyhow::Result<()> {
    let now = tab.run_js("return document.querySelector('[data-test=entries]').dataset.diff", &[])?;
    if now != shape {
        tab.press_keys("v")?;
    }
    tab.wait_for(&format!("@entries[data-diff={shape}] .diff"), "")
}
