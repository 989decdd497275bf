//! Simulated items: plan steps, MCP calls, searches, images and retries.

use switchboard_event::{
    Call, CallKind, Content, ContentType, Details, Item, Level, Mcp, Notice, PlanEntry, PlanStatus, Status, Tool,
    Topic, WebSearch, to_raw_json,
};

use super::live::{Live, words};
use crate::RunRecorder;

/// A small PNG image: a red, a green and a blue bar.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAGAAAAAwCAMAAADZyI/9AAAACVBMVEXIPDw8oFA8WsgN1XXOAAAALklEQVR42u3NMQ0AAAgDsIF/\
    0UjYTdIaaFJMsUUEAoFAIBAIBAKBQCAQCASfggNLrhIBkmV/oAAAAABJRU5ErkJggg==";

impl Live {
    pub(super) fn mcp(&mut self, server: &str, tool: &str, output: &str, recorder: &mut RunRecorder) {
        let id = self.next_id("mcp", recorder);
        let input = Some(to_raw_json(&serde_json::json!({ "of": "the script" })));
        let call = Call { name: tool.to_owned(), input, ..Call::default() };
        let details = Mcp { server: server.to_owned(), tool: tool.to_owned(), result: None, error: None };
        recorder.item_started(&id, Item::new(details).with_call(call));
        if let Some(Details::Mcp(mcp)) = recorder.item_mut(&id).map(|item| &mut item.details) {
            mcp.result = Some(to_raw_json(&serde_json::json!({ "content": [{ "type": "text", "text": output }] })));
        }
        recorder.item_closed(&id, Status::Completed);
        self.said = self.said.saturating_add(words(tool));
    }

    pub(super) fn search(&mut self, query: &str, recorder: &mut RunRecorder) {
        let id = self.next_id("search", recorder);
        let call = Call { name: "search".to_owned(), kind: CallKind::Search, ..Call::default() };
        let found = serde_json::json!([{ "title": query, "url": "https://example.com/found" }]);
        recorder.item_started(
            &id,
            Item::new(WebSearch { queries: vec![query.to_owned()], results: Some(to_raw_json(&found)) })
                .with_call(call),
        );
        recorder.item_closed(&id, Status::Completed);
        self.said = self.said.saturating_add(words(query));
    }

    pub(super) fn image(&mut self, name: &str, recorder: &mut RunRecorder) {
        let id = self.next_id("image", recorder);
        let content = vec![Content {
            kind: ContentType::Image,
            media_type: Some("image/png".to_owned()),
            data: Some(PICTURE.to_owned()),
            ..Content::default()
        }];
        let input = Some(to_raw_json(&serde_json::json!({ "path": name })));
        let call = Call { name: "look".to_owned(), kind: CallKind::Read, input, content, ..Call::default() };
        recorder.item_started(&id, Item::new(Tool::default()).with_call(call));
        recorder.item_closed(&id, Status::Completed);
        self.said = self.said.saturating_add(1);
    }
}

/// Returns the steps of a plan. Steps with the prefix `[x]` are completed; the first of the others is in progress.
pub fn steps(steps: &[&str]) -> Vec<PlanEntry> {
    let mut others = 0;
    let entry = |step: &&str| {
        let (step, status) = match step.strip_prefix("[x]") {
            Some(step) => (step.trim(), PlanStatus::Completed),
            None if others == 0 => (*step, PlanStatus::InProgress),
            None => (*step, PlanStatus::Pending),
        };
        others += u32::from(status != PlanStatus::Completed);
        PlanEntry { step: step.to_owned(), status }
    };
    steps.iter().map(entry).collect()
}

/// Reports that the model did not answer and is called again.
pub fn retry(message: &str, recorder: &mut RunRecorder) {
    recorder.write_notice(Notice::new(Topic::Retry).with_level(Level::Warning).with_text(message));
}
