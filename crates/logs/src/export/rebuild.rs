//! Rebuilds events from the passages that the index kept of a deleted log. Messages and tool calls are there, in order;
//! IDs, token counts and the agent's own records are lost.

use serde_json::value::RawValue;
use switchboard_event::{
    AgentMessage, Call, Details, Event, EventBody, Id, Info, Item, Level, Notice, Reasoning, SessionStarted, Status,
    Timestamp, Tool, Topic, TurnStarted, UserMessage,
};

use crate::{KeptPassage, LogSession};
use switchboard_agents::PassageKind;

#[must_use]
pub fn rebuild_events(session: &LogSession, kept: &[KeptPassage]) -> Vec<Event> {
    let mut made = KeptEventBuilder {
        session: Id::from(&session.id),
        agent: Id::from(&session.agent),
        ..KeptEventBuilder::default()
    };
    made.at = session.facts.began.unwrap_or_default();
    made.start_session(session);
    kept.iter().for_each(|passage| made.add_passage(passage));
    made.close_open_calls();
    made.events
}

#[derive(Default)]
struct KeptEventBuilder {
    session: Id,
    agent: Id,
    at: Timestamp,
    turn: u32,
    items: u64,
    /// Calls without a result, oldest first.
    open: Vec<(Id, Item)>,
    events: Vec<Event>,
}

impl KeptEventBuilder {
    fn push(&mut self, item: Option<Id>, body: EventBody) {
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            session: self.session.clone(),
            at: self.at,
            agent: self.agent.clone(),
            run: 1,
            turn: (self.turn > 0).then_some(self.turn),
            item,
            parent: None,
            thread: None,
            body,
            native: None,
            cause: None,
        });
    }

    fn start_session(&mut self, session: &LogSession) {
        let facts = &session.facts;
        let info = Info {
            cwd: facts.cwd.clone(),
            model: facts.model.clone(),
            title: facts.title.clone(),
            version: facts.version.clone(),
            ..Info::default()
        };
        self.push(
            None,
            EventBody::SessionStarted(Box::new(SessionStarted { run: 1, info, ..SessionStarted::default() })),
        );
    }

    fn add_passage(&mut self, kept: &KeptPassage) {
        self.at = kept.at.unwrap_or(self.at);
        match kept.kind {
            PassageKind::UserMessage => self.add_prompt(&kept.text),
            PassageKind::AssistantMessage => self.add_item(AgentMessage::text(kept.text.clone())),
            PassageKind::Reasoning => {
                self.add_item(Reasoning { text: Some(kept.text.clone()), ..Reasoning::default() })
            }
            PassageKind::ToolCall => self.add_call(kept),
            PassageKind::ToolResult => self.add_result(kept),
            PassageKind::SystemMessage | PassageKind::SessionSummary | PassageKind::Meta | PassageKind::Log => {
                self.add_notice(kept)
            }
        }
    }

    fn next_item_id(&mut self) -> Id {
        self.items += 1;
        Id::from(format!("kept-{}", self.items))
    }

    fn add_prompt(&mut self, text: &str) {
        self.close_open_calls();
        self.turn += 1;
        let started = TurnStarted { prompt: Some(text.to_owned()), ..TurnStarted::default() };
        self.push(None, EventBody::TurnStarted(Box::new(started)));
        self.add_item(UserMessage::text(text));
    }

    fn add_item(&mut self, details: impl Into<Details>) {
        let (id, item) = (self.next_item_id(), Item::new(details));
        self.push(Some(id.clone()), EventBody::ItemStarted(Box::new(item.clone())));
        self.push(Some(id), EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed))));
    }

    fn add_call(&mut self, kept: &KeptPassage) {
        let input = RawValue::from_string(kept.text.clone()).ok();
        let title = input.is_none().then(|| kept.text.clone());
        let name = kept.tool.clone().unwrap_or_default();
        let item = Item::new(Tool::default()).with_call(Call { name, title, input, ..Call::default() });
        let id = self.next_item_id();
        self.push(Some(id.clone()), EventBody::ItemStarted(Box::new(item.clone())));
        self.open.push((id, item));
    }

    /// Completes the oldest open call of the same tool.
    fn add_result(&mut self, kept: &KeptPassage) {
        let is_its = |item: &Item| item.call.as_ref().is_some_and(|call| Some(&call.name) == kept.tool.as_ref());
        let at = self.open.iter().position(|(_, item)| is_its(item));
        let at = at.or_else(|| (kept.tool.is_none() && !self.open.is_empty()).then_some(0));
        let Some((id, mut item)) = at.map(|at| self.open.remove(at)) else {
            let call = Call { name: kept.tool.clone().unwrap_or_default(), ..Call::default() };
            let (id, item) = (self.next_item_id(), Item::new(tool_output(&kept.text)).with_call(call));
            self.push(Some(id.clone()), EventBody::ItemStarted(Box::new(item.clone())));
            return self.push(Some(id), EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed))));
        };
        item.details = tool_output(&kept.text).into();
        self.push(Some(id), EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed))));
    }

    fn add_notice(&mut self, kept: &KeptPassage) {
        let level = if kept.kind == PassageKind::SystemMessage { Level::Info } else { Level::Debug };
        let notice =
            Notice::new(Topic::Status).with_text(kept.text.clone()).with_name(kept.kind.wire_name()).with_level(level);
        self.push(None, EventBody::Notice(Box::new(notice)));
    }

    /// Completes calls whose result was not kept.
    fn close_open_calls(&mut self) {
        for (id, item) in std::mem::take(&mut self.open) {
            self.push(Some(id), EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed))));
        }
    }
}

