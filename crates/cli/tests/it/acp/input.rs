//! What an editor may send that is no message.

use serde_json::{Value, json};

use crate::binary;

#[test]
fn a_line_that_cannot_be_read_is_answered_and_the_next_one_is_read() {
    let data = tempfile::tempdir().unwrap();
    let mut input = Vec::new();
    for broken in [&b"\xff\xfe"[..], b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\xe9\"}", b"{}\x80", b"{no json"] {
        input.extend([broken, b"\n"].concat());
    }
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}});
    input.extend(format!("{hello}\r\n").bytes());
    let said = binary::run(&["acp", "--agent", "script", "--data", &data.path().to_string_lossy()], &input).ok();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answers: Vec<_> = said.iter().map(|answer| json!([answer["id"], answer["error"]["code"]])).collect();
    let unread = json!([null, -32700]);
    assert_eq!(json!(answers), json!([unread, unread, unread, unread, [1, null]]));
}
