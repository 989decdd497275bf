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
