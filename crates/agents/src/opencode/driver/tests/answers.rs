//! Answers to OpenCode's requests.

use super::{WORKING, check};

#[test]
fn permissions_are_answered() {
    check(&format!(
        r#"{WORKING}
        asks 1 ls
        = {{"kind":"request.opened","data":{{"request":"per_1","about":"command"}}}}
        {{"cmd":{{"answer":{{"request":"per_1","decision":"allow"}}}}}}
        > {{"http":{{"id":7,"method":"POST","path":"/permission/per_1/reply","body":{{"reply":"once"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"allowed","option":"once"}}}}
        {{"in":{{"type":"permission.replied","properties":{{"sessionID":"ses_1","requestID":"per_1","reply":"once"}}}}}}
        = {{"kind":"notice","data":{{"topic":"echo"}}}}
        asks 2 ls
        {{"cmd":{{"answer":{{"request":"per_2","decision":"allow_session"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply","body":{{"reply":"always"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"allowed","option":"always"}}}}
        asks 3 ls
        {{"cmd":{{"answer":{{"request":"per_3","decision":"decline"}}}}}}
        > {{"http":{{"path":"/permission/per_3/reply","body":{{"reply":"reject","message":"The user does not allow this. Go on without it."}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"declined"}}}}
        asks 4 ls
        {{"cmd":{{"answer":{{"request":"per_4","decision":"cancel"}}}}}}
        > {{"http":{{"path":"/session/ses_1/abort"}}}}
        > {{"http":{{"path":"/permission/per_4/reply","body":{{"reply":"reject"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"cancelled"}}}}
        {{"in":{{"id":11,"method":"POST","path":"/permission/per_4/reply","status":404,"body":{{"_tag":"PermissionNotFoundError","message":"gone"}}}}}}
        = {{"kind":"notice","data":{{"topic":"control","level":"debug"}}}}
        {{"cmd":{{"answer":{{"request":"per_4","decision":"allow"}}}}}}
        > {{"refused":"OpenCode does not ask `per_4`"}}"#
    ));
}

#[test]
fn one_refusal_refuses_all_so_it_waits_for_the_others() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        asks 2 b
        asks 3 c
        {{"cmd":{{"answer":{{"request":"per_1","decision":"decline","message":"not a"}}}}}}
        {{"cmd":{{"answer":{{"request":"per_2","decision":"allow"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply","body":{{"reply":"once"}}}}}}
        {{"cmd":{{"answer":{{"request":"per_3","decision":"decline","message":"nor c"}}}}}}
        > {{"http":{{"path":"/permission/per_1/reply","body":{{"reply":"reject","message":"not a"}}}}}}
        > {{"http":{{"path":"/permission/per_3/reply","body":{{"reply":"reject","message":"nor c"}}}}}}
        = {{"kind":"request.resolved","data":{{"request":"per_1","message":"not a"}}}}
        = {{"kind":"request.resolved","data":{{"request":"per_3","message":"nor c"}}}}"#
    ));
}

#[test]
fn what_opencode_answers_itself_is_said() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        {{"in":{{"type":"permission.replied","properties":{{"sessionID":"ses_1","requestID":"per_1","reply":"reject"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"declined","by":"agent"}}}}"#
    ));
}

#[test]
fn a_subagents_permissions_are_answered_and_do_not_wait_for_others() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        {{"in":{{"type":"session.created","properties":{{"sessionID":"ses_2","info":{{"id":"ses_2","parentID":"ses_1"}}}}}}}}
        {{"in":{{"type":"permission.asked","properties":{{"id":"per_2","sessionID":"ses_2","permission":"bash","patterns":["b"],"metadata":{{"command":"b"}}}}}}}}
        = {{"kind":"request.opened","thread":"ses_2"}}
        {{"cmd":{{"answer":{{"request":"per_2","decision":"decline","message":"no"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply","body":{{"reply":"reject","message":"no"}}}}}}
        = {{"kind":"request.resolved","data":{{"request":"per_2","outcome":"declined"}}}}"#
    ));
}

#[test]
fn questions_are_answered_in_their_order() {
    let asks = |id: &str| {
        format!(
            r#"{{"in":{{"type":"question.asked","properties":{{"id":"{id}","sessionID":"ses_1","questions":[{{"question":"Why?","options":[{{"label":"A"}}]}},{{"question":"And?","options":[]}}]}}}}}}"#
        )
    };
    check(&format!(
        r#"{WORKING}
        {}
        = {{"kind":"request.opened","data":{{"about":"question"}}}}
        {{"cmd":{{"answer":{{"request":"que_1","decision":"allow","answers":{{"And?":["own words"],"Why?":["A"]}}}}}}}}
        > {{"http":{{"path":"/question/que_1/reply","body":{{"answers":[["A"],["own words"]]}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"answered","answers":{{"Why?":["A"],"And?":["own words"]}}}}}}
        {}
        {{"cmd":{{"answer":{{"request":"que_2","decision":"decline"}}}}}}
        > {{"http":{{"path":"/question/que_2/reject"}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"declined"}}}}
        {}
        {{"cmd":{{"answer":{{"request":"que_3","decision":"cancel"}}}}}}
        > {{"http":{{"path":"/session/ses_1/abort"}}}}
        > {{"http":{{"path":"/question/que_3/reject"}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"cancelled"}}}}"#,
        asks("que_1"),
        asks("que_2"),
        asks("que_3")
    ));
}
