//! What a client and a server say to each other beside events. Unknown fields are ignored, missing ones are empty.

mod approval;
mod request;
mod view;

pub use approval::{Answer, Approval, Decision};
pub use request::{ImageData, Order, PromptRequest, SessionRequest};
pub use view::{Activity, SessionPage, SessionQuery, SessionState, SessionView};
