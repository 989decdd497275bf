//! Requests of the app-server and the answers to them.

use super::check_during_turn;

/// Opens a request, answers it with a command, and expects these messages.
fn check_answer(request: &str, answer: &str, sent: &str) {
    check_during_turn(&format!(
        r#"
        {{"in":{request}}}
        = {{"kind":"request.opened","data":{{"request":"r1.request_0"}}}}
        {{"cmd":{{"answer":{answer}}}}}
        {sent}
        "#
    ));
}

/// Checks only the result of each answer.
fn check_results(request: &str, answers: &[(&str, &str)]) {
    for (answer, result) in answers {
        let answer = format!(r#"{{"request":"r1.request_0",{answer}}}"#);
        check_answer(request, &answer, &format!(r#"> {{"send":{{"id":0,"result":{result}}}}}"#));
    }
}

const COMMAND_REQUEST: &str = r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"T","turnId":"t1","itemId":"c","command":"touch x","availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}},{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"allow"}}},{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"deny"}}},"cancel"]}}"#;

#[test]
fn a_command_that_only_a_person_may_approve() {
    let kinds = ["item/humanCommand/requestApproval", "item/commandExecution/requestApproval"];
    for (method, kind) in kinds.into_iter().zip(["", r#""kind":"humanCommand","#]) {
        check_during_turn(&format!(
            r#"
            {{"in":{{"method":"{method}","id":0,"params":{{"threadId":"T","turnId":"t1",{kind}"command":"touch x"}}}}}}
            = {{"kind":"request.opened","data":{{"requires_person":true,"options":[{{"id":"decline"}},{{"id":"cancel"}},{{"id":"accept"}}]}}}}
            {{"cmd":{{"answer":{{"request":"r1.request_0","decision":"allow"}}}}}}
            > {{"send":{{"id":0,"result":{{"decision":"accept"}}}}}}
            "#
        ));
    }
}

#[test]
fn commands() {
    check_results(
        COMMAND_REQUEST,
        &[
            (r#""decision":"allow""#, r#"{"decision":"accept"}"#),
            (r#""decision":"allow_session""#, r#"{"decision":"acceptForSession"}"#),
            (r#""decision":"decline""#, r#"{"decision":"decline"}"#),
            (r#""decision":"cancel""#, r#"{"decision":"cancel"}"#),
            (
                r#""decision":"allow","option":"acceptWithExecpolicyAmendment""#,
                r#"{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}}"#,
            ),
            (
                r#""decision":"decline","option":"applyNetworkPolicyAmendment:deny""#,
                r#"{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"deny"}}}}"#,
            ),
            // An option that contradicts the decision is ignored.
            (r#""decision":"decline","option":"accept""#, r#"{"decision":"decline"}"#),
            (r#""decision":"allow","option":"cancel""#, r#"{"decision":"accept"}"#),
            (r#""decision":"allow","option":"what""#, r#"{"decision":"accept"}"#),
        ],
    );
}

#[test]
fn the_reason_for_a_no_is_told_before_it() {
    check_answer(
        COMMAND_REQUEST,
        r#"{"request":"r1.request_0","decision":"decline","message":"use mkdir"}"#,
        r#"
        > {"send":{"method":"thread/inject_items","params":{"threadId":"T","items":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"The request was declined: use mkdir"}]}]}}}
        > {"send":{"id":0,"result":{"decision":"decline"}}}
        = {"kind":"request.resolved","data":{"outcome":"declined","message":"use mkdir"}}
        "#,
    );
}

#[test]
fn file_changes() {
    let request =
        r#"{"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"T","turnId":"t1","itemId":"p"}}"#;
    check_results(
        request,
        &[
            (r#""decision":"allow""#, r#"{"decision":"accept"}"#),
            (r#""decision":"allow_session""#, r#"{"decision":"acceptForSession"}"#),
            (r#""decision":"decline""#, r#"{"decision":"decline"}"#),
            (r#""decision":"cancel""#, r#"{"decision":"cancel"}"#),
        ],
    );
}

#[test]
fn permissions() {
    let request = r#"{"method":"item/permissions/requestApproval","id":0,"params":{"threadId":"T","turnId":"t1","itemId":"p","permissions":{"network":{"enabled":true}}}}"#;
    check_results(
        request,
        &[
            (r#""decision":"allow""#, r#"{"permissions":{"network":{"enabled":true}},"scope":"turn"}"#),
            (r#""decision":"allow_session""#, r#"{"permissions":{"network":{"enabled":true}},"scope":"session"}"#),
            (r#""decision":"decline""#, r#"{"permissions":{"network":null},"scope":"turn"}"#),
        ],
    );
    check_answer(
        request,
        r#"{"request":"r1.request_0","decision":"cancel"}"#,
        r#"
        > {"send":{"id":0,"result":{"permissions":{"network":null}}}}
        > {"send":{"method":"turn/interrupt"}}
        > {"arm":"turn"}
        "#,
    );
}

#[test]
fn tools_of_mcp_servers() {
    let request = r#"{"method":"mcpServer/elicitation/request","id":0,"params":{"threadId":"T","turnId":"t1","serverName":"s","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_params":{}},"message":"Allow the s MCP server to run tool \"echo\"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    check_results(
        request,
        &[
            (r#""decision":"allow""#, r#"{"action":"accept","content":{},"_meta":null}"#),
            (r#""decision":"allow_session""#, r#"{"action":"accept","_meta":{"persist":"session"}}"#),
            (r#""decision":"allow","option":"acceptAlways""#, r#"{"action":"accept","_meta":{"persist":"always"}}"#),
            (r#""decision":"decline""#, r#"{"action":"decline","content":null}"#),
        ],
    );
}

#[test]
fn forms_of_mcp_servers() {
    let request = r#"{"method":"mcpServer/elicitation/request","id":0,"params":{"threadId":"T","serverName":"s","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"member":{"type":"boolean"},"tags":{"type":"array"}}}}}"#;
    check_results(
        request,
        &[
            (
                r#""decision":"allow","answers":{"name":["7"],"age":["7"],"member":["true"],"tags":["a","b"]}"#,
                r#"{"action":"accept","content":{"name":"7","age":7,"member":true,"tags":["a","b"]}}"#,
            ),
            (r#""decision":"allow","answers":{"age":["old"]}"#, r#"{"action":"accept","content":{"age":"old"}}"#),
            (r#""decision":"decline""#, r#"{"action":"decline","content":null}"#),
        ],
    );
}

#[test]
fn questions() {
    let request = r#"{"method":"item/tool/requestUserInput","id":0,"params":{"threadId":"T","turnId":"t1","itemId":"q","questions":[{"id":"q1","header":"Pick","question":"Which?","isOther":true,"options":[{"label":"A","description":"a"}]}]}}"#;
    check_results(
        request,
        &[
            (r#""decision":"allow","answers":{"q1":["A"]}"#, r#"{"answers":{"q1":{"answers":["A"]}}}"#),
            (r#""decision":"decline","answers":{"q1":["A"]}"#, r#"{"answers":{"q1":null}}"#),
        ],
    );
}

#[test]
fn requests_of_the_first_protocol() {
    let request = r#"{"method":"execCommandApproval","id":0,"params":{"conversationId":"T","callId":"c","command":["touch","x"],"cwd":"/"}}"#;
    check_results(
        request,
        &[
            (r#""decision":"allow""#, r#"{"decision":"approved"}"#),
            (r#""decision":"allow_session""#, r#"{"decision":"approved_for_session"}"#),
            (r#""decision":"decline""#, r#"{"decision":"denied"}"#),
            (r#""decision":"cancel""#, r#"{"decision":"abort"}"#),
        ],
    );
}

#[test]
fn what_nobody_here_can_do_is_refused_at_once() {
    for method in ["item/tool/call", "account/chatgptAuthTokens/refresh", "attestation/generate", "new/thing"] {
        let script = r#"
            {"in":{"method":"METHOD","id":"x","params":{"threadId":"T"}}}
            > {"send":{"id":"x","error":{"code":-32601,"message":"Switchboard does not do METHOD"}}}
        "#;
        check_during_turn(&script.replace("METHOD", method));
    }
}

#[test]
fn a_request_that_somebody_else_answered_is_forgotten() {
    check_during_turn(
        r#"
        {"in":{"method":"item/fileChange/requestApproval","id":7,"params":{"threadId":"T","turnId":"t1","itemId":"p"}}}
        {"in":{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":7}}}
        = {"kind":"request.resolved","data":{"outcome":"withdrawn"}}
        {"cmd":{"answer":{"request":"r1.request_7","decision":"allow"}}}
        > {"refused":"the request needs no answer any more"}
    "#,
    );
}
