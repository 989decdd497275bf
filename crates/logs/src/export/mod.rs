//! Exports sessions as pages and tables, with secrets removed. Pure: no file access, no clock.

pub mod csv;
mod formatting;
pub mod html;
pub mod markdown;
pub mod rebuild;
mod redact;
pub mod story;

pub use formatting::format_minute;
pub(crate) use formatting::visible_line;
pub use redact::Redactor;
pub use story::TranscriptDocument;
