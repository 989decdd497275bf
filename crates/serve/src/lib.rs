//! The server: REST, WebSocket and server-sent events, all on one table of operations.
