//! Slash commands: the request of each, and when it is done.

use super::check_when_ready;

#[test]
fn a_command_may_be_a_turn() {
    check_when_ready(
        r#"
        {"cmd":{"slash":["compact",""]}}
        > {"send":{"id":5,"method":"thread/compact/start","params":{"threadId":"T"}}}
        {"in":{"id":5,"result":{}}}
        {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t1"}}}}
        = {"kind":"turn.started","data":{"origin":"command"}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed"}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
    "#,
    );
}

#[test]
fn a_review_has_a_turn_within_its_turn() {
    check_when_ready(
        r#"
        {"cmd":{"slash":["review","only the tests"]}}
        > {"send":{"id":5,"method":"review/start","params":{"threadId":"T","target":{"type":"custom","instructions":"only the tests"},"delivery":"inline"}}}
        {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"},"reviewThreadId":"T"}}}
        {"in":{"method":"item/started","params":{"threadId":"T","turnId":"t1","item":{"type":"enteredReviewMode","id":"i","review":"only the tests"}}}}
        = {"kind":"turn.started","data":{"origin":"command","agent_turn":"t1"}}
        {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t2","rootTurnId":"t1"}}}}
        {"in":{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"completed"}}}}
        > {"disarm":"turn"}
        > {"disarm":"inquiry"}
        > "settled"
        = {"kind":"turn.completed","turn":1}
    "#,
    );
}

#[test]
fn what_needs_no_turn_is_done_when_it_is_answered() {
    check_when_ready(
        r#"
        {"cmd":{"slash":["rename","a name"]}}
        > {"send":{"id":5,"method":"thread/name/set","params":{"threadId":"T","name":"a name"}}}
        {"in":{"id":5,"result":{}}}
        > "settled"
        {"in":{"method":"thread/name/updated","params":{"threadId":"T","threadName":"a name"}}}
        = {"kind":"session.updated","data":{"info":{"title":"a name"}}}
        {"cmd":{"slash":["compact",""]}}
        > {"send":{"id":6,"method":"thread/compact/start"}}
        {"in":{"id":6,"error":{"code":-32600,"message":"nothing to compact"}}}
        > "settled"
        = {"kind":"notice","data":{"topic":"warning","text":"nothing to compact"}}
        {"cmd":{"slash":["rename",""]}}
        > {"refused":"a thread cannot be without a name"}
        {"cmd":{"slash":["dance",""]}}
        > {"refused":"the agent has no command /dance"}
    "#,
    );
}

#[test]
fn a_new_thread_takes_the_place_of_the_old_and_its_settings() {
    check_when_ready(
        r#"
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"send":{"id":5}}
        {"cmd":{"slash":["new",""]}}
        > {"send":{"id":6,"method":"thread/start","params":{"model":"gpt-5.5","approvalPolicy":"untrusted"}}}
        {"in":{"id":6,"result":{"thread":{"id":"U","sessionId":"U"},"model":"gpt-5.5","reasoningEffort":null}}}
        > {"send":{"id":7,"method":"thread/unsubscribe","params":{"threadId":"T"}}}
        > {"send":{"id":8,"method":"thread/settings/update","params":{"threadId":"U","effort":"high"}}}
        > "settled"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"id":9,"method":"turn/start","params":{"threadId":"U"}}}
        {"in":{"method":"turn/started","params":{"threadId":"U","turn":{"id":"u1"}}}}
        = {"kind":"turn.started","turn":1,"thread":null,"data":{"prompt":"go"}}
    "#,
    );
}

#[test]
fn if_there_is_no_new_thread_the_old_one_stays() {
    check_when_ready(
        r#"
        {"cmd":{"slash":["new",""]}}
        > {"send":{"id":5,"method":"thread/start"}}
        {"in":{"id":5,"error":{"code":-32603,"message":"no room"}}}
        > "settled"
        = {"kind":"notice","data":{"topic":"warning","text":"no room"}}
        {"cmd":{"prompt":{"text":"go"}}}
        > {"send":{"method":"turn/start","params":{"threadId":"T"}}}
    "#,
    );
}
