//! Approvals of a session: open requests, the validation of their answers, and approvals for the rest of the session.
//!
//! Many agents ask again about the same action although a client has allowed it for the session, so Switchboard remembers
//! such answers itself, for every agent. A command is identified by its text and directory, a change by its files, a
//! tool of an MCP server by its name. Any other tool must be called with the same input.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
use switchboard_event::{About, CallKind, ChangeKind, Id, OptionKind, RequestOpened};

use crate::{
    CommandError,
    paths::Workspace,
    policy::{ToolCategory, moves_to_unknown},
};

/// The open requests of a session, including those that the settings decide. The requests themselves are in the
/// session's state once they are committed.
#[derive(Default)]
pub struct OpenRequests(HashMap<Id, PendingRequest>);

struct PendingRequest {
    /// The approvals that an answer for the whole session grants.
    keys: Vec<ApprovalKey>,
    /// An answer was sent to the agent.
    is_answered: bool,
}

impl OpenRequests {
    pub fn insert(&mut self, request: Id, keys: Vec<ApprovalKey>) {
        self.0.insert(request, PendingRequest { keys, is_answered: false });
    }

    /// Removes a request that no longer needs an answer.
    pub fn remove(&mut self, request: &Id) {
        self.0.remove(request);
    }

    /// Returns whether the agent waits for an answer.
    pub fn is_waiting(&self) -> bool {
        self.0.values().any(|open| !open.is_answered)
    }

    pub fn is_unanswered(&self, request: &Id) -> bool {
        self.0.get(request).is_some_and(|open| !open.is_answered)
    }

    /// Marks a request as answered. Returns the approvals that an answer for the whole session grants.
    pub fn mark_answered(&mut self, request: &Id) -> Vec<ApprovalKey> {
        let Some(open) = self.0.get_mut(request) else { return Vec::new() };
        open.is_answered = true;
        std::mem::take(&mut open.keys)
    }
}

/// Returns whether an answer allows more than this one request. An answer with a changed input does not allow the
/// original one.
pub fn allows_for_session(request: &RequestOpened, answer: &RequestAnswer) -> bool {
    let option = answer.option.as_deref().and_then(|option| offered_option(request, option));
    let lasts = matches!(option, Some(OptionKind::AllowSession | OptionKind::AllowAlways));
    is_allowed(answer) && answer.input.is_none() && (lasts || answer.decision == RequestDecision::AllowSession)
}

fn is_allowed(answer: &RequestAnswer) -> bool {
    matches!(answer.decision, RequestDecision::Allow | RequestDecision::AllowSession)
}

fn offered_option(request: &RequestOpened, id: &str) -> Option<OptionKind> {
    request.options.iter().rfind(|option| option.id == id).map(|option| option.kind)
}

pub fn check_answer(
    request: &RequestOpened,
    answer: &RequestAnswer,
    abilities: &Abilities,
) -> Result<(), CommandError> {
    let bad = |text: String| Err(CommandError::BadAnswer(text));
    if answer.input.is_some() && !abilities.changed_input {
        return bad("this agent does not accept a changed input".to_owned());
    }
    if request.requires_person && answer.decision == RequestDecision::AllowSession {
        return bad("this request needs a person each time, and can be allowed only once".to_owned());
    }
    if let Some(option) = &answer.option {
        match offered_option(request, option) {
            None => return bad(format!("there is no option `{option}`")),
            Some(kind) if allows(kind) != is_allowed(answer) => {
                return bad(format!("option `{option}` contradicts the decision"));
            }
            Some(_) => {}
        }
    }
    if !is_allowed(answer) {
        return Ok(());
    }
    for (id, chosen) in &answer.answers {
        let Some(question) = request.questions.iter().rfind(|question| question.id == *id) else {
            return bad(format!("there is no question `{id}`"));
        };
        let is_free = question.free_text || question.choices.is_empty();
        let is_offered = |text: &&String| question.choices.iter().any(|choice| choice.label == **text);
        if let Some(other) = chosen.iter().find(|text| !is_free && !is_offered(text)) {
            return bad(format!("`{other}` is not among the answers to `{id}`"));
        }
    }
    let is_answered = |id: &String| answer.answers.contains_key(id);
    if request.about == About::Question && !request.questions.iter().all(|question| is_answered(&question.id)) {
        return bad("not all questions are answered".to_owned());
    }
    Ok(())
}

fn allows(kind: OptionKind) -> bool {
    matches!(kind, OptionKind::AllowOnce | OptionKind::AllowSession | OptionKind::AllowAlways)
}

/// The maximum number of approvals; a person grants fewer in one session.
const MAX_APPROVALS: usize = 10_000;

