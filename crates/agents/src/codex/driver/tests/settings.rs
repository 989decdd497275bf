//! Changes of the model, the mode and the reasoning effort.

use super::check_when_ready;

/// Replies to the requests for models and modes.
const OFFERS_SCRIPT: &str = r#"
    {"in":{"id":3,"result":{"data":[{"model":"gpt-5.5","displayName":"GPT-5.5","isDefault":true,"defaultReasoningEffort":"medium","supportedReasoningEfforts":[{"reasoningEffort":"medium"},{"reasoningEffort":"high"}]}],"nextCursor":"more"}}}
    > {"send":{"id":5,"method":"model/list","params":{"cursor":"more"}}}
    {"in":{"id":5,"result":{"data":[{"model":"gpt-5.4","displayName":"GPT-5.4","supportsPersonality":true,"defaultReasoningEffort":"low","supportedReasoningEfforts":[{"reasoningEffort":"low"}]}],"nextCursor":null}}}
    = {"kind":"session.updated","data":{"info":{"models":[{"id":"gpt-5.5"},{"id":"gpt-5.4"}]}}}
    {"in":{"id":4,"result":{"data":[{"name":"Plan","mode":"plan"},{"name":"Default","mode":"default"}]}}}
    = {"kind":"session.updated","data":{"info":{"modes":[{"id":"plan"},{"id":"default"}],"options":[{"id":"reasoning_effort","value":"medium"},{"id":"collaboration_mode","value":"default"}]}}}
"#;

fn check_with_offers(script: &str) {
    check_when_ready(&format!("{OFFERS_SCRIPT}{script}"));
}

#[test]
fn settings_change_from_now_on() {
    check_when_ready(
        r#"
        {"cmd":{"set_model":"gpt-5.4"}}
        > {"send":{"method":"thread/settings/update","params":{"threadId":"T","model":"gpt-5.4"}}}
        {"in":{"method":"thread/settings/updated","params":{"threadId":"T","threadSettings":{"model":"gpt-5.4","effort":"low"}}}}
        = {"kind":"session.updated","data":{"info":{"model":"gpt-5.4"}}}
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"send":{"method":"thread/settings/update","params":{"threadId":"T","effort":"high"}}}
        # What was asked for just before holds already.
        {"cmd":{"set_mode":"plan"}}
        > {"send":{"params":{"collaborationMode":{"mode":"plan","settings":{"model":"gpt-5.4","reasoning_effort":"high","developer_instructions":null}}}}}
        {"cmd":{"set_option":["colour","red"]}}
        > {"refused":"Codex has no option `colour`"}
    "#,
    );
}

#[test]
fn only_what_is_offered_can_be_chosen() {
    check_with_offers(
        r#"
        {"cmd":{"set_option":["reasoning_effort","ultra"]}}
        > {"refused":"`reasoning_effort` cannot be `ultra`"}
        {"cmd":{"set_mode":"dance"}}
        > {"refused":"`collaboration_mode` cannot be `dance`"}
        {"cmd":{"set_option":["personality","friendly"]}}
        > {"refused":"this model takes no personality"}
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"send":{"params":{"effort":"high"}}}
        # The other model cannot think so hard.
        {"cmd":{"set_model":"gpt-5.4"}}
        > {"send":{"params":{"model":"gpt-5.4","effort":"low"}}}
        {"in":{"method":"thread/settings/updated","params":{"threadId":"T","threadSettings":{"model":"gpt-5.4","effort":"low","personality":null,"collaborationMode":{"mode":"default"}}}}}
        = {"kind":"session.updated","data":{"info":{"model":"gpt-5.4","options":[{"id":"reasoning_effort","value":"low"},{"id":"personality","value":"default"},{"id":"collaboration_mode"}]}}}
        {"cmd":{"set_option":["personality","friendly"]}}
        > {"send":{"params":{"personality":"friendly"}}}
    "#,
    );
}

#[test]
fn what_codex_refuses_is_a_warning() {
    check_when_ready(
        r#"
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"send":{"id":5,"method":"thread/settings/update"}}
        {"in":{"id":5,"error":{"code":-32600,"message":"no"}}}
        = {"kind":"notice","data":{"topic":"warning","level":"warning","text":"no"}}
    "#,
    );
}

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
