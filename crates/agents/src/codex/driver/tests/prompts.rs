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
