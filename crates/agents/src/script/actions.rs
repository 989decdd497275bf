//! The effects of each verb. Commands, edits, searches and other items are simulated.

use std::ops::RangeInclusive;

use switchboard_event::{
    AgentMessage, Call, CallKind, Command, Content, ContentType, Details, EndReason, ErrorCode, Fault, Field,
    FileChange, FileOp, Id, Info, Item, Level, Location, Mcp, Notice, Plan, PlanEntry, PlanStatus, Reasoning, Status,
    Subagent, Tool, Topic, WebSearch, to_raw_json,
};

use super::{
    ScriptReader,
    verb::{CommandVerb, EditVerb, ScriptVerb, VerbWait},
    words,
};
use crate::{JsonView, RunRecorder, SessionEnding, diff};

/// A small PNG image: a red, a green and a blue bar.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAGAAAAAwCAMAAADZyI/9AAAACVBMVEXIPDw8oFA8WsgN1XXOAAAALklEQVR42u3NMQ0AAAgDsIF/\
    0UjYTdIaaFJMsUUEAoFAIBAIBAKBQCAQCASfggNLrhIBkmV/oAAAAABJRU5ErkJggg==";

/// The result of a simulated command.
pub struct CommandProgress {
    command: String,
    output: Option<String>,
    exit: i32,
}

impl CommandProgress {
    pub fn of(shell: &CommandVerb<'_>) -> Self {
        Self { command: shell.command.to_owned(), output: shell.output.clone(), exit: shell.exit }
    }
}

impl ScriptReader {
    pub(super) fn perform(&mut self, verb: &ScriptVerb<'_>, recorder: &mut RunRecorder) {
        if let Some(id) = self.bursting.take_if(|_| !matches!(verb, ScriptVerb::Burst { .. })) {
            recorder.item_closed(&id, Status::Completed);
        }
        match verb {
            ScriptVerb::Title(title) => {
                recorder.update_info(Info { title: Some((*title).to_owned()), ..Info::default() })
            }
            ScriptVerb::Text(text) => self.say(text, recorder),
            ScriptVerb::Think(text) => self.think(text, recorder),
            ScriptVerb::Say(text) => self.say(text, recorder),
            ScriptVerb::Run(shell) => {
                let id = self.start_command(shell.command, recorder);
                self.finish_command(&id, &CommandProgress::of(shell), recorder);
            }
            ScriptVerb::Edit(file) => {
                let id = self.start_edit(file, recorder);
                self.finish_edit(&id, recorder);
            }
            ScriptVerb::Mcp { server, tool, output } => self.mcp(server, tool, output, recorder),
            ScriptVerb::Search(words) => self.search(words, recorder),
            ScriptVerb::Image(name) => self.image(name, recorder),
            ScriptVerb::Retry(message) => retry_notice(message, recorder),
            ScriptVerb::Plan(steps) => self.plan(steps, recorder),
            ScriptVerb::Approve(shell) => self.approve(shell, recorder),
            ScriptVerb::ApproveEdit(file) => self.approve_edit(file, recorder),
            ScriptVerb::Ask { question, choices } => self.ask(question, choices, recorder),
            ScriptVerb::Subagent(label) => self.subagent(label, recorder),
            ScriptVerb::Sleep(_) => sleep(verb, recorder),
            ScriptVerb::Burst { from, to, of, .. } => self.burst(*from..=*to, *of, recorder),
            ScriptVerb::Fail(message) => self.fail(Fault::new(ErrorCode::ExecutionError, *message), recorder),
            ScriptVerb::Crash => self.crash(recorder),
            ScriptVerb::Raw(json) => report_unknown_control(json, recorder),
            ScriptVerb::Unknown(line) => unknown(line, recorder),
            ScriptVerb::Remark => {}
        }
    }

    /// Writes a message word by word.
    fn say(&mut self, text: &str, recorder: &mut RunRecorder) {
        let id = self.next_id("message", recorder);
        recorder.item_started(&id, Item::new(AgentMessage::default()));
        for piece in text.split_inclusive(' ') {
            recorder.item_append(&id, Field::Text, 0, piece);
        }
        recorder.item_closed(&id, Status::Completed);
        self.said = self.said.saturating_add(words(text));
    }

    fn think(&mut self, text: &str, recorder: &mut RunRecorder) {
        let id = self.next_id("thought", recorder);
        recorder.item_started(&id, Item::new(Reasoning::default()));
        for piece in text.split_inclusive(' ') {
            recorder.item_append(&id, Field::Text, 0, piece);
        }
        recorder.item_closed(&id, Status::Completed);
        self.said = self.said.saturating_add(words(text));
    }

    pub(super) fn start_command(&mut self, command: &str, recorder: &mut RunRecorder) -> Id {
        let id = self.next_id("command", recorder);
        let call = Call {
            name: "run".to_owned(),
            kind: CallKind::Execute,
            input: Some(to_raw_json(&serde_json::json!({ "command": command }))),
            ..Call::default()
        };
        let cwd = recorder.working_directory().map(str::to_owned);
        let details = Command { command: command.to_owned(), cwd, ..Command::default() };
        recorder.item_started(&id, Item::new(details).with_call(call));
        id
    }

