//! Items: which of them are said, which are done, and what is remembered of those that are open.

use switchboard_event::{Delta, Details, Event, Field, Id, Item, Status};

use super::{clean, fold, options::Detail, paper::Block, speech::Voice, style::DIM, tools, viewer::View};

/// Maximum width of a remark in a stored transcript, in columns.
const REMARK: usize = 120;

/// An item that is not finished.
#[derive(Debug)]
pub struct Open {
    /// What it says, if it is a message or a thought.
    pub voice: Option<Voice>,
    /// The line that says what it is, as it was shown.
    pub heading: Option<String>,
    /// What it does, in a few words, for the status line.
    pub doing: String,
    /// The last line that it printed, for the status line.
    pub printed: String,
    /// The subagent's thread that it belongs to.
    pub thread: Option<Id>,
    /// Its place among all that were started.
    pub number: u64,
}

impl View {
    pub(super) fn item_started(&mut self, event: &Event, item: &Item) {
        let Some(id) = &event.item else { return };
        self.see_subagent(event, item);
        let open = Open {
            voice: Voice::of(item),
            heading: None,
            doing: tools::doing(item, self.cwd.as_deref()),
            printed: String::new(),
            thread: event.thread.clone(),
            number: event.seq,
        };
        self.open.insert(id.clone(), open);
        match &item.details {
            Details::AgentMessage(_) | Details::Reasoning(_) => self.speech_started(event, item),
            Details::Plan(_) => self.show_plan(event, item),
            _ => self.work_started(event, item),
        }
    }

    pub(super) fn item_grew(&mut self, event: &Event, delta: &Delta) {
        let Some(open) = event.item.as_ref().and_then(|id| self.open.get_mut(id)) else { return };
        match delta {
            Delta::Append { field: Field::Output, text, .. } => tools::keep_last_line(&mut open.printed, text),
            Delta::Append { field, part, text } => self.speech_grew(event, *field, *part, text),
            Delta::Progress { text: Some(text), .. } => tools::keep_last_line(&mut open.printed, text),
            Delta::Progress { .. } => {}
            Delta::Set { patch } => {
                open.doing = tools::doing(patch, self.cwd.as_deref());
                self.see_subagent(event, patch);
                self.show_plan(event, patch);
            }
        }
    }

    pub(super) fn item_completed(&mut self, event: &Event, item: &Item) {
        let Some(open) = event.item.as_ref().and_then(|id| self.open.remove(id)) else { return };
        self.see_subagent(event, item);
        match &item.details {
            Details::AgentMessage(_) | Details::Reasoning(_) => self.speech_ended(event, item, open),
            // Another item took its place, and is shown.
            _ if item.status == Status::Superseded => {}
            Details::UserMessage(message) => self.user_said(event, message),
            Details::Plan(_) => self.plan_completed(event, item),
            Details::FileChange(change) => self.files_changed(event, item, change),
            _ => self.work_completed(event, item, &open),
        }
    }

    /// One line about something small.
    pub(super) fn remark(&mut self, event: &Event, text: &str) {
        self.begin(event, Block::Note);
        if self.paper.options.detail == Detail::Brief {
            let line = text.lines().next().unwrap_or_default();
            let (line, more) = fold::cells([&*clean::line(line)], REMARK);
            let line: String = fold::cut(line, more, REMARK).iter().map(|cell| cell.c).collect();
            return self.paper.rows(0, 1, &[(DIM, "· "), (DIM, &line)]);
        }
        self.paper.rows(0, 3, &[(DIM, "· "), (DIM, text)]);
    }
}
