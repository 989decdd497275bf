//! The events of a session as entries, in the order of their start.
//!
//! * [`Sheet`] is a fold of events: for each entry it stores the positions of its events ([`Line`]), and no text except
//!   growing text ([`Growth`]).
//! * [`Sheet::entry`] renders an [`Entry`] from the events of a line.
//! * [`Sheet::changes`] returns the changes for a reader that is up to date to an event ([`Op`]).
//! * [`SessionSummary`] is the state and the cost of a session.

mod changes;
mod entry;
mod fold;
mod growth;
mod items;
mod kind;
mod line;
mod notices;
mod places;
mod render;
mod skipped_text;
mod summary;

pub use changes::{TimelineCursor, TimelineOp};
pub use entry::{EntryRequest, TimelineEntry};
pub use fold::Timeline;
pub use growth::{GrowingText, GrowthFormat};
pub use kind::{EntryKind, EntryStage};
pub use line::EntryRecord;
pub use render::EventLookup;
pub use skipped_text::SkippedText;
pub use summary::{ModelPrices, NoPrices, SessionSummary};
