//! `pictures`: screenshots of each page and state with invented content, as small PNG files.

use std::collections::HashMap;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use color_quant::NeuQuant;
use serde_json::json;
use switchboard_testkit::corpus::{self, CorpusOptions};

use crate::scenario::PageTrial;
use crate::tab::BrowserTab;
use crate::{BrowserPrograms, print_line};

/// Take a picture of each page and state
#[derive(Args)]
pub struct PicturesArgs {
    #[command(flatten)]
    place: BrowserPrograms,
    /// Where to
    #[arg(long)]
    folder: PathBuf,
    /// Only those that the README shows
    #[arg(long)]
    shown: bool,
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
}

pub fn run(args: &PicturesArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let trial = PageTrial::new(&args.place)?;
    let content = PictureContent::create(&trial)?;
    // All pictures share a tab: every open tab holds a connection, and a browser has six per server.
    let tab = trial.open_empty_tab()?;
    for picture in PICTURES.iter().filter(|it| (it.shown || !args.shown) && it.name.contains(&args.only)) {
        let bytes = take_picture(&trial, &content, picture, &tab).with_context(|| picture.name)?;
        let file = args.folder.join(format!("{}.png", picture.name));
        fs::write(&file, &bytes)?;
        print_line(&format!("{} ({} KB)", file.display(), bytes.len() / 1024));
    }
    drop(trial.shut_down());
    Ok(())
}

fn take_picture(
    trial: &PageTrial,
    content: &PictureContent,
    picture: &PagePicture,
    tab: &BrowserTab,
) -> anyhow::Result<Vec<u8>> {
    let (width, height, scale) = match picture.screen {
        PictureScreen::Desk => (1280, 800, 1.0),
        PictureScreen::Phone => (390, 844, 2.0),
    };
    tab.set_viewport(width, height, scale)?;
    tab.set_color_scheme(picture.scheme)?;
    if !picture.outside {
        tab.navigate(&trial.server.borrow().sign_in_link())?;
    }
    trial.show_page(tab, &content.page_path(picture.page))?;
    tab.wait_for(picture.waits, "")?;
    if let Some(prepare) = picture.prepare {
        prepare(tab)?;
    }
    encode_with_palette(&tab.take_screenshot()?)
}

struct PagePicture {
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
enum PictureScreen {
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
const PICTURES: &[PagePicture] = &[
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

#[derive(Clone, Copy)]
enum PicturedPage {
    Board,
    New,
    Streaming,
    Done,
    /// A session that waits for an approval.
    Asking,
    /// A session that asks a question.
    Question,
    Changed,
    Failed,
    Search,
    Log,
    /// Any other path.
    At(&'static str),
}

struct PictureContent {
    streaming: String,
    done: String,
    asking: String,
    question: String,
    changed: String,
    failed: String,
    word: String,
    log: String,
}

impl PictureContent {
    fn create(trial: &PageTrial) -> anyhow::Result<Self> {
        let truth = corpus::write_corpus(
            trial.stage.root_dir(),
            &CorpusOptions { bytes: 3_000_000, ..CorpusOptions::small(3) },
        )?;
        let begin = |project: &str, script: &str| trial.start_script_with(script, json!({ "projectId": project }));
        let failed = begin("mail-gateway", include_str!("screenshots/scripts/failed.txt"))?;
        let changed = begin("billing", include_str!("screenshots/scripts/changed.txt"))?;
        let done = begin("orchard", include_str!("screenshots/scripts/done.txt"))?;
        for other in [include_str!("screenshots/scripts/notes.txt"), include_str!("screenshots/scripts/release.txt")] {
            trial.api_client().wait_for_end(&begin("orchard", other)?, Duration::from_secs(20))?;
        }
        for id in [&failed, &changed, &done] {
            trial.api_client().wait_for_end(id, Duration::from_secs(20))?;
        }
        let question = begin("compiler", include_str!("screenshots/scripts/question.txt"))?;
        let asking = begin("orchard", include_str!("screenshots/scripts/asking.txt"))?;
        let streaming = begin("compiler", include_str!("screenshots/scripts/streaming.txt"))?;
        let log = truth.sessions.keys().next().context("no log")?.clone();
        Ok(Self { streaming, done, asking, question, changed, failed, word: truth.common, log })
    }

    fn page_path(&self, page: PicturedPage) -> String {
        let session = |id: &str| format!("/s/{id}");
        match page {
            PicturedPage::Board => "/".to_owned(),
            PicturedPage::New => "/new".to_owned(),
            PicturedPage::Streaming => session(&self.streaming),
            PicturedPage::Done => session(&self.done),
            PicturedPage::Asking => session(&self.asking),
            PicturedPage::Question => session(&self.question),
            PicturedPage::Changed => session(&self.changed),
            PicturedPage::Failed => session(&self.failed),
            PicturedPage::Search => format!("/history?q={}", self.word),
            PicturedPage::Log => format!("/h/{}", self.log),
            PicturedPage::At(path) => path.to_owned(),
        }
    }
}

const MAX_PALETTE_COLORS: usize = 256;

/// One pixel in ten is sampled for the palette: screens repeat themselves.
const QUANTIZER_SAMPLE_FACTOR: i32 = 10;

/// Encodes the same picture with a palette.
fn encode_with_palette(whole: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut decoder = png::Decoder::new(Cursor::new(whole));
    decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("too large")?];
    let info = reader.next_frame(&mut pixels)?;
    ensure!(info.color_type == png::ColorType::Rgba, "a picture in {:?}", info.color_type);
    let (palette, indexes) = build_palette(&pixels);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, info.width, info.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indexes)?;
    writer.finish()?;
    Ok(file)
}

/// Returns a palette and the palette index of each pixel. The colors are exact if there are few, otherwise the nearest
/// of the best palette.
fn build_palette(pixels: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut known = HashMap::new();
    for pixel in pixels.chunks_exact(4) {
        let next = known.len();
        known.entry(pixel).or_insert(next);
        if known.len() > MAX_PALETTE_COLORS {
            let quantizer = NeuQuant::new(QUANTIZER_SAMPLE_FACTOR, MAX_PALETTE_COLORS, pixels);
            let mut nearest: HashMap<&[u8], u8> = HashMap::new();
            let index = |pixel| *nearest.entry(pixel).or_insert_with(|| palette_index(quantizer.index_of(pixel)));
            return (quantizer.color_map_rgb(), pixels.chunks_exact(4).map(index).collect());
        }
    }
    let mut palette = vec![0; known.len() * 3];
    for (pixel, index) in &known {
        for (to, from) in palette.iter_mut().skip(index * 3).zip(pixel.iter().take(3)) {
            *to = *from;
        }
    }
    let index = |pixel| palette_index(known.get(pixel).copied().unwrap_or_default());
    (palette, pixels.chunks_exact(4).map(index).collect())
}

fn palette_index(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
