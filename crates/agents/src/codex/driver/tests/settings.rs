//! Changing the model, the mode and how hard the model thinks.

use super::ready;

#[test]
fn settings_change_from_now_on() {
    ready(
        r#"
        {"cmd":{"set_model":"gpt-5.4"}}
        > {"send":{"method":"thread/settings/update","params":{"threadId":"T","model":"gpt-5.4"}}}
        {"in":{"method":"thread/settings/updated","params":{"threadId":"T","threadSettings":{"model":"gpt-5.4","effort":"low"}}}}
        = {"kind":"session.updated","data":{"info":{"model":"gpt-5.4"}}}
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"send":{"method":"thread/settings/update","params":{"threadId":"T","effort":"high"}}}
        {"cmd":{"set_mode":"plan"}}
        > {"send":{"params":{"collaborationMode":{"mode":"plan","settings":{"model":"gpt-5.4","reasoning_effort":"low","developer_instructions":null}}}}}
        {"cmd":{"set_option":["colour","red"]}}
        > {"refused":"Codex has no option `colour`"}
    "#,
    );
}
