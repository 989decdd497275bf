//! Known kinds of records, items and events.

use crate::JsonObject;

/// Returns whether records of this kind and payload type are known.
pub fn is_known(kind: &str, what: &str) -> bool {
    match kind {
        "session_meta"
        | "turn_context"
        | "token_usage_record"
        | "compacted"
        | "world_state"
        | "retained_context"
        | "security_risk_score"
        | "inter_agent_communication"
        | "inter_agent_communication_metadata"
        | "realtime_item"
        | "state" => true,
        "response_item" => ITEM_TYPES.contains(&what),
        "event_msg" => EVENT_TYPES.contains(&what),
        _ => false,
    }
}

const ITEM_TYPES: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "web_search_call",
    "image_generation_call",
    "tool_search_call",
    "tool_search_output",
    "agent_message",
    "additional_tools",
    "ghost_snapshot",
    "compaction",
    "context_compaction",
];

const EVENT_TYPES: &[&str] = &[
    "token_count",
    "task_started",
    "turn_started",
    "task_complete",
    "turn_complete",
    "turn_aborted",
    "thread_settings_applied",
    "thread_rolled_back",
    "thread_goal_updated",
    "thread_name_updated",
    "item_completed",
    "user_message",
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "entered_review_mode",
    "exited_review_mode",
    "patch_apply_end",
    "mcp_tool_call_end",
    "exec_command_end",
    "web_search_end",
    "view_image_tool_call",
    "image_generation_end",
    "context_compacted",
    "sub_agent_activity",
    "error",
    "stream_error",
    "warning",
];

/// Returns whether the item is model output rather than model input.
pub fn is_model_output(what: &str, item: &JsonObject<'_>) -> bool {
    match what {
        "message" => item.str_equals("role", "assistant"),
        "reasoning"
        | "function_call"
        | "custom_tool_call"
        | "local_shell_call"
        | "tool_search_call"
        | "web_search_call"
        | "image_generation_call" => true,
        _ => false,
    }
}
