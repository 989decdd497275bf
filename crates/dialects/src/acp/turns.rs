//! The outcome of a turn, as reported in the response to a prompt.

use switchboard_event::{Fault, Stop, TurnCompleted, TurnStatus, Usage};

use super::wire::{Failure, StopReason, TokenUsage};

/// Returns why a turn ended; none if it failed.
#[must_use]
pub fn stop_reason(turn: &TurnCompleted) -> Option<StopReason> {
    Some(match (turn.status, turn.stop) {
        (TurnStatus::Interrupted, _) | (_, Stop::Cancelled) => StopReason::Cancelled,
        (_, Stop::MaxTokens) => StopReason::MaxTokens,
        (_, Stop::MaxTurns | Stop::Budget) => StopReason::MaxTurnRequests,
        (_, Stop::Refusal) => StopReason::Refusal,
        (TurnStatus::Failed, _) | (_, Stop::Error) => return None,
        (TurnStatus::Completed, Stop::EndTurn) => StopReason::EndTurn,
    })
}

/// Converts the token usage of a turn.
#[must_use]
pub fn token_usage(usage: &Usage) -> TokenUsage {
    let filled = |tokens: u64| Some(tokens).filter(|tokens| *tokens > 0);
    TokenUsage {
        total_tokens: usage.total_tokens(),
        input_tokens: usage.input,
        output_tokens: usage.output,
        thought_tokens: filled(usage.reasoning),
        cached_read_tokens: filled(usage.cache_read),
        cached_write_tokens: filled(usage.cache_write()),
    }
}

pub fn to_failure(fault: &Fault) -> Failure<'_> {
    Failure { message: &fault.message, code: fault.code, http_status: fault.http_status, retryable: fault.retryable }
}

/// Returns the failure of a turn, with a default message if the agent gave none.
pub fn turn_failure(turn: &TurnCompleted) -> Option<Failure<'_>> {
    let silent = Failure { message: "the turn failed", code: Default::default(), http_status: None, retryable: None };
    stop_reason(turn).is_none().then(|| turn.error.as_ref().map_or(silent, to_failure))
}
