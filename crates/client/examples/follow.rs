//! Starts a session on a server and prints its events: `follow LINK AGENT "TASK"`, where the link is the one that
//! `switchboard serve` prints. With a session ID in place of the task, that session is followed.

use std::io::Write as _;

use futures_util::StreamExt as _;
use switchboard_client::{AgentClient, AgentError, AgentEventKind as Kind, SessionConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [link, agent, task] = words.as_slice() else { return Err("usage: follow LINK AGENT TASK".into()) };
    let client = AgentClient::connect(link, None)?.for_agent(agent);
    let session = match client.open_session(task).await {
        Ok(session) => session,
        Err(_) => client.create_session(task, SessionConfig::default()).await?,
    };
    print_events(&session).await?;
    Ok(())
}

async fn print_events(session: &switchboard_client::AgentSession) -> Result<(), AgentError> {
    let mut out = std::io::stdout();
    let mut say = |text: String| drop(out.write_all(text.as_bytes()));
    let mut events = session.events();
    while let Some(event) = events.next().await {
        match event?.kind {
            Kind::TextChunk { content, channel: None, is_complete, .. } => {
                say(if is_complete { format!("{content}\n") } else { content });
            }
            Kind::ToolStarted { tool_name, arguments, .. } => {
                say(format!("tool {tool_name} {}\n", arguments.as_deref().map_or("", |json| json.get())));
            }
            Kind::ToolCompleted { success, .. } => say(format!("tool ended, success: {success}\n")),
            Kind::FileChanged { file_path, change_type, .. } => say(format!("{change_type:?}: {file_path}\n")),
            Kind::ApprovalRequested(approval) => {
                say(format!("declined: {}\n", approval.title));
                session.decline(&approval.id, Some("nobody is here to be asked")).await?;
            }
            Kind::SessionEnded { reason, error } => {
                say(format!("{reason:?} {}\n", error.map(|error| error.to_string()).unwrap_or_default()));
            }
            _ => {}
        }
    }
    Ok(())
}
