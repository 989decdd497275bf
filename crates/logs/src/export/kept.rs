//! What was kept of a session whose log is gone, as events again: what was said and done is there, in order; ids, figures
//! and the agent's own records are not.

use serde_json::value::RawValue;
use switchboard_event::{
    AgentMessage, Body, Call, Details, Event, Id, Info, Item, Level, Notice, Reasoning, SessionStarted, Status,
    Timestamp, Tool, Topic, TurnStarted, UserMessage,
};

use crate::{Kept, Session};
use switchboard_agents::Kind;

/// The events of what was kept.
#[must_use]
pub fn events(session: &Session, kept: &[Kept]) -> Vec<Event> {
    let mut made = Made { session: Id::from(&session.id), agent: Id::from(&session.agent), ..Made::default() };
    made.at = session.facts.began.unwrap_or_default();
    made.begin(session);
    kept.iter().for_each(|passage| made.passage(passage));
    made.close();
    made.events
}

#[derive(Default)]
struct Made {
    session: Id,
    agent: Id,
    at: Timestamp,
    turn: u32,
    items: u64,
    /// Calls without a result, in order: the item, the tool, what it was given.
    open: Vec<(Id, Item)>,
    events: Vec<Event>,
}

impl Made {
    fn push(&mut self, item: Option<Id>, body: Body) {
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

    fn begin(&mut self, session: &Session) {
        let facts = &session.facts;
        let info = Info {
            cwd: facts.cwd.clone(),
            model: facts.model.clone(),
            title: facts.title.clone(),
            version: facts.version.clone(),
            ..Info::default()
        };
        self.push(None, Body::SessionStarted(Box::new(SessionStarted { run: 1, info, ..SessionStarted::default() })));
    }

    fn passage(&mut self, kept: &Kept) {
        self.at = kept.at.unwrap_or(self.at);
        match kept.kind {
            Kind::UserMessage => self.asked(&kept.text),
            Kind::AssistantMessage => self.whole(AgentMessage::text(kept.text.clone())),
            Kind::Reasoning => self.whole(Reasoning { text: Some(kept.text.clone()), ..Reasoning::default() }),
            Kind::ToolCall => self.called(kept),
            Kind::ToolResult => self.answered(kept),
            Kind::SystemMessage | Kind::SessionSummary | Kind::Meta | Kind::Log => self.notice(kept),
        }
    }

    fn id(&mut self) -> Id {
        self.items += 1;
        Id::from(format!("kept-{}", self.items))
    }

    fn asked(&mut self, text: &str) {
        self.close();
        self.turn += 1;
        let started = TurnStarted { prompt: Some(text.to_owned()), ..TurnStarted::default() };
        self.push(None, Body::TurnStarted(Box::new(started)));
        self.whole(UserMessage::text(text));
    }

    fn whole(&mut self, details: impl Into<Details>) {
        let (id, item) = (self.id(), Item::new(details));
        self.push(Some(id.clone()), Body::ItemStarted(Box::new(item.clone())));
        self.push(Some(id), Body::ItemCompleted(Box::new(item.with_status(Status::Completed))));
    }

    fn called(&mut self, kept: &Kept) {
        let input = RawValue::from_string(kept.text.clone()).ok();
        let title = input.is_none().then(|| kept.text.clone());
        let name = kept.tool.clone().unwrap_or_default();
        let item = Item::new(Tool::default()).with_call(Call { name, title, input, ..Call::default() });
        let id = self.id();
        self.push(Some(id.clone()), Body::ItemStarted(Box::new(item.clone())));
        self.open.push((id, item));
    }

    /// The result of the first call of that tool which has none yet.
    fn answered(&mut self, kept: &Kept) {
        let is_its = |item: &Item| item.call.as_ref().is_some_and(|call| Some(&call.name) == kept.tool.as_ref());
        let at = self.open.iter().position(|(_, item)| is_its(item));
        let at = at.or_else(|| (kept.tool.is_none() && !self.open.is_empty()).then_some(0));
        let Some((id, mut item)) = at.map(|at| self.open.remove(at)) else {
            let call = Call { name: kept.tool.clone().unwrap_or_default(), ..Call::default() };
            let (id, item) = (self.id(), Item::new(output(&kept.text)).with_call(call));
            self.push(Some(id.clone()), Body::ItemStarted(Box::new(item.clone())));
            return self.push(Some(id), Body::ItemCompleted(Box::new(item.with_status(Status::Completed))));
        };
        item.details = output(&kept.text).into();
        self.push(Some(id), Body::ItemCompleted(Box::new(item.with_status(Status::Completed))));
    }

    fn notice(&mut self, kept: &Kept) {
        let level = if kept.kind == Kind::SystemMessage { Level::Info } else { Level::Debug };
        let notice =
            Notice::new(Topic::Status).with_text(kept.text.clone()).with_name(kept.kind.name()).with_level(level);
        self.push(None, Body::Notice(Box::new(notice)));
    }

    /// Calls of which no result was kept.
    fn close(&mut self) {
        for (id, item) in std::mem::take(&mut self.open) {
            self.push(Some(id), Body::ItemCompleted(Box::new(item.with_status(Status::Completed))));
        }
    }
}

fn output(text: &str) -> Tool {
    Tool { output: text.to_owned(), ..Tool::default() }
}

#[cfg(test)]
mod tests {
    use switchboard_agents::{Facts, Kind};

    use super::events;
    use crate::{
        Kept, Session,
        export::story::{Story, What},
    };

    fn kept(kind: Kind, tool: Option<&str>, text: &str) -> Kept {
        Kept { kind, at: None, tool: tool.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn results_find_their_calls() {
        let session = Session {
            id: "s".to_owned(),
            agent: "agent".to_owned(),
            machine: None,
            facts: Facts::default(),
            files: Vec::new(),
            gone: true,
            archived: false,
            bytes: None,
            own: None,
            subagents: Vec::new(),
        };
        let all = [
            kept(Kind::UserMessage, None, "go"),
            kept(Kind::ToolCall, Some("read"), r#"{"path":"a"}"#),
            kept(Kind::ToolCall, Some("run"), "ls -l"),
            kept(Kind::ToolResult, Some("run"), "listing"),
            kept(Kind::ToolResult, Some("read"), "content"),
            kept(Kind::ToolResult, Some("lost"), "alone"),
            kept(Kind::AssistantMessage, None, "done"),
            kept(Kind::ToolCall, Some("never"), "{}"),
            kept(Kind::UserMessage, None, "more"),
        ];
        let events = events(&session, &all);
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        let story = Story::of(&events);
        let told = |what: &What| match what {
            What::Did(did) => {
                format!("{}({})={}", did.name, did.input.as_ref().unwrap_or(&did.about).len(), did.output)
            }
            What::Said(text) | What::Thought(text) | What::Note(text) => text.clone(),
        };
        let steps: Vec<String> = story.turns.iter().flat_map(|turn| &turn.steps).map(|step| told(&step.what)).collect();
        assert_eq!(steps, ["run(5)=listing", "read(17)=content", "lost(0)=alone", "done", "never(0)="]);
        assert_eq!(story.turns.len(), 2);
    }
}
