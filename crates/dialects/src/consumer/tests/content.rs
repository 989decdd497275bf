//! The seven content types, as sent to consumers.

use serde_json::{Value, json};

use super::{
    super::{map::map_message, unified::CONTENT_TYPES},
    State, parse_message, to_json_value,
};

/// Checks how consumers receive a piece of content.
fn assert_content(content: Value, expected: Value) {
    let message = parse_message("assistant", json!({}), Value::Array(vec![content]));
    let mapped = to_json_value(&map_message(&message, &State::default()).unwrap());
    assert_eq!(mapped["message"]["content"], Value::Array(vec![expected]));
}

#[test]
fn every_type_of_content_is_passed_on() {
    let pieces = [
        json!({"type": "text", "text": "hello"}),
        json!({"type": "tool_use", "id": "t", "name": "n", "input": {"a": [1]}}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": true}),
        json!({"type": "thinking", "thinking": "hm", "budget_tokens": 7}),
        json!({"type": "refusal", "refusal": "no"}),
        json!({"type": "code", "language": "rust", "code": "fn"}),
        json!({"type": "image", "media_type": "image/png", "data": "AAAA"}),
    ];
    let types: Vec<_> = pieces.iter().map(|piece| piece["type"].as_str().unwrap()).collect();
    assert_eq!(types, CONTENT_TYPES);
    pieces.into_iter().for_each(|piece| assert_content(piece.clone(), piece));
}

#[test]
fn content_in_other_shapes_is_understood() {
    assert_content(
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA"}}),
        json!({"type": "image", "media_type": "image/gif", "data": "AA"}),
    );
    assert_content(
        json!({"type": "tool_use", "id": "t", "name": "n", "input": 7}),
        json!({"type": "tool_use", "id": "t", "name": "n", "input": {}}),
    );
    assert_content(
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}, {"type": "video"}]}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]}),
    );
    assert_content(
        json!({"type": "tool_result", "tool_use_id": "t", "content": {"a": 1}}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": "{\"a\":1}"}),
    );
    assert_content(
        json!({"type": "tool_result", "tool_use_id": "t"}),
        json!({"type": "tool_result", "tool_use_id": "t", "content": ""}),
    );
    assert_content(json!("bare"), json!({"type": "text", "text": "bare"}));
}

#[test]
fn unknown_content_is_an_empty_text_and_told_apart() {
    for (content, kind) in [
        (json!({"type": "video", "url": "u"}), "video"),
        (json!({"no": "type"}), "unknown"),
        (json!(7), "unknown"),
        (json!({"type": "image", "source": {"type": "url", "url": "u"}}), "image"),
    ] {
        let message = parse_message("assistant", json!({"dropped_content_block_types": ["audio"]}), json!([content]));
        let mapped = to_json_value(&map_message(&message, &State::default()).unwrap())["message"].clone();
        assert_eq!(mapped["content"], json!([{"type": "text", "text": ""}]));
        assert_eq!(mapped["dropped_content_block_types"], json!(["audio", kind]));
        assert_eq!(mapped["dropped_content_blocks"], json!([content]));
    }
}
