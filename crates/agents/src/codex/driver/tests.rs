//! Scripted conversations with the app-server.

mod approvals;
mod handshake;
mod interrupts;
mod prompts;
mod recordings;
mod settings;
mod slash;

use crate::{codex::AGENT, driver_tests::LaunchFixture};

/// From the first message to readiness. The thread id is short to keep the scripts readable.
const READY_SCRIPT: &str = r#"
    > {"send":{"id":1,"method":"initialize"}}
    {"in":{"id":1,"result":{"userAgent":"switchboard/0.166.0 (Linux)","codexHome":"/home/user/.codex"}}}
    > {"send":{"method":"initialized"}}
    > {"send":{"id":2,"method":"thread/start"}}
    {"in":{"id":2,"result":{"thread":{"id":"T","sessionId":"T"},"model":"gpt-5.5","cwd":"/home/user/project"}}}
    > "ready"
    > {"send":{"id":3,"method":"model/list"}}
    > {"send":{"id":4,"method":"collaborationMode/list"}}
"#;

/// Continues with a running turn.
const RUNNING_TURN_SCRIPT: &str = r#"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"send":{"id":5,"method":"turn/start","params":{"threadId":"T","input":[{"type":"text","text":"go"}]}}}
    {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
    {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t1","status":"inProgress"}}}}
    = {"kind":"turn.started","data":{"prompt":"go"}}
"#;

/// Plays a script that continues after the thread is open.
fn check_when_ready(script: &str) {
    LaunchFixture::default().check_script(&AGENT, &format!("{READY_SCRIPT}{script}"));
}

/// Plays a script that continues during a turn.
fn check_during_turn(script: &str) {
    check_when_ready(&format!("{RUNNING_TURN_SCRIPT}{script}"));
}
