//! The available choices of a session without a first prompt, and slash commands.

use serde_json::json;

use super::{FREE, spelled};
use crate::{driver_tests::LaunchFixture, opencode::AGENT};

/// A session without a prompt learns the available choices before it is ready.
const OFFERS: &str = r#"
    > {"http":{"id":3,"method":"GET","path":"/config"}}
    > {"http":{"id":4,"method":"GET","path":"/config/providers"}}
    > {"http":{"id":5,"method":"GET","path":"/command"}}
    {"in":{"id":3,"method":"GET","path":"/config","status":200,"body":{"model":"p/a"}}}
    {"in":{"id":5,"method":"GET","path":"/command","status":200,"body":[{"name":"init","description":"Sets up"}]}}
    = {"kind":"session.updated","data":{"info":{"commands":[{"name":"init","description":"Sets up"}]}}}
    {"in":{"id":4,"method":"GET","path":"/config/providers","status":200,"body":{"providers":[{"id":"p","name":"P","models":{"a":{"name":"A","variants":["low","high"]},"b":{"name":"B","variants":["low"]}}}]}}}
    > "ready"
    = {"kind":"session.updated","data":{"info":{"models":[{"id":"p/a","default":true},{"id":"p/b"}],"options":[{"id":"reasoning_effort","value":"default"}]}}}
"#;

/// Plays a script after the session is ready.
fn offered(script: &str) {
    let (opened, started) = FREE.split_once("    > \"ready\"\n").unwrap();
    let offers = OFFERS.replacen("    {\"in\"", &format!("{started}    {{\"in\""), 1);
    let wish = LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" }));
    wish.check_script(&AGENT, &spelled(&format!("{opened}{offers}{script}")));
}

#[test]
fn what_is_chosen_is_told_and_said_with_the_next_prompt() {
    offered(
        r#"
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"note":{"set":{"variant":"high"}}}
        = {"kind":"session.updated","data":{"info":{"options":[{"id":"reasoning_effort","value":"high"}]}}}
        {"cmd":{"set_option":["reasoning_effort","huge"]}}
        > {"refused":"`reasoning_effort` cannot be `huge` with p/a"}
        # The other model cannot think so hard.
        {"cmd":{"set_model":"p/b"}}
        > {"note":{"set":{"model":"p/b","variant":null}}}
        = {"kind":"session.updated","data":{"info":{"model":"p/b","options":[{"id":"reasoning_effort","value":"default"}]}}}
        {"cmd":{"set_model":"p/c"}}
        > {"refused":"OpenCode has no model `p/c`"}
        {"cmd":{"set_option":["variant","low"]}}
        > {"note":{"set":{"variant":"low"}}}
        {"cmd":{"prompt":{"text":"go"}}}
        > {"http":{"id":6,"path":"/session/ses_1/prompt_async","body":{"parts":[{"text":"go"}],"model":{"providerID":"p","modelID":"b"},"variant":"low"}}}
    "#,
    );
}

#[test]
fn a_command_is_answered_when_all_is_done() {
    offered(
        r#"
        {"cmd":{"slash":["init","quickly"]}}
        > {"http":{"id":6,"method":"POST","path":"/session/ses_1/command","body":{"command":"init","arguments":"quickly"}}}
        user 1
        says 1 template
        = {"kind":"turn.started"}
        busy
        > {"disarm":"work"}
        reply 2 to 1
        done 2 to 1
        idle
        > {"disarm":"work"}
        > {"disarm":"end"}
        > {"disarm":"rest"}
        > "settled"
        {"in":{"id":6,"method":"POST","path":"/session/ses_1/command","status":200,"body":{}}}
        {"cmd":{"slash":["dance",""]}}
        > {"refused":"the agent has no command /dance"}
    "#,
    );
}

#[test]
fn a_command_that_is_not_taken_ends_its_turn() {
    offered(
        r#"
        {"cmd":{"slash":["init",""]}}
        > {"http":{"id":6,"path":"/session/ses_1/command"}}
        {"in":{"id":6,"method":"POST","path":"/session/ses_1/command","status":500,"body":{"name":"UnknownError","data":{"message":"no"}}}}
        > {"disarm":"work"}
        > {"disarm":"end"}
        > {"disarm":"rest"}
        > "settled"
        = {"kind":"turn.completed","data":{"status":"failed"}}
    "#,
    );
}
