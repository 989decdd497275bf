//! Notices that matter to a person: retries, limits, warnings, a smaller context, another model. The rest is talk
//! between programs.

use switchboard_event::{ErrorCode, Event, Fault, Level, Notice, Topic};

use super::{
    paper::Block,
    style::{DIM, PLAIN, YELLOW},
    viewer::View,
};

impl View {
    pub(super) fn notice(&mut self, event: &Event, notice: &Notice) {
        let text = notice.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        match (notice.topic, notice.level) {
            (_, Level::Debug) => {}
            (Topic::Heartbeat | Topic::Control | Topic::Echo | Topic::Late | Topic::Interrupt, Level::Info) => {}
            (_, Level::Error) => self.failed(event, notice, text),
            (Topic::Retry, _) => self.warn(event, text.unwrap_or("a call of the model failed and is tried again")),
            (Topic::RateLimit, _) => self.limited(event, notice, text),
            (Topic::Hook, _) if notice.status.as_deref() == Some("failed") => {
                let name = notice.name.as_deref().unwrap_or_default();
                self.warn(event, &format!("hook {name} failed: {}", text.unwrap_or("no reason given")));
            }
            (Topic::Compaction, _) if notice.status.as_deref().is_none_or(|status| status == "completed") => {
                self.remark(event, "context compacted");
            }
            (Topic::Compaction, _) => {}
            (Topic::ModelChanged, _) => self.model_changed(event, notice, text),
            (Topic::Task, _) => self.task(event, notice, text),
            (_, Level::Warning) => {
                if let Some(text) = text.or(notice.error.as_ref().map(|error| error.message.as_str())) {
                    self.warn(event, text);
                }
            }
            (Topic::Auth | Topic::Status | Topic::Warning, Level::Info) => {
                if let Some(text) = text {
                    self.remark(event, text);
                }
            }
            _ => {}
        }
    }

    fn failed(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let made = || Fault::new(ErrorCode::Unknown, text.unwrap_or("something went wrong"));
        self.problem(event, &notice.error.clone().unwrap_or_else(made));
    }

    /// Something is not as it should be. The same is said once a turn.
    fn warn(&mut self, event: &Event, text: &str) {
        if self.requests.will_tell(text) || !self.turn.tells(text) {
            return;
        }
        self.begin(event, Block::Problem);
        let folded = self.fold(text, 4, 0);
        for (number, line) in folded.head.iter().enumerate() {
            let (indent, mark) = if number == 0 { (0, "! ") } else { (2, "") };
            self.paper.rows(indent, 3, &[(YELLOW, mark), (PLAIN, line)]);
        }
        self.show_more(2, folded.more);
    }

    fn limited(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let status = notice.status.as_deref().unwrap_or("allowed");
        match (text, status) {
            (Some(text), _) => self.warn(event, text),
            (None, "allowed") => {}
            (None, "rejected") => self.warn(event, "the account's rate limit is reached"),
            (None, _) => self.warn(event, "the account's rate limit is near"),
        }
    }

    fn model_changed(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let name = notice.name.as_deref().unwrap_or("another");
        match (text, notice.level) {
            (Some(text), Level::Info) => self.remark(event, text),
            (Some(text), _) => self.warn(event, text),
            (None, _) => self.remark(event, &format!("the model is {name} now")),
        }
    }

    /// Work in the background that ended. While its item is open, the item will tell.
    fn task(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let is_open = event.item.as_ref().is_some_and(|id| self.open.contains_key(id));
        let is_over = notice.status.as_deref().is_some_and(|status| !matches!(status, "started" | "running"));
        if let (false, true, Some(text)) = (is_open, is_over, text) {
            self.begin(event, Block::Note);
            self.paper.rows(0, 3, &[(DIM, "· "), (PLAIN, text)]);
        }
    }
}
