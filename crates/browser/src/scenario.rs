//! The scenarios, the environment of each, and the runner, which plays several at a time. A new scenario is a function in
//! a file of `scenarios` and a line here.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, anyhow, ensure};
use clap::Args;
use parking_lot::Mutex;
use serde_json::{Value, json};
use switchboard_testkit::load::TestApiClient;
use switchboard_testkit::stage::AgentStage;

use crate::browser::ChromiumBrowser;
use crate::measure::trace;
use crate::scenarios::{appearance, approvals, connection, history, hostile, kinds, prompts};
use crate::server::PageServer;
use crate::tab::BrowserTab;
use crate::{BrowserPrograms, print_line};

/// A scenario of the page.
struct PageScenario {
    /// The expectation, in a few words.
    pub name: &'static str,
    pub run: fn(&PageTrial) -> anyhow::Result<()>,
}

const fn page_scenario(name: &'static str, run: fn(&PageTrial) -> anyhow::Result<()>) -> PageScenario {
    PageScenario { name, run }
}

/// All scenarios, slow ones first.
const SCENARIOS: &[PageScenario] = &[
    page_scenario("a session of a hundred thousand events", history::scroll_long_session),
    page_scenario("hostile sizes freeze nothing", hostile::show_huge_output),
    page_scenario("a real agent asks and the file appears", approvals::approve_real_agent),
    page_scenario("hostile words do nothing", hostile::show_hostile_text),
    page_scenario("offline and back misses nothing", connection::go_offline),
    page_scenario("a reload in the middle", connection::reload_mid_answer),
    page_scenario("left and come back to", connection::navigate_back),
    page_scenario("a server that is killed", connection::restart_server),
    page_scenario("more tabs than connections", connection::open_many_tabs),
    page_scenario("without a token one sees how to get in", connection::reject_without_token),
    page_scenario("the link lets in and the token leaves the address", connection::sign_in_with_link),
    page_scenario("a session is begun in the page and streams", prompts::start_session),
    page_scenario("a turn is interrupted and followed up", prompts::interrupt_turn),
    page_scenario("a follow-up waits for the turn", prompts::queue_follow_up),
    page_scenario("a session is ended, copied, deleted, archived", prompts::end_session),
    page_scenario("what is asked is allowed, declined, answered", approvals::answer_requests),
    page_scenario("a change is asked for with its diff", approvals::approve_change),
    page_scenario("what is asked is answered on the board", approvals::answer_on_board),
    page_scenario("what is answered elsewhere is asked no more", approvals::answer_elsewhere),
    page_scenario("half a reason answers nothing else", approvals::type_while_answered),
    page_scenario("a held key answers once", approvals::hold_key_down),
    page_scenario("every kind of entry", kinds::show_all_entries),
    page_scenario("empty, missing, failed", kinds::show_empty_and_failed),
    page_scenario("a session is exported", kinds::export_session),
    page_scenario("history is searched and read", history::search_history),
    page_scenario("usage is charted, listed and saved", history::chart_usage),
    page_scenario("the board is searched", history::filter_board),
    page_scenario("by keyboard alone", prompts::use_keyboard_only),
    page_scenario("a command is completed", prompts::complete_command),
    page_scenario("on a phone", appearance::fit_phone),
    page_scenario("in light and in dark", appearance::check_contrast),
    page_scenario("nothing moves while text streams", appearance::check_layout_stability),
];

/// Time for processes to exit after a scenario.
const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Play the scenarios
#[derive(Args)]
pub struct PageScenariosArgs {
    #[command(flatten)]
    place: BrowserPrograms,
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Where what is left of failures is kept
    #[arg(long)]
    kept: PathBuf,
}

/// Runs the selected scenarios.
pub fn run(args: &PageScenariosArgs) -> anyhow::Result<()> {
    let chosen: VecDeque<_> = SCENARIOS.iter().filter(|scenario| scenario.name.contains(&args.only)).collect();
    ensure!(!chosen.is_empty(), "there is no scenario with {:?} in its name", args.only);
    if args.kept.exists() {
        fs::remove_dir_all(&args.kept)?;
    }
    let count = chosen.len();
    let (waiting, failed) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(scenario) = next_scenario(&waiting) {
            let begin = Instant::now();
            let played = run_scenario(args, scenario);
            let seconds = begin.elapsed().as_secs_f32();
            match played {
                Ok(()) => print_line(&format!("ok      {} ({seconds:.1} s)", scenario.name)),
                Err(error) => {
                    print_line(&format!("FAILED  {} ({seconds:.1} s): {error:#}", scenario.name));
                    failed.lock().push(scenario.name);
                }
            }
        }
    };
    thread::scope(|scope| (0..args.jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let failed = failed.into_inner();
    print_line(&format!("{} passed, {} failed", count - failed.len(), failed.len()));
    ensure!(failed.is_empty(), "failed: {}; see {}", failed.join(", "), args.kept.display());
    Ok(())
}

fn next_scenario(waiting: &Mutex<VecDeque<&'static PageScenario>>) -> Option<&'static PageScenario> {
    waiting.lock().pop_front()
}

/// Runs one scenario. No page may report an error, and no process may be left.
fn run_scenario(args: &PageScenariosArgs, scenario: &PageScenario) -> anyhow::Result<()> {
    let trial = PageTrial::new(&args.place)?;
    let tried = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&trial)));
    let tried = tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked"))).and_then(|()| trial.check_console());
    if tried.is_err() {
        save_failure_artifacts(&trial, &args.kept.join(scenario.name.replace(' ', "-")));
    }
    let stage = trial.shut_down();
    tried?;
    let left = stage.leftover_processes_after(PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}

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
    fn collect_console(&self) -> anyhow::Result<()> {
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

/// Writes the artifacts to a directory. Whatever is no longer available is left out.
fn save_failure_artifacts(trial: &PageTrial, folder: &Path) {
    drop(fs::create_dir_all(folder));
    for (number, tab) in trial.tabs.borrow().iter().enumerate() {
        if let Ok(png) = tab.take_screenshot() {
            drop(fs::write(folder.join(format!("tab-{number}.png")), png));
        }
        if let Ok(source) = tab.page_source() {
            drop(fs::write(folder.join(format!("tab-{number}.html")), source));
        }
    }
    drop(trial.collect_console());
    drop(fs::write(folder.join("console.txt"), trial.heard.borrow().join("\n")));
    drop(fs::write(folder.join("server.txt"), trial.server.borrow().printed_output()));
}
