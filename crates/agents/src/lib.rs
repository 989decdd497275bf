//! Reads the output of coding agents into Switchboard's event model. Each agent is one directory and one line in
//! [`mod@table`]. Pure: no clock, no file, no socket, no process. Bytes go in through [`LineSplitter`] and [`Record`], events
//! come out of a [`RecordTranslator`]. To run an agent, its [`Agent`] describes what to start, and a [`AgentDriver`] what to send.

mod acp;
mod agent;
mod board;
mod bounded;
mod claude;
mod codex;
mod commands;
pub mod diff;
mod driver;
mod echo;
mod framing;
mod gemini;
mod joined_records;
mod json;
mod launch;
mod logs;
mod opencode;
mod reader;
mod record;
mod recorder;
mod script;
mod split;
mod table;
mod translator;
mod walk;

#[cfg(test)]
mod driver_tests;

pub use agent::{Abilities, Agent, AgentConfigFile, Login, Versions, WhileRunning};
pub use driver::{
    AgentCommand, AgentDriver, AgentPrompt, DriverEffect, DriverEffects, DriverSignal, DriverTimer, HttpRequest,
    PromptImage, RequestAnswer, RequestDecision, SessionFeedPaths, UnsupportedOperation,
};
pub use framing::{BoundedLineSplitter, LineFrame, LineSplitter, MAX_LINE_BYTES};
pub use joined_records::{ends_with_record, split_joined_records};
pub use json::{JsonObject, JsonView};
pub use launch::{AgentEndpoint, AgentLaunch, HostAccess, LaunchRequest, ResumeRequest, StateDirectory, StdinMode};
pub use logs::{
    AgentLogs, ForkBase, LogFile, LogFormat, LogScanner, PassageKind, RecordFile, ReplyKey, ReplyTokens, RowQuery,
    ScanDepth, ScanOutput, SessionFacts, SessionQueries, TextPassage, ToolCallRef, no_workspace_root, own_log_scanner,
    own_reply_key,
};
pub use reader::{EngineNote, RecordReader, SessionContext, StopCause};
pub use record::{Record, RecordBody};
pub use recorder::{RunRecorder, SessionEnding, SessionRepair};
pub use table::{AGENTS, LOGS, RecordSource, SOURCES, agent_names, find_agent, find_source};
pub use translator::{RecordTranslator, TranslatorOptions};

#[cfg(test)]
mod tests {
    mod endpoints;
}
