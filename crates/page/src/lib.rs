//! Renders sessions for the web page. Text of agents becomes safe HTML (`html`), an item or a request becomes a body
//! (`body`), and the events of a session become entries in a stable order (`timeline`). The files of the page itself are
//! in `assets`. Pure: no clock, no file, no socket.

pub mod assets;
pub mod body;
pub mod html;
pub mod timeline;

pub use body::EntryBody;
pub use html::SafeHtml;
