//! What was said and done, for others to read: pages, tables, and secrets taken out of them. Pure: no file, no clock.

pub mod csv;
mod figures;
pub mod html;
pub mod kept;
pub mod markdown;
mod plain;
mod redact;
pub mod story;

pub use figures::minute;
pub(crate) use plain::line;
pub use redact::Redactor;
pub use story::Story;
