//! The server over a real connection, in each API.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::{ScriptedModel, SideRequest};

/// Returns a conversation with one user message, in each API.
fn requests_in_each_api(prompt: &str) -> Vec<(&'static str, &'static str, Value)> {
    let tool = json!({ "name": "shell" });
    let message = json!([{ "role": "user", "content": prompt }]);
    let item = json!([{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": prompt }] }]);
    let content = json!([{ "role": "user", "parts": [{ "text": prompt }] }]);
    vec![
        (
            "anthropic",
            "/v1/messages?beta=true",
            json!({ "model": "m", "stream": true, "messages": message, "tools": [tool] }),
        ),
        ("responses", "/v1/responses", json!({ "model": "m", "stream": true, "input": item, "tools": [tool] })),
        (
            "google",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({ "contents": content, "tools": [{ "functionDeclarations": [tool] }] }),
        ),
        (
            "chat",
            "/v1/chat/completions",
            json!({ "model": "m", "stream": true, "messages": message, "tools": [{ "function": tool }] }),
        ),
    ]
}

fn send_request(model: &ScriptedModel, method: &str, path: &str, body: &str) -> TcpStream {
    let address = model.base_url().replace("http://", "");
    let mut socket = TcpStream::connect(&address).unwrap();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body.as_bytes()).unwrap();
    socket
}

fn read_answer(model: &ScriptedModel, path: &str, body: &Value) -> String {
    let mut answer = String::new();
    send_request(model, "POST", path, &body.to_string()).read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn every_api_says_the_words_that_the_prompt_asks_for() {
    let model = ScriptedModel::start().unwrap();
    for (api, path, body) in requests_in_each_api("[[think hm]] [[text héllo wörld]]") {
        let answer = read_answer(&model, path, &body);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n0\r\n\r\n"), "{api}: {answer}");
        for said in ["hm", "héllo ", "wörld"] {
            assert!(answer.contains(&format!("{said}\"")) || answer.contains(said), "{api}: no {said} in {answer}");
        }
        let request = model.all_requests().pop().unwrap();
        assert_eq!(
            (request.api, request.model.as_str(), request.tools.as_slice()),
            (api, "m", &["shell".to_owned()][..])
        );
        assert_eq!(request.answer.unwrap().joined_text(), "héllo wörld");
    }
}

#[test]
fn every_api_fails_and_breaks_off_when_it_is_told_to() {
    let model = ScriptedModel::start().unwrap();
    for (api, path, body) in requests_in_each_api("[[error 429]]") {
        let answer = read_answer(&model, path, &body);
        assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("scripted error 429"), "{api}: {answer}");
    }
    for (api, path, body) in requests_in_each_api("[[text a b c d e f]] [[cut]]") {
        let answer = read_answer(&model, path, &body);
        assert!(answer.contains("\"a \"") && !answer.contains("\"f\""), "{api}: {answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{api} ends as if all were well");
    }
}

/// Sends a request and reads until `word` arrives. A client that disconnects earlier may do so before its request is
/// read.
fn read_until(model: &ScriptedModel, path: &str, body: &Value, word: &str) -> (TcpStream, String) {
    let mut socket = send_request(model, "POST", path, &body.to_string());
    let mut received = String::new();
    while !received.contains(word) {
        let mut some = [0; 512];
        let size = socket.read(&mut some).unwrap();
        assert!(size > 0, "{path}: {received}");
        received.push_str(std::str::from_utf8(&some[..size]).unwrap());
    }
    (socket, received)
}

#[test]
fn an_answer_waits_for_the_test_and_a_client_may_leave() {
    let model = ScriptedModel::start().unwrap();
    for (api, path, body) in requests_in_each_api("[[text before]] [[hold]] [[text after]]") {
        let (mut socket, mut received) = read_until(&model, path, &body, "before ");
        assert!(!received.contains("after"), "{api}: {received}");
        model.release_hold();
        socket.read_to_string(&mut received).unwrap();
        assert!(received.contains("after"), "{api}: {received}");
        drop(read_until(&model, path, &body, "before "));
        model.wait_for_request("a client that left", |request| request.api == api && request.abandoned).unwrap();
    }
}

#[test]
fn side_requests_do_no_harm() {
    let model = ScriptedModel::start().unwrap();
    let messages = json!([{ "role": "system", "content": "You are a title generator." }, { "role": "user", "content": "[[error 500]]" }]);
    let answer = read_answer(&model, "/v1/chat/completions", &json!({ "model": "m", "messages": messages }));
    assert!(answer.contains("A scripted title"), "{answer}");
    let answer = read_answer(&model, "/v1/messages/count_tokens", &json!({ "messages": messages }));
    assert!(answer.contains("\"input_tokens\":100"), "{answer}");
    let sides: Vec<_> = model.all_requests().into_iter().filter_map(|request| request.side).collect();
    assert_eq!(sides, [SideRequest::Title, SideRequest::Count]);
    assert!(model.conversation_requests().is_empty());
}

#[test]
fn what_clients_ask_before_they_begin_is_answered() {
    let model = ScriptedModel::start().unwrap();
    for (method, path, want) in [("HEAD", "/", "200"), ("GET", "/v1/models", "200"), ("GET", "/nothing", "404")] {
        let mut answer = String::new();
        send_request(&model, method, path, "").read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {want}")), "{method} {path}: {answer}");
    }
}
