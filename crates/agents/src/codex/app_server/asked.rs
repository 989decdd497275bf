//! What each request of the app-server asks for, in our words.

use switchboard_event::{
    About, Call, CallKind, Change, Choice, Details, OptionKind, Question, RequestOpened, RequestOption,
};

use super::super::{changes, items};
use crate::{Json, Object, Scribe};

fn option(id: &str, label: &str, kind: OptionKind) -> RequestOption {
    RequestOption { id: id.to_owned(), label: label.to_owned(), kind }
}

fn usual() -> Vec<RequestOption> {
    vec![
        option("accept", "Allow", OptionKind::AllowOnce),
        option("acceptForSession", "Allow for this session", OptionKind::AllowSession),
        option("decline", "Decline", OptionKind::Reject),
        option("cancel", "Decline and stop", OptionKind::Cancel),
    ]
}

/// A command, or a connection that a command wants to make.
pub fn command(params: &Object<'_>, scribe: &Scribe) -> RequestOpened {
    let item = params.str("itemId").and_then(|id| scribe.item(&id));
    let known = item.and_then(|item| match &item.details {
        Details::Command(command) => Some(command),
        _ => None,
    });
    let line = params.filled("command").or_else(|| known.map(|command| command.command.clone()));
    let network = params.object("networkApprovalContext");
    let title = match (network.filled("host"), &line) {
        (Some(host), _) => format!("Connect to {host}"),
        (None, Some(line)) => line.clone(),
        (None, None) => "Run a command".to_owned(),
    };
    RequestOpened {
        about: About::Command,
        title,
        reason: params.filled("reason"),
        command: line,
        cwd: params.filled("cwd").or_else(|| known.and_then(|command| command.cwd.clone())),
        call: Some(tool("exec_command", CallKind::Execute)),
        options: decisions(&params.array("availableDecisions")),
        ..RequestOpened::default()
    }
}

/// A command that only a person may let run: approvals of the kind `humanCommand` (Codex 0.169.0, in its schema only).
pub fn is_for_a_person(method: &str, params: &Object<'_>) -> bool {
    const KIND: &str = "humanCommand";
    let meta = params.object("_meta");
    method.split('/').any(|word| word == KIND)
        || ["kind", "approvalKind", "type"].into_iter().any(|name| params.is(name, KIND))
        || meta.is("codex_approval_kind", KIND)
}

/// The tool that asks, as the model knows it: rules can name it.
fn tool(name: &str, kind: CallKind) -> Box<Call> {
    Box::new(Call { name: name.to_owned(), kind, ..Call::default() })
}

/// Allowing for the session, and declining without stopping, are accepted although they are not offered (0.166).
fn decisions(available: &[Json<'_>]) -> Vec<RequestOption> {
    let mut options: Vec<_> = available.iter().filter_map(|decision| decided(*decision)).collect();
    if options.is_empty() {
        return usual();
    }
    if !options.iter().any(|option| option.kind == OptionKind::AllowSession) {
        options.insert(1, option("acceptForSession", "Allow for this session", OptionKind::AllowSession));
    }
    if !options.iter().any(|option| option.kind == OptionKind::Reject) {
        options.push(option("decline", "Decline", OptionKind::Reject));
    }
    options
}

/// A decision is a word, or an object with a rule to be kept under the word.
fn decided(decision: Json<'_>) -> Option<RequestOption> {
    if let Some(word) = decision.str() {
        return usual().into_iter().find(|option| option.id == word);
    }
    let fields = decision.object();
    let (name, inner) = fields.iter().next()?;
    let rule = inner.object();
    if name == "applyNetworkPolicyAmendment" {
        let rule = rule.object("network_policy_amendment");
        let (host, denied) = (rule.string("host").unwrap_or_default(), rule.is("action", "deny"));
        return Some(match denied {
            true => option("applyNetworkPolicyAmendment:deny", &format!("Never allow {host}"), OptionKind::Reject),
            false => {
                option("applyNetworkPolicyAmendment:allow", &format!("Always allow {host}"), OptionKind::AllowAlways)
            }
        });
    }
    let words = rule.get("execpolicy_amendment").map(items::argv).unwrap_or_default();
    Some(option(name, &format!("Always allow `{words}`"), OptionKind::AllowAlways))
}

/// The request names only its item; the changes are there.
pub fn file_change(params: &Object<'_>, scribe: &Scribe) -> RequestOpened {
    let item = params.str("itemId").and_then(|id| scribe.item(&id));
    let changes = match item.map(|item| &item.details) {
        Some(Details::FileChange(change)) => change.changes.clone(),
        _ => Vec::new(),
    };
    let grant = params.filled("grantRoot").map(|root| format!("write to {root} for this session"));
    RequestOpened { reason: params.filled("reason").or(grant), ..patch(changes) }
}

fn patch(changes: Vec<Change>) -> RequestOpened {
    let title = match changes.as_slice() {
        [change] => format!("Change {}", change.path),
        changes => format!("Change {} files", changes.len()),
    };
    let call = Some(tool("apply_patch", CallKind::Edit));
    RequestOpened { about: About::FileChange, title, changes, call, options: usual(), ..RequestOpened::default() }
}

/// More rights than the sandbox gives.
pub fn permissions(params: &Object<'_>) -> RequestOpened {
    let call = Call { name: "request_permissions".to_owned(), input: params.raw("permissions"), ..Call::default() };
    RequestOpened {
        about: About::Permissions,
        title: "Grant more permissions".to_owned(),
        reason: params.filled("reason"),
        cwd: params.filled("cwd"),
        call: Some(Box::new(call)),
        options: vec![
            option("turn", "Allow for this turn", OptionKind::AllowOnce),
            option("session", "Allow for this session", OptionKind::AllowSession),
            option("decline", "Decline", OptionKind::Reject),
        ],
        ..RequestOpened::default()
    }
}

/// Questions of the agent itself.
pub fn questions(params: &Object<'_>) -> RequestOpened {
    let questions: Vec<_> = params.array("questions").into_iter().map(|question| ask(&question.object())).collect();
    let title = questions.first().map(|question| question.question.clone()).unwrap_or_default();
    RequestOpened { about: About::Question, title, questions, ..RequestOpened::default() }
}

fn ask(question: &Object<'_>) -> Question {
    let choice = |choice: Object<'_>| Choice {
        label: choice.string("label").unwrap_or_default(),
        description: choice.filled("description"),
    };
    let choices: Vec<_> = question.array("options").into_iter().map(|option| choice(option.object())).collect();
    let text = question.string("question").unwrap_or_default();
    Question {
        id: question.filled("id").unwrap_or_else(|| text.clone()),
        question: text,
        header: question.filled("header"),
        free_text: choices.is_empty() || question.is_true("isOther"),
        secret: question.is_true("isSecret"),
        choices,
        multiple: false,
    }
}

