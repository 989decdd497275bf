//! `pictures`: what each page and state looks like, with content that is made up, as small PNG files.

mod content;
mod small;
mod table;

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::Args;

use self::{
    content::Content,
    table::{PICTURES, Picture, Screen},
};
use crate::{Place, say, tab::Tab, trial::Trial};

/// Take a picture of each page and state
#[derive(Args)]
pub struct Pictures {
    #[command(flatten)]
    place: Place,
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

/// Takes them.
pub fn run(args: &Pictures) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let trial = Trial::new(&args.place)?;
    let content = Content::make(&trial)?;
    // In one tab: each that is open holds a connection, and a browser has six for a server.
    let tab = trial.empty_tab()?;
    for picture in PICTURES.iter().filter(|it| (it.shown || !args.shown) && it.name.contains(&args.only)) {
        let bytes = take(&trial, &content, picture, &tab).with_context(|| picture.name)?;
        let file = args.folder.join(format!("{}.png", picture.name));
        fs::write(&file, &bytes)?;
        say(&format!("{} ({} KB)", file.display(), bytes.len() / 1024));
    }
    drop(trial.end());
    Ok(())
}

fn take(trial: &Trial, content: &Content, picture: &Picture, tab: &Tab) -> anyhow::Result<Vec<u8>> {
    let (width, height, scale) = match picture.screen {
        Screen::Desk => (1280, 800, 1.0),
        Screen::Phone => (390, 844, 2.0),
    };
    tab.resize(width, height, scale)?;
    tab.prefer(picture.scheme)?;
    if !picture.outside {
        tab.go(&trial.server.borrow().link())?;
    }
    trial.go(tab, &content.path(picture.page))?;
    tab.see(picture.waits, "")?;
    if let Some(prepare) = picture.prepare {
        prepare(tab)?;
    }
    small::png(&tab.png()?)
}
