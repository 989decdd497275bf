//! Converts the parameters of app-server requests to `RequestOpened`.

use switchboard_event::{
    About, Call, CallKind, Change, Choice, Details, OptionKind, Question, RequestOpened, RequestOption,
};

use crate::{JsonObject, JsonView, RunRecorder, codex::items};

fn request_option(id: &str, label: &str, kind: OptionKind) -> RequestOption {
    RequestOption { id: id.to_owned(), label: label.to_owned(), kind }
}

fn default_options() -> Vec<RequestOption> {
    vec![
        request_option("accept", "Allow", OptionKind::AllowOnce),
        request_option("acceptForSession", "Allow for this session", OptionKind::AllowSession),
        request_option("decline", "Decline", OptionKind::Reject),
        request_option("cancel", "Decline and stop", OptionKind::Cancel),
    ]
}

/// Approval of a command, or of a network connection that a command wants to open.
pub fn parse_command_approval(params: &JsonObject<'_>, recorder: &RunRecorder) -> RequestOpened {
    let item = params.get_str("itemId").and_then(|id| recorder.open_item(&id));
    let known = item.and_then(|item| match &item.details {
        Details::Command(command) => Some(command),
        _ => None,
    });
    let line = params.get_non_empty("command").or_else(|| known.map(|command| command.command.clone()));
    let network = params.get_object("networkApprovalContext");
    let title = match (network.get_non_empty("host"), &line) {
        (Some(host), _) => format!("Connect to {host}"),
        (None, Some(line)) => line.clone(),
        (None, None) => "Run a command".to_owned(),
    };
    RequestOpened {
        about: About::Command,
        title,
        reason: params.get_non_empty("reason"),
        command: line,
        cwd: params.get_non_empty("cwd").or_else(|| known.and_then(|command| command.cwd.clone())),
        call: Some(tool_call("exec_command", CallKind::Execute)),
        options: decision_options(&params.get_array("availableDecisions")),
        ..RequestOpened::default()
    }
}

/// Returns whether only a person may approve the command: approvals of the kind `humanCommand` (Codex 0.169.0, in its
/// schema only).
pub fn requires_person(method: &str, params: &JsonObject<'_>) -> bool {
    const KIND: &str = "humanCommand";
    let meta = params.get_object("_meta");
    method.split('/').any(|word| word == KIND)
        || ["kind", "approvalKind", "type"].into_iter().any(|name| params.str_equals(name, KIND))
        || meta.str_equals("codex_approval_kind", KIND)
}

/// The requesting tool under the name that the model uses, so that rules can match it.
fn tool_call(name: &str, kind: CallKind) -> Box<Call> {
    Box::new(Call { name: name.to_owned(), kind, ..Call::default() })
}

