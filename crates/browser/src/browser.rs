//! Chromium, headless and with an empty profile, and the program that drives it. Both run on the stage, which ends what
//! is left of them.

use std::{
    cell::RefCell,
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use switchboard_testkit::{
    load::free_port,
    stage::{Running, Stage},
};
use thirtyfour::{
    CapabilitiesHelper as _, ChromiumLikeCapabilities as _, DesiredCapabilities, LoggingPrefsLogLevel, WebDriver,
    WindowHandle, session::handle::SessionHandle,
};
use tokio::runtime::Runtime;

use crate::Place;

/// How long the driver may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nothing of a person's browser, and nobody to talk to.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-search-engine-choice-screen",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-US",
    "--window-size=1280,900",
];

/// A browser that runs.
pub struct Browser {
    runtime: Runtime,
    driver: Option<WebDriver>,
    /// The tab that is looked at.
    shown: RefCell<Option<WindowHandle>>,
    _chromedriver: Running,
}

impl Browser {
    /// Starts one, with more flags than all have.
    pub fn start(stage: &Stage, place: &Place, more: &[String]) -> anyhow::Result<Self> {
        let profile = stage.root().join("profile");
        fs::create_dir_all(&profile)?;
        let port = free_port()?;
        let chromedriver = stage.start(&place.chromedriver, &[&format!("--port={port}")])?;
        wait(&chromedriver)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let mut wishes = DesiredCapabilities::chrome();
        wishes.set_binary(&place.chromium.to_string_lossy())?;
        wishes.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        FLAGS.iter().try_for_each(|flag| wishes.add_arg(flag))?;
        more.iter().try_for_each(|flag| wishes.add_arg(flag))?;
        wishes.add_arg(&format!("--user-data-dir={}", profile.display()))?;
        // A page that could open a dialog must be seen to.
        wishes.set("unhandledPromptBehavior", "ignore")?;
        let address = format!("http://127.0.0.1:{port}");
        let driver = runtime.block_on(WebDriver::new(address, wishes)).with_context(|| chromedriver.stdout())?;
        Ok(Self { runtime, driver: Some(driver), shown: RefCell::default(), _chromedriver: chromedriver })
    }

    /// Waits for an answer of the driver.
    pub fn ask<T, E>(&self, asked: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.runtime.block_on(asked)
    }

    /// The driver's session.
    pub fn session(&self) -> anyhow::Result<&Arc<SessionHandle>> {
        Ok(self.driver.as_ref().context("the browser has ended")?.handle())
    }

    /// The tab that it opened with.
    pub fn first(&self) -> anyhow::Result<WindowHandle> {
        Ok(self.ask(self.session()?.window())?)
    }

    /// Another tab.
    pub fn another(&self) -> anyhow::Result<WindowHandle> {
        Ok(self.ask(self.session()?.new_tab())?)
    }

    /// Goes back to the page before.
    pub fn back(&self) -> anyhow::Result<()> {
        Ok(self.ask(self.session()?.back())?)
    }

    /// Looks at a tab.
    pub fn look_at(&self, window: &WindowHandle) -> anyhow::Result<()> {
        if self.shown.borrow().as_ref() != Some(window) {
            self.ask(self.session()?.switch_to_window(window.clone()))?;
            *self.shown.borrow_mut() = Some(window.clone());
        }
        Ok(())
    }

    /// What was written to the consoles of all tabs since this was last asked: level and text.
    pub fn console(&self) -> anyhow::Result<Vec<(String, String)>> {
        let entries = self.ask(self.session()?.browser_log())?;
        Ok(entries.into_iter().map(|entry| (entry.level, entry.message)).collect())
    }

    /// A command of the browser's own debugging protocol, for the tab that is looked at.
    pub fn command(&self, name: &str, wishes: Value) -> anyhow::Result<Value> {
        let driver = self.driver.as_ref().context("the browser has ended")?;
        let answer = self.ask(driver.cdp().send_raw(name, wishes)).with_context(|| name.to_owned())?;
        ensure!(answer.is_object(), "{name}: {answer}");
        Ok(answer)
    }

    /// A folder to which files are saved without asking.
    pub fn save_to(&self, folder: &std::path::Path) -> anyhow::Result<()> {
        let wishes = json!({ "behavior": "allow", "downloadPath": folder, "eventsEnabled": false });
        self.command("Browser.setDownloadBehavior", wishes).map(drop)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            // The stage ends what does not end by itself.
            drop(self.runtime.block_on(driver.quit()));
        }
    }
}

fn wait(chromedriver: &Running) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !chromedriver.stdout().contains("started successfully") {
        if Instant::now() > end {
            bail!("the driver does not start: {}{}", chromedriver.stdout(), chromedriver.stderr());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
