//! What is pictured: sessions and logs that are made up, as they might be of somebody's afternoon.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use switchboard_testkit::corpus::{self, Wanted};

use crate::trial::Trial;

/// A page with its content.
#[derive(Clone, Copy)]
pub enum Page {
    /// All sessions.
    Board,
    /// A form.
    New,
    /// A session that speaks.
    Streaming,
    /// One that has done much.
    Done,
    /// One that asks for leave.
    Asking,
    /// One that asks a question.
    Question,
    /// One that changed files.
    Changed,
    /// One that failed.
    Failed,
    /// Words that were found.
    Search,
    /// A log.
    Log,
    /// Any other.
    At(&'static str),
}

/// Where the content is.
pub struct Content {
    streaming: String,
    done: String,
    asking: String,
    question: String,
    changed: String,
    failed: String,
    word: String,
    log: String,
}

impl Content {
    /// Makes it.
    pub fn make(trial: &Trial) -> anyhow::Result<Self> {
        let truth = corpus::write(trial.stage.root(), &Wanted { bytes: 3_000_000, ..Wanted::small(3) })?;
        let begin = |project: &str, script: &str| trial.perform_with(script, json!({ "projectId": project }));
        let failed = begin("mail-gateway", include_str!("scripts/failed.txt"))?;
        let changed = begin("billing", include_str!("scripts/changed.txt"))?;
        let done = begin("orchard", include_str!("scripts/done.txt"))?;
        for other in [include_str!("scripts/notes.txt"), include_str!("scripts/release.txt")] {
            trial.api().ended(&begin("orchard", other)?, Duration::from_secs(20))?;
        }
        for id in [&failed, &changed, &done] {
            trial.api().ended(id, Duration::from_secs(20))?;
        }
        let question = begin("compiler", include_str!("scripts/question.txt"))?;
        let asking = begin("orchard", include_str!("scripts/asking.txt"))?;
        let streaming = begin("compiler", include_str!("scripts/streaming.txt"))?;
        let log = truth.sessions.keys().next().context("no log")?.clone();
        Ok(Self { streaming, done, asking, question, changed, failed, word: truth.common, log })
    }

    /// The address of a page.
    pub fn path(&self, page: Page) -> String {
        let session = |id: &str| format!("/s/{id}");
        match page {
            Page::Board => "/".to_owned(),
            Page::New => "/new".to_owned(),
            Page::Streaming => session(&self.streaming),
            Page::Done => session(&self.done),
            Page::Asking => session(&self.asking),
            Page::Question => session(&self.question),
            Page::Changed => session(&self.changed),
            Page::Failed => session(&self.failed),
            Page::Search => format!("/history?q={}", self.word),
            Page::Log => format!("/h/{}", self.log),
            Page::At(path) => path.to_owned(),
        }
    }
}
