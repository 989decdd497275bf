//! Headless Chromium with an empty profile, and the driver that controls it. Both run on the stage, which kills
//! whatever is left of them.

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
    stage::{AgentStage, StageProcess},
};
use thirtyfour::{
    CapabilitiesHelper as _, ChromiumLikeCapabilities as _, DesiredCapabilities, LoggingPrefsLogLevel, WebDriver,
    WindowHandle, session::handle::SessionHandle,
};
use tokio::runtime::Runtime;

use crate::BrowserPrograms;

/// Time that the driver may take to start.
const DRIVER_START_TIMEOUT: Duration = Duration::from_secs(30);

/// Flags that keep out the user's own browser state and all background network traffic.
const CHROMIUM_FLAGS: &[&str] = &[
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

pub struct ChromiumBrowser {
    runtime: Runtime,
    driver: Option<WebDriver>,
    shown: RefCell<Option<WindowHandle>>,
    _chromedriver: StageProcess,
}

impl ChromiumBrowser {
    /// Starts the browser with additional flags.
    pub fn start(stage: &AgentStage, place: &BrowserPrograms, more: &[String]) -> anyhow::Result<Self> {
        let profile = stage.root_dir().join("profile");
        fs::create_dir_all(&profile)?;
        let port = free_port()?;
        let chromedriver = stage.start_process(&place.chromedriver, &[&format!("--port={port}")])?;
        wait_for_chromedriver(&chromedriver)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let mut wishes = DesiredCapabilities::chrome();
        wishes.set_binary(&place.chromium.to_string_lossy())?;
        wishes.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        CHROMIUM_FLAGS.iter().try_for_each(|flag| wishes.add_arg(flag))?;
        more.iter().try_for_each(|flag| wishes.add_arg(flag))?;
        wishes.add_arg(&format!("--user-data-dir={}", profile.display()))?;
        // Dialogs stay open, so that a test notices a page that opens one.
        wishes.set("unhandledPromptBehavior", "ignore")?;
        let address = format!("http://127.0.0.1:{port}");
        let driver = runtime.block_on(WebDriver::new(address, wishes)).with_context(|| chromedriver.stdout_text())?;
        Ok(Self { runtime, driver: Some(driver), shown: RefCell::default(), _chromedriver: chromedriver })
    }

    pub fn wait_for_driver<T, E>(&self, asked: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.runtime.block_on(asked)
    }

    pub fn driver_session(&self) -> anyhow::Result<&Arc<SessionHandle>> {
        Ok(self.driver.as_ref().context("the browser has ended")?.handle())
    }

    pub fn first_window(&self) -> anyhow::Result<WindowHandle> {
        Ok(self.wait_for_driver(self.driver_session()?.window())?)
    }

    pub fn open_window(&self) -> anyhow::Result<WindowHandle> {
        Ok(self.wait_for_driver(self.driver_session()?.new_tab())?)
    }

    pub fn go_back(&self) -> anyhow::Result<()> {
        Ok(self.wait_for_driver(self.driver_session()?.back())?)
    }

    pub fn switch_to(&self, window: &WindowHandle) -> anyhow::Result<()> {
        if self.shown.borrow().as_ref() != Some(window) {
            self.wait_for_driver(self.driver_session()?.switch_to_window(window.clone()))?;
            *self.shown.borrow_mut() = Some(window.clone());
        }
        Ok(())
    }

    /// Returns level and text of everything written to the consoles of all tabs since the last call.
    pub fn take_console_log(&self) -> anyhow::Result<Vec<(String, String)>> {
        let entries = self.wait_for_driver(self.driver_session()?.browser_log())?;
        Ok(entries.into_iter().map(|entry| (entry.level, entry.message)).collect())
    }

    /// Sends a command of the Chrome DevTools protocol to the active tab.
    pub fn send_cdp_command(&self, name: &str, wishes: Value) -> anyhow::Result<Value> {
        let driver = self.driver.as_ref().context("the browser has ended")?;
        let answer = self.wait_for_driver(driver.cdp().send_raw(name, wishes)).with_context(|| name.to_owned())?;
        ensure!(answer.is_object(), "{name}: {answer}");
        Ok(answer)
    }

    /// Sets the directory to which files are saved without a prompt.
    pub fn set_download_directory(&self, folder: &std::path::Path) -> anyhow::Result<()> {
        let wishes = json!({ "behavior": "allow", "downloadPath": folder, "eventsEnabled": false });
        self.send_cdp_command("Browser.setDownloadBehavior", wishes).map(drop)
    }
}

impl Drop for ChromiumBrowser {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            // The stage kills a browser that does not quit.
            drop(self.runtime.block_on(driver.quit()));
        }
    }
}

fn wait_for_chromedriver(chromedriver: &StageProcess) -> anyhow::Result<()> {
    let end = Instant::now() + DRIVER_START_TIMEOUT;
    while !chromedriver.stdout_text().contains("started successfully") {
        if Instant::now() > end {
            bail!("the driver does not start: {}{}", chromedriver.stdout_text(), chromedriver.stderr_text());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
