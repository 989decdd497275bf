//! The environment of a scenario: a stage with a server, and a browser.

use std::{cell::RefCell, path::PathBuf, rc::Rc};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_testkit::{load::TestApiClient, stage::AgentStage};

use crate::{BrowserPrograms, browser::ChromiumBrowser, measure::trace, server::PageServer, tab::BrowserTab};

/// The file to which a browser on the stage writes its trace.
pub fn trace_file(stage: &AgentStage) -> PathBuf {
    stage.root_dir().join("trace.json")
}

/// The environment of one scenario. What was started last ends first.
pub struct PageTrial {
    pub tabs: RefCell<Vec<BrowserTab>>,
    browser: Rc<ChromiumBrowser>,
    pub server: RefCell<PageServer>,
    pub stage: AgentStage,
    /// Console output so far.
    pub heard: RefCell<Vec<String>>,
    /// Console errors that are expected.
    expected: RefCell<Vec<&'static str>>,
}

impl PageTrial {
    /// Creates a stage with a server and a browser.
    pub fn new(place: &BrowserPrograms) -> anyhow::Result<Self> {
        Self::with_flags(place, |_| Vec::new())
    }

    /// Same, with a browser that writes a trace when it quits.
    pub fn with_trace(place: &BrowserPrograms) -> anyhow::Result<Self> {
        Self::with_flags(place, |stage| trace::trace_flags(&trace_file(stage)).into())
    }

    fn with_flags(place: &BrowserPrograms, flags: impl FnOnce(&AgentStage) -> Vec<String>) -> anyhow::Result<Self> {
        let stage = AgentStage::new(&place.stage_programs()).context("no stage")?;
        let server = RefCell::new(PageServer::start(&stage, &place.switchboard)?);
        let browser = Rc::new(ChromiumBrowser::start(&stage, place, &flags(&stage)).context("no browser")?);
        let (tabs, heard, expected) = Default::default();
        Ok(Self { tabs, browser, server, stage, heard, expected })
    }

    /// Opens an empty tab.
    pub fn open_empty_tab(&self) -> anyhow::Result<BrowserTab> {
        let mut tabs = self.tabs.borrow_mut();
        let tab = match tabs.first() {
            None => BrowserTab::first_tab(&self.browser)?,
            Some(first) => first.open_another()?,
        };
        tabs.push(tab.clone());
        Ok(tab)
    }

    /// Opens a signed-in tab that shows a page.
    pub fn open_tab(&self, path: &str) -> anyhow::Result<BrowserTab> {
        let tab = self.open_empty_tab()?;
        tab.navigate(&self.server.borrow().sign_in_link())?;
        if path != "/" {
            self.show_page(&tab, path)?;
        }
        Ok(tab)
    }

    pub fn show_page(&self, tab: &BrowserTab, path: &str) -> anyhow::Result<()> {
        tab.navigate(&self.server.borrow().page_url(path))
    }

    pub fn api_client(&self) -> TestApiClient {
        self.server.borrow().api.clone()
    }

    /// Starts a session of the built-in script agent and returns its id.
    pub fn start_script(&self, script: &str) -> anyhow::Result<String> {
        self.start_script_with(script, json!({}))
    }

    /// Same, with settings.
    pub fn start_script_with(&self, script: &str, mut request: Value) -> anyhow::Result<String> {
        request["agentType"] = json!("script");
        request["prompt"] = json!(script);
        self.api_client().start_session_with(&request)
    }

    /// Allows console errors that contain this text.
    pub fn expect_console_error(&self, complaint: &'static str) {
        self.expected.borrow_mut().push(complaint);
    }

    /// Appends the console output since the last call.
    pub fn collect_console(&self) -> anyhow::Result<()> {
        let said = self.browser.take_console_log()?;
        self.heard.borrow_mut().extend(said.into_iter().map(|(level, text)| format!("{level} {text}")));
        Ok(())
    }

    /// Quits the browser, then stops the server.
    pub fn shut_down(self) -> AgentStage {
        let Self { tabs, browser, server, stage, .. } = self;
        drop(tabs);
        drop(browser);
        drop(server);
        stage
    }

    /// Checks that no page logged an unexpected error.
    pub fn check_console(&self) -> anyhow::Result<()> {
        self.collect_console()?;
        let (heard, expected) = (self.heard.borrow(), self.expected.borrow());
        let is_wrong = |line: &&String| line.starts_with("SEVERE") && !expected.iter().any(|part| line.contains(part));
        let wrong: Vec<_> = heard.iter().filter(is_wrong).take(5).collect();
        ensure!(wrong.is_empty(), "the console says {wrong:#?}");
        Ok(())
    }
}