#[derive(Default)]
pub struct SessionApprovals(HashSet<ApprovalKey>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalKey {
    Command {
        command: String,
        cwd: String,
    },
    /// A change of a file, by all paths that the agent can mean. Deleting it is a different action.
    File {
        paths: Vec<PathBuf>,
        is_deleted: bool,
    },
    /// A tool of an MCP server, whatever its input.
    McpTool(String),
    Call {
        tool: String,
        input: String,
    },
}

impl SessionApprovals {
    pub fn remember(&mut self, keys: Vec<ApprovalKey>) {
        if self.0.len() + keys.len() <= MAX_APPROVALS {
            self.0.extend(keys);
        }
    }

    /// Returns whether all actions were approved before.
    pub fn covers(&self, keys: &[ApprovalKey]) -> bool {
        !keys.is_empty() && keys.iter().all(|key| self.0.contains(key))
    }
}

/// Returns the actions that an answer for the session approves. Empty if the request must be asked each time: it needs a
/// person, or too little is known to recognize it.
pub fn approval_keys(request: &RequestOpened, workspace: &Workspace, is_mcp: bool) -> Vec<ApprovalKey> {
    let is_tool = matches!(request.about, About::Command | About::FileChange | About::Tool);
    if !is_tool || request.requires_person {
        return Vec::new();
    }
    let keys = match ToolCategory::of_request(request, is_mcp) {
        ToolCategory::Command => command_key(request).map(|key| vec![key]),
        ToolCategory::Edit => file_keys(request, workspace),
        ToolCategory::Mcp => tool_name(request).map(|name| vec![ApprovalKey::McpTool(name)]),
        ToolCategory::Read | ToolCategory::Web | ToolCategory::Other => call_key(request).map(|key| vec![key]),
    };
    keys.unwrap_or_default()
}

fn command_key(request: &RequestOpened) -> Option<ApprovalKey> {
    let Some(command) = request.command.clone().filter(|command| !command.is_empty()) else {
        return call_key(request);
    };
    Some(ApprovalKey::Command { command, cwd: request.cwd.clone().unwrap_or_default() })
}

fn file_keys(request: &RequestOpened, workspace: &Workspace) -> Option<Vec<ApprovalKey>> {
    if moves_to_unknown(request) {
        return None;
    }
    let changed = request.changes.iter().flat_map(|change| {
        let is_deleted = change.kind == ChangeKind::Delete;
        [Some((&change.path, is_deleted)), change.to.as_ref().map(|to| (to, false))].into_iter().flatten()
    });
    let call = request.call.as_deref();
    let is_deleting = call.is_some_and(|call| call.kind == CallKind::Delete);
    let located = call.into_iter().flat_map(|call| &call.locations).map(|location| (&location.path, is_deleting));
    let key = |(path, is_deleted): (&String, bool)| {
        let paths = workspace.resolve_readings(path).ok()?;
        Some(ApprovalKey::File { paths, is_deleted })
    };
    changed.chain(located).map(key).collect()
}

fn call_key(request: &RequestOpened) -> Option<ApprovalKey> {
    let input = request.call.as_ref()?.input.as_ref()?.get().to_owned();
    Some(ApprovalKey::Call { tool: tool_name(request)?, input })
}

fn tool_name(request: &RequestOpened) -> Option<String> {
    request.call.as_ref().map(|call| call.name.clone()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
    use switchboard_event::{
        About, Call, CallKind, Change, ChangeKind, Choice, Id, OptionKind, Question, RequestOpened, RequestOption,
        to_raw_json,
    };

    use super::{ApprovalKey, OpenRequests, SessionApprovals, approval_keys, check_answer};
    use crate::{paths::Workspace, test_tree::TestTree};

    fn question() -> RequestOpened {
        let choices = vec![Choice { label: "A".to_owned(), description: None }];
        let question = Question { id: "q".to_owned(), choices, ..Question::default() };
        RequestOpened {
            request: Id::from("r"),
            about: About::Question,
            questions: vec![question],
            ..RequestOpened::default()
        }
    }

    fn answer(decision: RequestDecision, answers: &[(&str, &str)]) -> RequestAnswer {
        let answers = answers.iter().map(|(q, a)| ((*q).to_owned(), vec![(*a).to_owned()])).collect();
        RequestAnswer { request: Id::from("r"), decision, answers, ..RequestAnswer::default() }
    }

    #[test]
    fn the_first_answer_counts() {
        let (mut requests, id) = (OpenRequests::default(), Id::from("r"));
        requests.insert(id.clone(), vec![ApprovalKey::McpTool("x".to_owned())]);
        assert!(requests.is_waiting() && requests.is_unanswered(&id));
        assert_eq!(requests.mark_answered(&id).len(), 1);
        assert!(!requests.is_waiting() && !requests.is_unanswered(&id));
    }

    fn check(request: &RequestOpened, answer: &RequestAnswer) -> Result<(), String> {
        check_answer(request, answer, &Abilities::NONE).map_err(|error| error.to_string())
    }

    #[test]
    fn all_questions_are_answered_with_offered_choices() {
        for (invalid, why) in [
            (answer(RequestDecision::Allow, &[]), "not all questions"),
            (answer(RequestDecision::Allow, &[("q", "B")]), "not among"),
            (answer(RequestDecision::Allow, &[("other", "A")]), "no question"),
        ] {
            let error = check(&question(), &invalid).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        check(&question(), &answer(RequestDecision::Allow, &[("q", "A")])).unwrap();
    }

    #[test]
    fn a_refusal_needs_no_answers_and_a_changed_input_needs_the_ability() {
        let input = Some(to_raw_json(&1));
        let changed = RequestAnswer { input, ..answer(RequestDecision::Allow, &[("q", "A")]) };
        assert!(check(&question(), &changed).is_err());
        check(&question(), &answer(RequestDecision::Decline, &[])).unwrap();
    }

    #[test]
    fn a_request_for_a_person_is_not_allowed_for_the_session() {
        let request = RequestOpened::default().require_person();
        assert!(check(&request, &answer(RequestDecision::AllowSession, &[])).is_err());
        check(&request, &answer(RequestDecision::Allow, &[])).unwrap();
    }

    #[test]
    fn an_option_must_be_offered_and_mean_what_is_decided() {
        let option = |id: &str, kind| RequestOption { id: id.to_owned(), label: id.to_owned(), kind };
        let options = vec![option("once", OptionKind::AllowOnce), option("never", OptionKind::Reject)];
        let request = RequestOpened { options, ..RequestOpened::default() };
        for (decision, option, is_valid) in [
            (RequestDecision::Allow, "unknown", false),
            (RequestDecision::Allow, "never", false),
            (RequestDecision::Decline, "once", false),
            (RequestDecision::Cancel, "once", false),
            (RequestDecision::Allow, "once", true),
        ] {
            let answer = RequestAnswer { option: Some(option.to_owned()), ..answer(decision, &[]) };
            assert_eq!(check(&request, &answer).is_ok(), is_valid, "{answer:?}");
        }
    }

    fn command(command: &str, cwd: &str) -> RequestOpened {
        let (command, cwd) = (Some(command.to_owned()), Some(cwd.to_owned()));
        RequestOpened { about: About::Command, command, cwd, ..RequestOpened::default() }
    }

    fn edit(paths: &[&str], kind: ChangeKind) -> RequestOpened {
        let change = |path: &&str| Change { path: (*path).to_owned(), kind, ..Change::default() };
        RequestOpened {
            about: About::FileChange,
            changes: paths.iter().map(change).collect(),
            ..RequestOpened::default()
        }
    }

    fn tool(name: &str, kind: CallKind, input: &str) -> RequestOpened {
        let call = Call { name: name.to_owned(), kind, input: Some(to_raw_json(input)), ..Call::default() };
        RequestOpened { about: About::Tool, call: Some(Box::new(call)), ..RequestOpened::default() }
    }

    /// Returns whether the second request is covered after the first was allowed for the session.
    fn is_covered(allowed: &RequestOpened, request: &RequestOpened, is_mcp: bool) -> bool {
        let tree = TestTree::new(&[]);
        let workspace = Workspace::new(tree.to_owned(), []);
        let mut approvals = SessionApprovals::default();
        approvals.remember(approval_keys(allowed, &workspace, is_mcp));
        approvals.covers(&approval_keys(request, &workspace, is_mcp))
    }

    #[test]
    fn an_approval_covers_only_the_same_action() {
        use ChangeKind::{Delete, Modify};
        assert!(is_covered(&command("ls", "/a"), &command("ls", "/a"), false));
        assert!(!is_covered(&command("ls", "/a"), &command("ls -a", "/a"), false));
        assert!(!is_covered(&command("ls", "/a"), &command("ls", "/b"), false));
        assert!(is_covered(&edit(&["a", "b"], Modify), &edit(&["./b"], Modify), false));
        assert!(!is_covered(&edit(&["a"], Modify), &edit(&["a", "b"], Modify), false));
        assert!(!is_covered(&edit(&["a"], Modify), &edit(&["a"], Delete), false));
        assert!(!is_covered(&edit(&["$X"], Modify), &edit(&["$X"], Modify), false), "it may lead anywhere");
        assert!(!is_covered(&edit(&[], Modify), &edit(&[], Modify), false), "nothing is known of it");
        let web = tool("fetch", CallKind::Fetch, "https://a");
        assert!(is_covered(&web, &web.clone(), false));
        assert!(!is_covered(&web, &tool("fetch", CallKind::Fetch, "https://b"), false));
        let (one, other) = (tool("db.query", CallKind::Other, "1"), tool("db.query", CallKind::Other, "2"));
        assert!(is_covered(&one, &other, true));
        assert!(!is_covered(&one, &tool("db.drop", CallKind::Other, "1"), true));
    }

    #[test]
    fn a_person_is_asked_each_time() {
        let request = command("ls", "/a");
        assert!(!is_covered(&request, &request.clone().require_person(), false));
        assert!(!is_covered(&request.clone().require_person(), &request, false));
        let question = RequestOpened { about: About::Question, ..request };
        assert!(!is_covered(&question, &question.clone(), false));
    }
}