/// Codex 0.166 accepts approval for the session and declining without stopping even where it does not offer them.
fn decision_options(available: &[JsonView<'_>]) -> Vec<RequestOption> {
    let mut options: Vec<_> = available.iter().filter_map(|decision| parse_decision_option(*decision)).collect();
    if options.is_empty() {
        return default_options();
    }
    if !options.iter().any(|option| option.kind == OptionKind::AllowSession) {
        options.insert(1, request_option("acceptForSession", "Allow for this session", OptionKind::AllowSession));
    }
    if !options.iter().any(|option| option.kind == OptionKind::Reject) {
        options.push(request_option("decline", "Decline", OptionKind::Reject));
    }
    options
}

/// A decision is a word, or an object that holds a permanent rule under that word.
fn parse_decision_option(decision: JsonView<'_>) -> Option<RequestOption> {
    if let Some(word) = decision.as_str() {
        return default_options().into_iter().find(|option| option.id == word);
    }
    let fields = decision.as_object();
    let (name, inner) = fields.iter().next()?;
    let rule = inner.as_object();
    if name == "applyNetworkPolicyAmendment" {
        let rule = rule.get_object("network_policy_amendment");
        let (host, denied) = (rule.get_string("host").unwrap_or_default(), rule.str_equals("action", "deny"));
        return Some(match denied {
            true => {
                request_option("applyNetworkPolicyAmendment:deny", &format!("Never allow {host}"), OptionKind::Reject)
            }
            false => request_option(
                "applyNetworkPolicyAmendment:allow",
                &format!("Always allow {host}"),
                OptionKind::AllowAlways,
            ),
        });
    }
    let words = rule.get("execpolicy_amendment").map(items::join_argv).unwrap_or_default();
    Some(request_option(name, &format!("Always allow `{words}`"), OptionKind::AllowAlways))
}

/// The request only names its item, which holds the changes.
pub fn parse_file_change_approval(params: &JsonObject<'_>, recorder: &RunRecorder) -> RequestOpened {
    let item = params.get_str("itemId").and_then(|id| recorder.open_item(&id));
    let changes = match item.map(|item| &item.details) {
        Some(Details::FileChange(change)) => change.changes.clone(),
        _ => Vec::new(),
    };
    let grant = params.get_non_empty("grantRoot").map(|root| format!("write to {root} for this session"));
    RequestOpened { reason: params.get_non_empty("reason").or(grant), ..file_change_request(changes) }
}

fn file_change_request(changes: Vec<Change>) -> RequestOpened {
    let title = match changes.as_slice() {
        [change] => format!("Change {}", change.path),
        changes => format!("Change {} files", changes.len()),
    };
    let call = Some(tool_call("apply_patch", CallKind::Edit));
    RequestOpened {
        about: About::FileChange,
        title,
        changes,
        call,
        options: default_options(),
        ..RequestOpened::default()
    }
}

/// Permissions beyond those of the sandbox.
pub fn parse_permissions_approval(params: &JsonObject<'_>) -> RequestOpened {
    let call = Call { name: "request_permissions".to_owned(), input: params.get_raw("permissions"), ..Call::default() };
    RequestOpened {
        about: About::Permissions,
        title: "Grant more permissions".to_owned(),
        reason: params.get_non_empty("reason"),
        cwd: params.get_non_empty("cwd"),
        call: Some(Box::new(call)),
        options: vec![
            request_option("turn", "Allow for this turn", OptionKind::AllowOnce),
            request_option("session", "Allow for this session", OptionKind::AllowSession),
            request_option("decline", "Decline", OptionKind::Reject),
        ],
        ..RequestOpened::default()
    }
}

/// Questions that the agent asks itself.
pub fn parse_questions(params: &JsonObject<'_>) -> RequestOpened {
    let questions: Vec<_> =
        params.get_array("questions").into_iter().map(|question| parse_question(&question.as_object())).collect();
    let title = questions.first().map(|question| question.question.clone()).unwrap_or_default();
    RequestOpened { about: About::Question, title, questions, ..RequestOpened::default() }
}

fn parse_question(question: &JsonObject<'_>) -> Question {
    let choice = |choice: JsonObject<'_>| Choice {
        label: choice.get_string("label").unwrap_or_default(),
        description: choice.get_non_empty("description"),
    };
    let choices: Vec<_> = question.get_array("options").into_iter().map(|option| choice(option.as_object())).collect();
    let text = question.get_string("question").unwrap_or_default();
    Question {
        id: question.get_non_empty("id").unwrap_or_else(|| text.clone()),
        question: text,
        header: question.get_non_empty("header"),
        free_text: choices.is_empty() || question.is_true("isOther"),
        secret: question.is_true("isSecret"),
        choices,
        multiple: false,
    }
}

/// A form or a link of an MCP server. Codex uses the same request to approve calls of MCP tools.
pub fn parse_elicitation(params: &JsonObject<'_>) -> RequestOpened {
    let title = params.get_string("message").unwrap_or_default();
    let meta = params.get_object("_meta");
    if meta.str_equals("codex_approval_kind", "mcp_tool_call") {
        return parse_tool_approval(title, params, &meta);
    }
    let fields = params.get_object("requestedSchema").get_object("properties");
    RequestOpened {
        about: About::Elicitation,
        title,
        reason: params.get_non_empty("url"),
        questions: fields.iter().map(|(name, field)| form_field_question(name, &field.as_object())).collect(),
        options: vec![
            request_option("accept", "Send", OptionKind::AllowOnce),
            request_option("decline", "Decline", OptionKind::Reject),
            request_option("cancel", "Cancel", OptionKind::Cancel),
        ],
        ..RequestOpened::default()
    }
}

