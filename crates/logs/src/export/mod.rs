//! Exports sessions as pages and tables, with secrets removed. Pure: no file access, no clock.

pub mod csv;
mod figures;
pub mod html;
pub mod kept;
pub mod markdown;
mod plain;
mod redact;
pub mod story;

pub use figures::format_minute;
pub(crate) use plain::visible_line;
pub use redact::Redactor;
pub use story::TranscriptDocument;
