//! What coding agents left on this machine: found, indexed, searched, accounted for. A [`Library`] is all of it; an
//! agent's own knowledge of its files is in its folder in `switchboard_agents`.

mod ask;
mod candidates;
mod error;
pub mod export;
mod hit;
mod index;
mod ledger;
mod library;
pub mod live;
mod places;
mod progress;
pub mod read;
mod scan;
mod session;
pub mod usage;
mod view;
pub mod when;

pub use ask::{Filter, Query, Words};
pub use candidates::Candidates;
pub use error::LogsError;
pub use hit::{Hit, Hits};
pub use ledger::{Entry, Ledger, Name};
pub use library::{Counted, Health, Library, Ours, Setup};
pub use places::{Home, homes, looked_in};
pub use progress::{Progress, Report, Trouble};
pub use session::{Kept, Own, Session, Transcript};
pub use view::{HitView, OwnView, SessionView};