fn parse_tool_approval(title: String, params: &JsonObject<'_>, meta: &JsonObject<'_>) -> RequestOpened {
    // Only the message names the tool: `Allow the NAME MCP server to run tool "TOOL"?`
    let tool = title.split('"').nth(1).or_else(|| title.split('`').nth(1)).unwrap_or_default().to_owned();
    let name = if tool.is_empty() { params.get_string("serverName").unwrap_or_default() } else { tool };
    let call = Call { name, input: meta.get_raw("tool_params"), ..Call::default() };
    let keeps = meta.get_strings("persist");
    let mut options = vec![request_option("accept", "Allow", OptionKind::AllowOnce)];
    if keeps.iter().any(|keep| keep == "session") {
        options.push(request_option("acceptForSession", "Allow for this session", OptionKind::AllowSession));
    }
    if keeps.iter().any(|keep| keep == "always") {
        options.push(request_option("acceptAlways", "Always allow", OptionKind::AllowAlways));
    }
    options.push(request_option("decline", "Decline", OptionKind::Reject));
    options.push(request_option("cancel", "Decline and stop", OptionKind::Cancel));
    let reason = meta.get_non_empty("tool_description");
    RequestOpened { about: About::Tool, title, reason, call: Some(Box::new(call)), options, ..RequestOpened::default() }
}

/// Finds the call to approve by its server and its input, because the request does not name it.
pub fn find_mcp_call(params: &JsonObject<'_>, recorder: &RunRecorder) -> Option<String> {
    let meta = params.get_object("_meta");
    let (server, input) = (params.get_str("serverName")?, meta.get("tool_params").map(JsonView::raw_text));
    let thread = params.get_str("threadId");
    let places = [None, thread.as_deref()];
    let open = places.iter().flat_map(|thread| recorder.open_items(*thread));
    let calls = open.filter(|id| match recorder.open_item(id) {
        Some(item) => {
            let given = item.call.as_ref().and_then(|call| call.input.as_ref()).map(|input| input.get());
            matches!(&item.details, Details::Mcp(mcp) if mcp.server == server) && (input.is_none() || given == input)
        }
        None => false,
    });
    calls.last().map(|id| id.to_string())
}

/// Converts one field of a form to a question.
fn form_field_question(name: &str, field: &JsonObject<'_>) -> Question {
    let choices = field.get_strings("enum").into_iter().map(|label| Choice { label, description: None });
    let choices: Vec<_> = choices.collect();
    let title = field.get_non_empty("title");
    Question {
        id: name.to_owned(),
        question: field.get_non_empty("description").or_else(|| title.clone()).unwrap_or_else(|| name.to_owned()),
        header: title,
        free_text: choices.is_empty(),
        secret: field.str_equals("format", "password"),
        multiple: field.str_equals("type", "array"),
        choices,
    }
}

/// `execCommandApproval` of the first protocol.
pub fn parse_legacy_command_approval(params: &JsonObject<'_>) -> RequestOpened {
    let line = params.get("command").map(items::join_argv);
    RequestOpened {
        about: About::Command,
        title: line.clone().unwrap_or_default(),
        reason: params.get_non_empty("reason"),
        command: line,
        cwd: params.get_non_empty("cwd"),
        options: legacy_options(),
        ..RequestOpened::default()
    }
}

/// `applyPatchApproval` of the first protocol.
pub fn parse_legacy_patch_approval(params: &JsonObject<'_>, recorder: &RunRecorder) -> RequestOpened {
    let changes = items::parse_changes_by_path(&params.get_object("fileChanges"), recorder);
    RequestOpened { reason: params.get_non_empty("reason"), options: legacy_options(), ..file_change_request(changes) }
}

fn legacy_options() -> Vec<RequestOption> {
    vec![
        request_option("approved", "Allow", OptionKind::AllowOnce),
        request_option("approved_for_session", "Allow for this session", OptionKind::AllowSession),
        request_option("denied", "Decline", OptionKind::Reject),
        request_option("abort", "Decline and stop", OptionKind::Cancel),
    ]
}
