//! Fake agents, for what real ones cannot be made to do: crash in the middle of a line, ignore signals, leave children
//! behind, print garbage, hang in the handshake. A fake is a program that performs a script, one step a line; it is put
//! in an agent's place by `SWITCHBOARD_<AGENT>`.
//!
//! ```text
//! let program = fake::program(folder, "crasher", "open\nsay Hello\npart {\"type\":\"assis\ncrash")?;
//! SWITCHBOARD_NAME=program switchboard run name "do something"
//! ```
//!
//! | step | what the fake does |
//! | --- | --- |
//! | `version TEXT` | nothing; but `--version` is answered with it |
//! | `speak WIRE` | speaks `stream-json` (the default) or `acp` from now on |
//! | `open` | shakes hands, up to the first prompt |
//! | `say TEXT` | says it |
//! | `ask COMMAND` | asks whether it may run a command (it never does), waits for the answer and says `allowed` or `declined` |
//! | `prompt` | waits for the next prompt |
//! | `obey` | performs the last prompt, as a script |
//! | `done` | ends the turn |
//! | `follow` | performs every prompt that comes, as a turn of its own, until its input ends |
//! | `flood N RATE` | says N pieces of text, that many a second; each is the time in nanoseconds since 1970 |
//! | `burst N` | says N pieces of text as fast as it can, in lines of about 300 bytes; each begins with the time its reply began |
//! | `line BYTES` | says one text of that length in one line |
//! | `print TEXT` · `part TEXT` | prints it, with or without the end of the line |
//! | `garbage BYTES` | prints a line of bytes that are neither JSON nor UTF-8 |
//! | `complain TEXT` | prints it to standard error |
//! | `ignore` | pays no attention to SIGTERM, SIGINT and SIGHUP from now on |
//! | `child WORDS` | starts a child that does nothing: `setsid` in a session of its own, `orphan` not as our own child, `stubborn` ignoring signals, `holds` keeping our output open |
//! | `close stdin` · `close stdout` | closes it and lives on |
//! | `sleep SECONDS` | waits |
//! | `wait` | answers what it is asked until its input ends |
//! | `hang` | does nothing more until it is killed (or for ten minutes) |
//! | `exit CODE` | ends; so does the end of the script, with 0 |
//! | `crash` | kills itself |
//!
//! While it waits, a fake answers what any agent would be asked: interrupts, settings, a handshake.

mod acp;
mod burst;
mod child;
mod perform;
mod program;
mod script;
mod stream_json;
mod wire;

pub use child::child;
pub use perform::perform;
pub use program::program;
pub use script::{Step, parse};
pub use stream_json::prompt_line;
