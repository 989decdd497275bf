//! The state of a session after its events so far: one fold for every view of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Command, Details, Event, EventBody, Id, Info, Item, Kind, RequestOpened, SessionEnded, Usage};

/// The maximum number of characters of an activity or a title.
const MAX_LINE_CHARS: usize = 120;

/// The state of a session after its events so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionState {
    /// The last event that was applied.
    pub seq: u64,
    /// The last event that changed more than the text of an item.
    pub changed: u64,
    /// What the agent reported about itself.
    pub info: Info,
    /// The current run, or the last one.
    pub run: u32,
    /// A turn is in progress.
    pub in_turn: bool,
    /// The requests that wait for an answer, oldest first. Those that the settings decide are not among them.
    pub requests: Vec<RequestOpened>,
    /// The usage of each model. Replies without a model are under the empty name.
    pub usage: BTreeMap<String, Usage>,
    /// The usage of the current turn, or of the last one.
    pub turn_usage: Usage,
    /// How the last run ended; `None` while one is in progress.
    pub end: Option<SessionEnded>,
    reply_model: Option<String>,
    activity: Option<ItemActivity>,
}

/// The item that the agent works on.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ItemActivity {
    item: Id,
    text: String,
}

impl SessionState {
    /// The kinds of event that change the state. A reader that only wants the state can leave out all others.
    pub const KINDS: &'static [Kind] = &[
        Kind::SessionStarted,
        Kind::SessionUpdated,
        Kind::SessionEnded,
        Kind::TurnStarted,
        Kind::TurnCompleted,
        Kind::ItemStarted,
        Kind::ItemCompleted,
        Kind::RequestOpened,
        Kind::RequestResolved,
        Kind::Usage,
    ];

    /// The kinds that change [`Self::requests`] while a session is open.
    pub const REQUEST_KINDS: &'static [Kind] = &[Kind::RequestOpened, Kind::RequestResolved];

    /// The kinds that change [`Self::info`].
    pub const INFO_KINDS: &'static [Kind] = &[Kind::SessionStarted, Kind::SessionUpdated];

    /// Applies the next event.
    pub fn apply(&mut self, event: &Event) {
        self.seq = event.seq;
        if Self::KINDS.contains(&event.body.kind()) {
            self.changed = event.seq;
        }
        match &event.body {
            EventBody::SessionStarted(started) => {
                self.info.apply_update(&started.info);
                (self.run, self.end) = (event.run, None);
            }
            EventBody::SessionUpdated(updated) => self.info.apply_update(&updated.info),
            EventBody::SessionEnded(ended) => self.end_run(ended),
            EventBody::TurnStarted(_) => (self.in_turn, self.turn_usage) = (true, Usage::default()),
            EventBody::TurnCompleted(_) => (self.in_turn, self.activity) = (false, None),
            EventBody::ItemStarted(item) => self.start_item(event, item),
            EventBody::ItemCompleted(_) => {
                self.activity.take_if(|activity| Some(&activity.item) == event.item.as_ref());
            }
            EventBody::RequestOpened(request) if request.decided => {}
            EventBody::RequestOpened(request) => self.requests.push((**request).clone()),
            EventBody::RequestResolved(resolved) => self.requests.retain(|open| open.request != resolved.request),
            EventBody::Usage(usage) => self.add_usage(usage),
            EventBody::ItemDelta(_) | EventBody::Notice(_) => {}
        }
    }

    /// Marks events up to this one as seen, of which none changes the state.
    pub fn skip_to(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
    }

    /// Returns the model in use: the one the agent names, else that of the last reply.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.info.model.as_deref().or(self.reply_model.as_deref())
    }

    /// Returns what the agent is doing, in a few words.
    #[must_use]
    pub fn activity(&self) -> Option<&str> {
        self.activity.as_ref().map(|activity| activity.text.as_str())
    }

    /// Returns whether a request waits for an answer.
    #[must_use]
    pub fn is_open(&self, request: &str) -> bool {
        self.requests.iter().any(|open| *open.request == *request)
    }

    /// Returns the title of the oldest open request, as one line.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        self.requests.first().map(|request| single_line(&request.title))
    }

    /// Returns the usage of all models together.
    #[must_use]
    pub fn total_usage(&self) -> Usage {
        self.usage.values().fold(Usage::default(), |mut total, usage| {
            total.add(usage);
            total
        })
    }

    fn end_run(&mut self, ended: &SessionEnded) {
        (self.in_turn, self.activity, self.end) = (false, None, Some(ended.clone()));
        self.requests.clear();
    }

    fn start_item(&mut self, event: &Event, item: &Item) {
        if let (Some(id), Some(text)) = (&event.item, describe_item(item)) {
            self.activity = Some(ItemActivity { item: id.clone(), text });
        }
    }

    fn add_usage(&mut self, usage: &Usage) {
        if usage.model.is_some() {
            self.reply_model.clone_from(&usage.model);
        }
        if usage.cumulative {
            return;
        }
        self.turn_usage.add(usage);
        self.usage.entry(usage.model.clone().unwrap_or_default()).or_default().add(usage);
    }
}

