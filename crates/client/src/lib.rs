//! Use coding agents from a program: sessions, typed events, approvals, over any transport.
