//! What a scenario is given: a stage with a server, and a browser.

use std::{cell::RefCell, path::PathBuf, rc::Rc};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_testkit::{load::Api, stage::Stage};

use crate::{Place, browser::Browser, measure::trace, server::Server, tab::Tab};

/// Where a browser on the stage writes its trace.
pub fn trace_file(stage: &Stage) -> PathBuf {
    stage.root().join("trace.json")
}

/// One scenario. What was started last ends first.
pub struct Trial {
    /// All tabs that were opened.
    pub tabs: RefCell<Vec<Tab>>,
    browser: Rc<Browser>,
    /// The server.
    pub server: RefCell<Server>,
    /// Where it plays; nobody else is there.
    pub stage: Stage,
    /// What the consoles said.
    pub heard: RefCell<Vec<String>>,
    /// What consoles may complain about here.
    expected: RefCell<Vec<&'static str>>,
}

impl Trial {
    /// A stage with everything on it.
    pub fn new(place: &Place) -> anyhow::Result<Self> {
        Self::with(place, |_| Vec::new())
    }

    /// The same; the browser writes a trace of what it does, which is there when it has ended.
    pub fn traced(place: &Place) -> anyhow::Result<Self> {
        Self::with(place, |stage| trace::flags(&trace_file(stage)).into())
    }

    fn with(place: &Place, flags: impl FnOnce(&Stage) -> Vec<String>) -> anyhow::Result<Self> {
        let stage = Stage::new(&place.programs()).context("no stage")?;
        let server = RefCell::new(Server::start(&stage, &place.switchboard)?);
        let browser = Rc::new(Browser::start(&stage, place, &flags(&stage)).context("no browser")?);
        let (tabs, heard, expected) = Default::default();
        Ok(Self { tabs, browser, server, stage, heard, expected })
    }

    /// The first tab, with nothing in it.
    pub fn empty_tab(&self) -> anyhow::Result<Tab> {
        let mut tabs = self.tabs.borrow_mut();
        let tab = match tabs.first() {
            None => Tab::first(&self.browser)?,
            Some(first) => first.another()?,
        };
        tabs.push(tab.clone());
        Ok(tab)
    }

    /// A tab that was let in and shows a page.
    pub fn tab(&self, path: &str) -> anyhow::Result<Tab> {
        let tab = self.empty_tab()?;
        tab.go(&self.server.borrow().link())?;
        if path != "/" {
            self.go(&tab, path)?;
        }
        Ok(tab)
    }

    /// Shows another page in a tab.
    pub fn go(&self, tab: &Tab, path: &str) -> anyhow::Result<()> {
        tab.go(&self.server.borrow().address(path))
    }

    /// How programs ask the server.
    pub fn api(&self) -> Api {
        self.server.borrow().api.clone()
    }

    /// Starts a session of the built-in agent that performs a script, and gives its id.
    pub fn perform(&self, script: &str) -> anyhow::Result<String> {
        self.perform_with(script, json!({}))
    }

    /// The same with settings.
    pub fn perform_with(&self, script: &str, mut request: Value) -> anyhow::Result<String> {
        request["agentType"] = json!("script");
        request["prompt"] = json!(script);
        self.api().start_with(&request)
    }

    /// Consoles may complain about this.
    pub fn expects(&self, complaint: &'static str) {
        self.expected.borrow_mut().push(complaint);
    }

    /// Notes what the consoles said since the last time.
    pub fn listen(&self) -> anyhow::Result<()> {
        let said = self.browser.console()?;
        self.heard.borrow_mut().extend(said.into_iter().map(|(level, text)| format!("{level} {text}")));
        Ok(())
    }

    /// Ends the browser, then the server.
    pub fn end(self) -> Stage {
        let Self { tabs, browser, server, stage, .. } = self;
        drop(tabs);
        drop(browser);
        drop(server);
        stage
    }

    /// No page was in error or did what it may not do.
    pub fn is_quiet(&self) -> anyhow::Result<()> {
        self.listen()?;
        let (heard, expected) = (self.heard.borrow(), self.expected.borrow());
        let is_wrong = |line: &&String| line.starts_with("SEVERE") && !expected.iter().any(|part| line.contains(part));
        let wrong: Vec<_> = heard.iter().filter(is_wrong).take(5).collect();
        ensure!(wrong.is_empty(), "the console says {wrong:#?}");
        Ok(())
    }
}
