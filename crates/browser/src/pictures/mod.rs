//! `pictures`: screenshots of each page and state with invented content, as small PNG files.

mod content;
mod small;
mod table;

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::Args;

use self::{
    content::PictureContent,
    table::{PICTURES, PagePicture, PictureScreen},
};
use crate::{BrowserPrograms, print_line, tab::BrowserTab, trial::PageTrial};

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
    small::encode_with_palette(&tab.take_screenshot()?)
}