    pub(super) fn finish_command(&mut self, id: &Id, printing: &CommandProgress, recorder: &mut RunRecorder) {
        let CommandProgress { command, output, exit } = printing;
        let made_up = || vec![format!("pretending to run: {command}\n"), "done\n".to_owned()];
        for piece in output.clone().map_or_else(made_up, |output| vec![output]) {
            recorder.item_append(id, Field::Output, 0, &piece);
        }
        if let Some(Details::Command(command)) = recorder.item_mut(id).map(|item| &mut item.details) {
            command.exit_code = Some(*exit);
        }
        recorder.item_closed(id, if *exit == 0 { Status::Completed } else { Status::Failed });
        self.said = self.said.saturating_add(words(command));
    }

    pub(super) fn start_edit(&mut self, file: &EditVerb<'_>, recorder: &mut RunRecorder) -> Id {
        let id = self.next_id("edit", recorder);
        let path = recorder.absolute_path(file.path);
        let call = Call {
            name: "edit".to_owned(),
            kind: CallKind::Edit,
            op: Some(FileOp::Modify),
            input: Some(to_raw_json(&serde_json::json!({ "path": path }))),
            locations: vec![Location { path: path.clone(), line: Some(2) }],
            ..Call::default()
        };
        let made_up = || ("one\ntwo\nthree\n".to_owned(), "one\ntwo, edited\nthree\n".to_owned());
        let (before, after) = file.sides.clone().unwrap_or_else(made_up);
        let there = |side: String| Some(side).filter(|side| !side.is_empty());
        let change = diff::change_from_sides(path, there(before), there(after));
        recorder.item_started(&id, Item::new(FileChange { changes: vec![change], output: None }).with_call(call));
        id
    }

    pub(super) fn finish_edit(&mut self, id: &Id, recorder: &mut RunRecorder) {
        if let Some(Details::FileChange(change)) = recorder.item_mut(id).map(|item| &mut item.details) {
            change.output = Some("pretended to edit it".to_owned());
        }
        recorder.item_closed(id, Status::Completed);
        self.said = self.said.saturating_add(1);
    }

    fn plan(&mut self, steps: &[&str], recorder: &mut RunRecorder) {
        let id = self.next_id("plan", recorder);
        let entries = plan_entries(steps);
        recorder.item_completed(&id, Item::new(Plan { entries, ..Plan::default() }));
        self.said = self.said.saturating_add(words(&steps.join(" ")));
    }

    fn subagent(&mut self, label: &str, recorder: &mut RunRecorder) {
        let (id, thread) = (self.next_id("subagent", recorder), self.next_id("thread", recorder));
        let call = Call {
            name: "subagent".to_owned(),
            input: Some(to_raw_json(&serde_json::json!({ "label": label }))),
            ..Call::default()
        };
        let details = Subagent {
            thread: Some(thread.clone()),
            name: "script".to_owned(),
            label: label.to_owned(),
            prompt: Some(label.to_owned()),
            ..Subagent::default()
        };
        recorder.item_started(&id, Item::new(details).with_call(call));
        recorder.set_scope(Some(id.clone()), Some(thread));
        self.say(&format!("Working on {label}"), recorder);
        recorder.set_scope(None, None);
        if let Some(Details::Subagent(subagent)) = recorder.item_mut(&id).map(|item| &mut item.details) {
            subagent.result = Some(format!("Finished {label}"));
        }
        recorder.item_closed(&id, Status::Completed);
    }

    /// Writes one message in many pieces. The last one has no trailing space.
    fn burst(&mut self, pieces: RangeInclusive<u64>, of: u64, recorder: &mut RunRecorder) {
        let going_on = self.bursting.take().filter(|id| *pieces.start() > 1 && recorder.item_is_open(id));
        let id = going_on.unwrap_or_else(|| {
            let id = self.next_id("message", recorder);
            recorder.item_started(&id, Item::new(AgentMessage::default()));
            id
        });
        for piece in pieces.clone() {
            let blank = if piece < of { " " } else { "" };
            recorder.item_append(&id, Field::Text, 0, &format!("{piece}{blank}"));
        }
        self.said = self.said.saturating_add((pieces.end() + 1).saturating_sub(*pieces.start()));
        if *pieces.end() < of {
            self.bursting = Some(id);
        } else {
            recorder.item_closed(&id, Status::Completed);
        }
    }

    fn crash(&mut self, recorder: &mut RunRecorder) {
        self.crashed = true;
        let error = Some(Fault::new(ErrorCode::ExecutionError, "the agent crashed"));
        recorder.session_ending(SessionEnding { reason: EndReason::Failed, error });
    }
}

/// Reports a pause. The driver does the waiting.
fn sleep(verb: &ScriptVerb<'_>, recorder: &mut RunRecorder) {
    if let VerbWait::Time(time) = verb.wait() {
        let text = format!("sleeping for {} seconds", time.as_secs_f64());
        recorder.write_notice(Notice::new(Topic::Status).with_name("sleep").with_text(text));
    }
}

fn report_unknown_control(json: &str, recorder: &mut RunRecorder) {
    let notice = Notice::new(Topic::Unknown).with_name("raw").with_level(Level::Debug);
    recorder.write_notice(match JsonView::parse(json) {
        Some(json) => Notice { detail: Some(json.to_raw()), ..notice },
        None => notice.with_text(json),
    });
}

fn unknown(line: &str, recorder: &mut RunRecorder) {
    let text = format!("not a line of a script: {line}");
    recorder.write_notice(Notice::new(Topic::Warning).with_level(Level::Warning).with_text(text));
}

impl ScriptReader {
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
pub fn plan_entries(steps: &[&str]) -> Vec<PlanEntry> {
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
pub fn retry_notice(message: &str, recorder: &mut RunRecorder) {
    recorder.write_notice(Notice::new(Topic::Retry).with_level(Level::Warning).with_text(message));
}
