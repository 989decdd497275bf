//! The events of a session as entries, in the order in which things began.
//!
//! * [`Sheet`] is a fold of events: of each entry it remembers where its events are ([`Line`]), and no text but what is
//!   growing right now ([`Growth`]).
//! * [`Sheet::entry`] makes an [`Entry`] of a line, with the events that it names.
//! * [`Sheet::changes`] says what a reader needs who has seen all up to an event ([`Op`]).
//! * [`Facts`] is what is known of the session as a whole.

mod changes;
mod entry;
mod facts;
mod fold;
mod growth;
mod items;
mod kind;
mod line;
mod notices;
mod places;
mod render;
mod skim;

pub use changes::{Cursor, Op};
pub use entry::{Asked, Entry};
pub use facts::{Facts, Prices, Sums, Unpriced, Waiting};
pub use fold::Sheet;
pub use growth::{Growth, Way};
pub use kind::{Kind, Stage};
pub use line::Line;
pub use render::Source;
pub use skim::{Unread, item_named};
