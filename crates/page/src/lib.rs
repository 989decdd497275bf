//! What people see of a session. Text that agents wrote becomes HTML that is safe to show (`html`), an item or a request
//! becomes a body (`body`), and the events of a session become entries in an order that never changes (`sheet`). The
//! files of the page itself lie in `assets`. Pure: no clock, no file, no socket.

pub mod assets;
pub mod body;
pub mod html;
pub mod sheet;

pub use body::Body;
pub use html::Html;