fn tool_output(text: &str) -> Tool {
    Tool { output: text.to_owned(), ..Tool::default() }
}

#[cfg(test)]
mod tests {
    use switchboard_agents::{PassageKind, SessionFacts};

    use super::rebuild_events;
    use crate::{
        KeptPassage, LogSession,
        export::story::{StepContent, TranscriptDocument},
    };

    fn kept_passage(kind: PassageKind, tool: Option<&str>, text: &str) -> KeptPassage {
        KeptPassage { kind, at: None, tool: tool.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn results_find_their_calls() {
        let session = LogSession {
            id: "s".to_owned(),
            agent: "agent".to_owned(),
            machine: None,
            facts: SessionFacts::default(),
            files: Vec::new(),
            gone: true,
            archived: false,
            bytes: None,
            own: None,
            subagents: Vec::new(),
        };
        let all = [
            kept_passage(PassageKind::UserMessage, None, "go"),
            kept_passage(PassageKind::ToolCall, Some("read"), r#"{"path":"a"}"#),
            kept_passage(PassageKind::ToolCall, Some("run"), "ls -l"),
            kept_passage(PassageKind::ToolResult, Some("run"), "listing"),
            kept_passage(PassageKind::ToolResult, Some("read"), "content"),
            kept_passage(PassageKind::ToolResult, Some("lost"), "alone"),
            kept_passage(PassageKind::AssistantMessage, None, "done"),
            kept_passage(PassageKind::ToolCall, Some("never"), "{}"),
            kept_passage(PassageKind::UserMessage, None, "more"),
        ];
        let events = rebuild_events(&session, &all);
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        let story = TranscriptDocument::from_events(&events);
        let told = |what: &StepContent| match what {
            StepContent::Did(did) => {
                format!("{}({})={}", did.name, did.input.as_ref().unwrap_or(&did.about).len(), did.output)
            }
            StepContent::Said(text) | StepContent::Thought(text) | StepContent::Note(text) => text.clone(),
        };
        let steps: Vec<String> = story.turns.iter().flat_map(|turn| &turn.steps).map(|step| told(&step.what)).collect();
        assert_eq!(steps, ["run(5)=listing", "read(17)=content", "lost(0)=alone", "done", "never(0)="]);
        assert_eq!(story.turns.len(), 2);
    }
}
