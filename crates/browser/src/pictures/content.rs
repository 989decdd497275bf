//! Invented sessions and logs for the screenshots.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use switchboard_testkit::corpus::{self, CorpusOptions};

use crate::trial::PageTrial;

#[derive(Clone, Copy)]
pub enum PicturedPage {
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

pub struct PictureContent {
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
    pub fn create(trial: &PageTrial) -> anyhow::Result<Self> {
        let truth = corpus::write_corpus(
            trial.stage.root_dir(),
            &CorpusOptions { bytes: 3_000_000, ..CorpusOptions::small(3) },
        )?;
        let begin = |project: &str, script: &str| trial.start_script_with(script, json!({ "projectId": project }));
        let failed = begin("mail-gateway", include_str!("scripts/failed.txt"))?;
        let changed = begin("billing", include_str!("scripts/changed.txt"))?;
        let done = begin("orchard", include_str!("scripts/done.txt"))?;
        for other in [include_str!("scripts/notes.txt"), include_str!("scripts/release.txt")] {
            trial.api_client().wait_for_end(&begin("orchard", other)?, Duration::from_secs(20))?;
        }
        for id in [&failed, &changed, &done] {
            trial.api_client().wait_for_end(id, Duration::from_secs(20))?;
        }
        let question = begin("compiler", include_str!("scripts/question.txt"))?;
        let asking = begin("orchard", include_str!("scripts/asking.txt"))?;
        let streaming = begin("compiler", include_str!("scripts/streaming.txt"))?;
        let log = truth.sessions.keys().next().context("no log")?.clone();
        Ok(Self { streaming, done, asking, question, changed, failed, word: truth.common, log })
    }

    pub fn page_path(&self, page: PicturedPage) -> String {
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
