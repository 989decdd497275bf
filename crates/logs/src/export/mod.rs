//! What was said and done, for others to read: pages, tables, and secrets taken out of them. Pure: no file, no clock.

mod redact;

pub use redact::Redactor;
