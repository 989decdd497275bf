//! What consumers rely on.
