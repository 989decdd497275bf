//! Tests over recordings.