/// Returns what the agent does while it works on an item.
fn describe_item(item: &Item) -> Option<String> {
    let title = || item.call.as_ref().map(|call| call.title.as_deref().unwrap_or(&call.name));
    Some(match &item.details {
        Details::Command(Command { command, .. }) => single_line(&format!("running {command}")),
        Details::FileChange(change) => match change.changes.first() {
            Some(first) => single_line(&format!("editing {}", first.path.rsplit('/').next().unwrap_or(&first.path))),
            None => "editing".to_owned(),
        },
        Details::AgentMessage(_) => "answering".to_owned(),
        Details::Reasoning(_) => "thinking".to_owned(),
        Details::Plan(_) => "planning".to_owned(),
        Details::WebSearch(_) => "searching the web".to_owned(),
        Details::Subagent(agent) => single_line(&format!("with a subagent: {}", agent.label)),
        Details::Mcp(mcp) => single_line(&format!("calling {} of {}", mcp.tool, mcp.server)),
        Details::Tool(_) => single_line(&format!("using {}", title()?)),
        Details::UserMessage(_) | Details::Unknown(_) => return None,
    })
}

/// Returns the first line of a text without control characters.
fn single_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_LINE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::SessionState;
    use crate::{
        Decider, EndReason, Event, EventBody, Id, Item, RequestOpened, RequestResolved, SessionEnded, Tool, Usage,
    };

    fn make_event(seq: u64, item: Option<&str>, body: EventBody) -> Event {
        Event {
            seq,
            session: Id::from("s"),
            at: crate::Timestamp::default(),
            agent: Id::from("a"),
            run: 1,
            turn: None,
            item: item.map(Id::from),
            parent: None,
            thread: None,
            body,
            native: None,
            cause: None,
        }
    }

    fn state_after(bodies: Vec<(Option<&str>, EventBody)>) -> SessionState {
        let mut state = SessionState::default();
        (1..).zip(bodies).for_each(|(seq, (item, body))| state.apply(&make_event(seq, item, body)));
        state
    }

    fn request_opened(id: &str, decided: bool) -> (Option<&'static str>, EventBody) {
        (
            None,
            EventBody::RequestOpened(Box::new(RequestOpened { request: Id::from(id), decided, ..Default::default() })),
        )
    }

    fn session_ended() -> SessionEnded {
        SessionEnded {
            reason: EndReason::Completed,
            error: None,
            exit_code: None,
            signal: None,
            duration_ms: 0,
            by: Decider::Agent,
        }
    }

    #[test]
    fn requests_are_open_until_they_are_resolved_or_the_run_ends() {
        let resolved = RequestResolved { request: Id::from("1"), ..RequestResolved::default() };
        let resolved = || (None, EventBody::RequestResolved(Box::new(resolved.clone())));
        let open = |bodies| -> Vec<_> {
            state_after(bodies).requests.into_iter().map(|open| open.request.to_string()).collect()
        };
        assert_eq!(
            open(vec![request_opened("1", false), request_opened("2", true), request_opened("3", false)]),
            ["1", "3"]
        );
        assert_eq!(open(vec![request_opened("1", false), request_opened("3", false), resolved()]), ["3"]);
        let ended = (None, EventBody::SessionEnded(Box::new(session_ended())));
        assert!(open(vec![request_opened("1", false), ended]).is_empty());
    }

    #[test]
    fn usage_is_summed_by_model_and_running_totals_are_left_out() {
        let used = |model: Option<&str>, input, cumulative| {
            let model = model.map(str::to_owned);
            (None, EventBody::Usage(Box::new(Usage { model, input, cumulative, ..Usage::default() })))
        };
        let turn = || (None, EventBody::TurnStarted(Box::default()));
        let state = state_after(vec![
            turn(),
            used(Some("m"), 1, false),
            used(None, 2, false),
            turn(),
            used(Some("m"), 4, false),
            used(Some("n"), 100, true),
        ]);
        let inputs: Vec<_> = state.usage.iter().map(|(model, usage)| (model.as_str(), usage.input)).collect();
        assert_eq!(inputs, [("", 2), ("m", 5)]);
        assert_eq!((state.total_usage().input, state.turn_usage.input, state.model()), (7, 4, Some("n")));
    }

    #[test]
    fn the_activity_is_that_of_the_item_in_progress() {
        let started = |id| (Some(id), EventBody::ItemStarted(Box::new(Item::new(Tool::default()))));
        let completed = |id| (Some(id), EventBody::ItemCompleted(Box::new(Item::new(Tool::default()))));
        let mut tool = Item::new(Tool::default());
        tool.call = Some(Box::new(crate::Call { name: "search\nall".to_owned(), ..Default::default() }));
        let named = (Some("1"), EventBody::ItemStarted(Box::new(tool)));
        let activity = |bodies| state_after(bodies).activity().map(str::to_owned);
        assert_eq!(activity(vec![named.clone(), started("2")]).as_deref(), Some("using search"));
        assert_eq!(activity(vec![named.clone(), completed("2")]).as_deref(), Some("using search"));
        assert_eq!(activity(vec![named, completed("1")]), None);
    }
}
