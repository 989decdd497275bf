//! Conversations, by example: what is said, and what must be done about it.

mod approvals;
mod handshake;
mod interrupts;
mod prompts;
mod recordings;
mod settings;
mod slash;

use crate::{codex::AGENT, driver_tests::Wish};

/// From the first word to being ready. The thread's name is short, so that scripts stay readable.
const READY: &str = r#"
    > {"send":{"id":1,"method":"initialize"}}
    {"in":{"id":1,"result":{"userAgent":"switchboard/0.166.0 (Linux)","codexHome":"/home/user/.codex"}}}
    > {"send":{"method":"initialized"}}
    > {"send":{"id":2,"method":"thread/start"}}
    {"in":{"id":2,"result":{"thread":{"id":"T","sessionId":"T"},"model":"gpt-5.5","cwd":"/home/user/project"}}}
    > "ready"
    > {"send":{"id":3,"method":"model/list"}}
    > {"send":{"id":4,"method":"collaborationMode/list"}}
"#;

/// And then a turn that runs.
const RUNNING: &str = r#"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"send":{"id":5,"method":"turn/start","params":{"threadId":"T","input":[{"type":"text","text":"go"}]}}}
    {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
    {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t1","status":"inProgress"}}}}
    = {"kind":"turn.started","data":{"prompt":"go"}}
"#;

/// Plays a script that goes on where the thread is open.
fn ready(script: &str) {
    Wish::default().check(&AGENT, &format!("{READY}{script}"));
}

/// Plays a script that goes on where a turn runs.
fn running(script: &str) {
    ready(&format!("{RUNNING}{script}"));
}
