//! Prompts before, during and after turns.

use super::{check_during_turn, check_when_ready};

#[test]
fn a_prompt_is_a_turn_and_then_there_is_rest() {
    check_during_turn(
        r#"
        {"in":{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"idle"}}}}
        > {"arm":"turn","seconds":2.0}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
        = {"kind":"turn.completed","data":{"status":"completed"}}
        {"cmd":{"prompt":{"text":"more"}}}
        > {"send":{"id":6,"method":"turn/start","params":{"threadId":"T","input":[{"type":"text","text":"more"}]}}}
        {"cmd":"close"}
        > "close_input"
    "#,
    );
}

#[test]
fn the_reply_may_come_after_the_turn_began() {
    check_when_ready(
        r#"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"id":5,"method":"turn/start"}}
        {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t1"}}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
        {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
        {"cmd":{"prompt":{"text":"more"}}}
        > {"send":{"id":6,"method":"turn/start"}}
    "#,
    );
}

#[test]
fn a_prompt_joins_the_running_turn() {
    check_during_turn(
        r#"
        {"cmd":{"prompt":{"text":"also this"}}}
        > {"send":{"id":6,"method":"turn/steer","params":{"threadId":"T","expectedTurnId":"t1","input":[{"type":"text","text":"also this"}]}}}
        {"in":{"id":6,"result":{"turnId":"t1"}}}
    "#,
    );
}

#[test]
fn a_prompt_that_comes_too_late_for_the_turn_begins_the_next() {
    check_during_turn(
        r#"
        {"cmd":{"prompt":{"text":"also this"}}}
        > {"send":{"id":6,"method":"turn/steer"}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
        {"in":{"id":6,"error":{"code":-32600,"message":"no active turn to steer"}}}
        > {"send":{"id":7,"method":"turn/start","params":{"input":[{"type":"text","text":"also this"}]}}}
    "#,
    );
}

#[test]
fn a_turn_that_takes_no_prompts_is_waited_for() {
    check_during_turn(
        r#"
        {"cmd":{"prompt":{"text":"also this"}}}
        > {"send":{"id":6,"method":"turn/steer"}}
        {"in":{"id":6,"error":{"code":-32600,"message":"cannot steer a compact turn"}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > {"send":{"id":7,"method":"turn/start","params":{"input":[{"type":"text","text":"also this"}]}}}
    "#,
    );
}

#[test]
fn a_prompt_before_the_turn_is_known_follows_it() {
    check_when_ready(
        r#"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"id":5,"method":"turn/start"}}
        {"cmd":{"prompt":{"text":"also this"}}}
        {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
        > {"send":{"id":6,"method":"turn/steer","params":{"expectedTurnId":"t1"}}}
    "#,
    );
}

#[test]
fn a_running_turn_takes_no_schema() {
    check_during_turn(
        r#"
        {"cmd":{"prompt":{"text":"as JSON","schema":{"type":"object","properties":{"z":{},"a":{}}}}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > {"send":{"id":6,"method":"turn/start","params":{"outputSchema":{"type":"object","properties":{"z":{},"a":{}}}}}}
    "#,
    );
}

#[test]
fn images_are_named_or_sent() {
    check_when_ready(
        r#"
        {"cmd":{"prompt":{"text":"look","images":[{"media_type":"image/png","data":"AA==","path":"/home/user/a.png"},{"media_type":"image/png","data":"AA=="}]}}}
        > {"send":{"params":{"input":[{"type":"text","text":"look"},{"type":"localImage","path":"/home/user/a.png"},{"type":"image","url":"data:image/png;base64,AA=="}]}}}
    "#,
    );
}

#[test]
fn a_turn_that_is_refused_is_no_turn() {
    check_when_ready(
        r#"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"id":5,"method":"turn/start"}}
        {"in":{"id":5,"error":{"code":-32600,"message":"This chat uses a, but your current provider is b."}}}
        > "settled"
        = {"kind":"notice","data":{"topic":"warning"}}
    "#,
    );
}

#[test]
fn a_server_with_too_much_to_do_is_asked_again() {
    check_when_ready(
        r#"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"id":5,"method":"turn/start"}}
        {"in":{"id":5,"error":{"code":-32001,"message":"Server overloaded; retry later."}}}
        > {"arm":"retry","seconds":1.0}
        {"timer":"retry"}
        > {"send":{"id":6,"method":"turn/start","params":{"input":[{"type":"text","text":"go"}]}}}
    "#,
    );
}

#[test]
fn the_work_of_subagents_is_waited_for() {
    check_during_turn(
        r#"
        {"in":{"method":"turn/started","params":{"threadId":"C","turn":{"id":"c1"}}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        {"in":{"method":"turn/completed","params":{"threadId":"C","turn":{"id":"c1","status":"completed","items":[]}}}}
        > "settled"
    "#,
    );
}

#[test]
fn a_turn_can_begin_by_itself() {
    check_when_ready(
        r#"
        {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t9"}}}}
        {"cmd":{"prompt":{"text":"stop that"}}}
        > {"send":{"method":"turn/steer","params":{"expectedTurnId":"t9"}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t9","status":"completed","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
    "#,
    );
}

#[test]
fn a_turn_is_stopped_and_takes_its_commands_with_it() {
    check_during_turn(
        r#"
        {"in":{"method":"item/started","params":{"threadId":"T","turnId":"t1","item":{"type":"commandExecution","id":"call_1","command":"sleep 99","cwd":"/","status":"inProgress"}}}}
        {"cmd":"interrupt"}
        > {"send":{"id":6,"method":"turn/interrupt","params":{"threadId":"T","turnId":"t1"}}}
        > {"arm":"turn","seconds":5.0}
        {"in":{"id":6,"result":{}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"interrupted","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > {"send":{"id":7,"method":"thread/backgroundTerminals/list","params":{"threadId":"T"}}}
        > {"arm":"sweep","seconds":3.0}
        = {"kind":"item.completed","data":{"item":{"status":"interrupted"}}}
        = {"kind":"turn.completed","data":{"status":"interrupted"}}
        {"in":{"id":7,"result":{"data":[{"itemId":"call_0","processId":"1"},{"itemId":"call_1","processId":"2"}]}}}
        > {"send":{"id":8,"method":"thread/backgroundTerminals/terminate","params":{"threadId":"T","processId":"2"}}}
        > {"disarm":"sweep"}
        > "settled"
    "#,
    );
}

#[test]
fn a_search_without_an_answer_ends() {
    let stopped = r#"
        {"in":{"method":"item/started","params":{"threadId":"T","turnId":"t1","item":{"type":"commandExecution","id":"call_1","command":"sleep 99","cwd":"/","status":"inProgress"}}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"interrupted","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > {"send":{"id":6,"method":"thread/backgroundTerminals/list"}}
        > {"arm":"sweep","seconds":3.0}
    "#;
    let silent = r#"
        {"timer":"sweep"}
        > {"disarm":"sweep"}
        > "settled"
    "#;
    let refused = r#"
        {"in":{"id":6,"error":{"code":-32600,"message":"unknown variant"}}}
        > {"disarm":"sweep"}
        > "settled"
    "#;
    check_during_turn(&format!("{stopped}{silent}"));
    check_during_turn(&format!("{stopped}{refused}"));
}

#[test]
fn what_waits_for_an_answer_gets_one_when_the_turn_is_stopped() {
    check_during_turn(
        r#"
        {"in":{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"T","turnId":"t1","itemId":"call_1","command":"rm x"}}}
        {"cmd":"interrupt"}
        > {"send":{"id":6,"method":"turn/interrupt"}}
        > {"arm":"turn"}
        > {"send":{"id":0,"result":{"decision":"cancel"}}}
        = {"kind":"request.resolved","data":{"outcome":"cancelled"}}
        {"cmd":{"answer":{"request":"r1.request_0","decision":"allow"}}}
        > {"refused":"the request needs no answer any more"}
    "#,
    );
}

#[test]
fn a_request_does_not_outlive_its_turn() {
    check_during_turn(
        r#"
        {"in":{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"T","turnId":"t1","itemId":"call_1","command":"rm x"}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"failed","items":[],"error":{"message":"boom"}}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > {"send":{"id":0,"result":{"decision":"cancel"}}}
        > "settled"
    "#,
    );
}

#[test]
fn a_turn_is_stopped_as_soon_as_it_is_known() {
    check_when_ready(
        r#"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"id":5,"method":"turn/start"}}
        {"cmd":"interrupt"}
        {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
        > {"send":{"id":6,"method":"turn/interrupt","params":{"turnId":"t1"}}}
        > {"arm":"turn"}
    "#,
    );
}

#[test]
fn subagents_are_stopped_too() {
    check_during_turn(
        r#"
        {"in":{"method":"turn/started","params":{"threadId":"C","turn":{"id":"c1"}}}}
        {"cmd":"interrupt"}
        > {"send":{"method":"turn/interrupt","params":{"threadId":"T","turnId":"t1"}}}
        > {"arm":"turn"}
        > {"send":{"method":"turn/interrupt","params":{"threadId":"C","turnId":"c1"}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"interrupted","items":[]}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        {"in":{"method":"thread/status/changed","params":{"threadId":"C","status":{"type":"idle"}}}}
        > "settled"
    "#,
    );
}

#[test]
fn nothing_runs_and_nothing_is_stopped() {
    check_when_ready(r#"{"cmd":"interrupt"}"#);
}

#[test]
fn an_end_that_is_never_told_is_asked_for() {
    check_during_turn(
        r#"
        {"in":{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"idle"}}}}
        > {"arm":"turn","seconds":2.0}
        {"timer":"turn"}
        > {"send":{"id":6,"method":"thread/turns/list","params":{"threadId":"T","limit":1,"sortDirection":"desc"}}}
        > {"arm":"inquiry","seconds":10.0}
        {"in":{"id":6,"result":{"data":[{"id":"t1","status":"completed","itemsView":"summary","items":[{"type":"userMessage","id":"u"},{"type":"agentMessage","id":"m","text":"done"}]}]}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
        > {"disarm":"inquiry"}
        = {"kind":"item.completed","data":{"item":{"type":"agent_message","text":"done"}}}
        = {"kind":"turn.completed","data":{"status":"completed"}}
    "#,
    );
}

#[test]
fn a_turn_that_is_still_under_way_is_waited_for() {
    check_during_turn(
        r#"
        {"cmd":"interrupt"}
        > {"send":{"id":6,"method":"turn/interrupt"}}
        > {"arm":"turn","seconds":5.0}
        {"timer":"turn"}
        > {"send":{"id":7,"method":"thread/turns/list"}}
        > {"arm":"inquiry"}
        {"in":{"id":7,"result":{"data":[{"id":"t1","status":"inProgress","items":[]}]}}}
        > {"disarm":"inquiry"}
    "#,
    );
}

#[test]
fn a_server_that_says_nothing_at_all_is_given_up() {
    check_during_turn(
        r#"
        {"in":{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"systemError"}}}}
        > {"arm":"turn"}
        {"timer":"turn"}
        > {"send":{"method":"thread/turns/list"}}
        > {"arm":"inquiry"}
        {"timer":"inquiry"}
        > {"give_up":"Codex fell silent: its thread is at rest, but its turn never ended","code":"protocol_error"}
    "#,
    );
}
