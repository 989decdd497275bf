//! The guard: who may ask for what. Goes around any router, and knows nothing of what is behind it.
//!
//! In this order, each with a refusal of its own: is the request one that we read at all (length of its address), does
//! the client ask too often (those with the token counted apart from anonymous ones), is it meant for us (`Host`), does
//! another page ask (`Origin`), has it the token, does it come out of a session, and is its body neither too large nor
//! too slow.

mod auth;
mod body;
mod caller;
mod gate;
mod headers;
mod origin;
mod page;
mod rate;
mod refusal;
mod token;

pub use body::Bodies;
pub use caller::{Caller, Lookout, Unseen};
pub use gate::{Guard, Rules};
pub use page::reads_pages;
pub use rate::Rate;
pub use refusal::Refusal;
pub use token::{BadToken, Token};