/// An MCP server's form or link. Calls of MCP tools are approved in the same way.
pub fn elicitation(params: &Object<'_>) -> RequestOpened {
    let title = params.string("message").unwrap_or_default();
    let meta = params.object("_meta");
    if meta.is("codex_approval_kind", "mcp_tool_call") {
        return tool_approval(title, params, &meta);
    }
    let fields = params.object("requestedSchema").object("properties");
    RequestOpened {
        about: About::Elicitation,
        title,
        reason: params.filled("url"),
        questions: fields.iter().map(|(name, field)| blank(name, &field.object())).collect(),
        options: vec![
            option("accept", "Send", OptionKind::AllowOnce),
            option("decline", "Decline", OptionKind::Reject),
            option("cancel", "Cancel", OptionKind::Cancel),
        ],
        ..RequestOpened::default()
    }
}

fn tool_approval(title: String, params: &Object<'_>, meta: &Object<'_>) -> RequestOpened {
    // Only the message names the tool: `Allow the NAME MCP server to run tool "TOOL"?`
    let tool = title.split('"').nth(1).or_else(|| title.split('`').nth(1)).unwrap_or_default().to_owned();
    let name = if tool.is_empty() { params.string("serverName").unwrap_or_default() } else { tool };
    let call = Call { name, input: meta.raw("tool_params"), ..Call::default() };
    let keeps = meta.strings("persist");
    let mut options = vec![option("accept", "Allow", OptionKind::AllowOnce)];
    if keeps.iter().any(|keep| keep == "session") {
        options.push(option("acceptForSession", "Allow for this session", OptionKind::AllowSession));
    }
    if keeps.iter().any(|keep| keep == "always") {
        options.push(option("acceptAlways", "Always allow", OptionKind::AllowAlways));
    }
    options.push(option("decline", "Decline", OptionKind::Reject));
    options.push(option("cancel", "Decline and stop", OptionKind::Cancel));
    let reason = meta.filled("tool_description");
    RequestOpened { about: About::Tool, title, reason, call: Some(Box::new(call)), options, ..RequestOpened::default() }
}

/// The call that is to be approved: the server's, with the same input. The request does not name it.
pub fn tool_of(params: &Object<'_>, scribe: &Scribe) -> Option<String> {
    let meta = params.object("_meta");
    let (server, input) = (params.str("serverName")?, meta.get("tool_params").map(Json::text));
    let thread = params.str("threadId");
    let places = [None, thread.as_deref()];
    let open = places.iter().flat_map(|thread| scribe.open_items(*thread));
    let calls = open.filter(|id| match scribe.item(id) {
        Some(item) => {
            let given = item.call.as_ref().and_then(|call| call.input.as_ref()).map(|input| input.get());
            matches!(&item.details, Details::Mcp(mcp) if mcp.server == server) && (input.is_none() || given == input)
        }
        None => false,
    });
    calls.last().map(|id| id.to_string())
}

/// One field of a form.
fn blank(name: &str, field: &Object<'_>) -> Question {
    let choices = field.strings("enum").into_iter().map(|label| Choice { label, description: None });
    let choices: Vec<_> = choices.collect();
    let title = field.filled("title");
    Question {
        id: name.to_owned(),
        question: field.filled("description").or_else(|| title.clone()).unwrap_or_else(|| name.to_owned()),
        header: title,
        free_text: choices.is_empty(),
        secret: field.is("format", "password"),
        multiple: field.is("type", "array"),
        choices,
    }
}

/// `execCommandApproval` of the first protocol.
pub fn first_command(params: &Object<'_>) -> RequestOpened {
    let line = params.get("command").map(items::argv);
    RequestOpened {
        about: About::Command,
        title: line.clone().unwrap_or_default(),
        reason: params.filled("reason"),
        command: line,
        cwd: params.filled("cwd"),
        options: first_options(),
        ..RequestOpened::default()
    }
}

/// `applyPatchApproval` of the first protocol.
pub fn first_patch(params: &Object<'_>, scribe: &Scribe) -> RequestOpened {
    let changes = changes::by_path(&params.object("fileChanges"), scribe);
    RequestOpened { reason: params.filled("reason"), options: first_options(), ..patch(changes) }
}

fn first_options() -> Vec<RequestOption> {
    vec![
        option("approved", "Allow", OptionKind::AllowOnce),
        option("approved_for_session", "Allow for this session", OptionKind::AllowSession),
        option("denied", "Decline", OptionKind::Reject),
        option("abort", "Decline and stop", OptionKind::Cancel),
    ]
}
