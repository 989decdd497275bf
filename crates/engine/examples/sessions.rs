//! Measures the memory of a running session, without its agent and the launcher: starts many in one process and reports
//! its growth. `sessions COUNT SWITCHBOARD "AGENT'S COMMAND"`; `cargo xtask bench run` runs it.

use std::{collections::BTreeMap, env, fs, io::Write as _, path::PathBuf, sync::Arc};

use switchboard_agents::AgentPrompt;
use switchboard_engine::{Engine, HostEnvironment, SessionHandle, StartRequest, this_process};
use switchboard_event::{EventBody, Id, Timestamp};
use switchboard_store::{SqliteStore, StoreOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [count, switchboard, command] = args.as_slice() else { return Err("COUNT SWITCHBOARD COMMAND".into()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(count.parse()?, switchboard.into(), command))?;
    writeln!(std::io::stdout(), "{figures}")?;
    Ok(())
}

async fn measure(count: u64, program: PathBuf, command: &str) -> Result<String, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store =
        SqliteStore::open(directory.path(), &StoreOptions { owner: Some(this_process()), ..StoreOptions::default() })?;
    let host = HostEnvironment {
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        home: directory.path().to_owned(),
        temp: directory.path().join("tmp"),
        program,
        is_root: false,
        now: Timestamp::default,
        new_id: || Id::from(uuid::Uuid::now_v7().to_string()),
        new_secret: || uuid::Uuid::new_v4().simple().to_string(),
    };
    let engine = Engine::new(Arc::new(store), host);
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let mut sessions = vec![begin(&engine, &words).await?];
    let one = resident()?;
    for _ in 1..count {
        sessions.push(begin(&engine, &words).await?);
    }
    let all = resident()?;
    for session in &sessions {
        session.cancel().await?;
        session.wait_for_outcome().await;
    }
    let each = all.saturating_sub(one) / count.saturating_sub(1).max(1);
    Ok(format!("memory: one session {one} kB, {count} sessions {all} kB, so {each} kB each"))
}

/// Starts a session, and waits until its agent responds.
async fn begin(engine: &Engine, command: &[String]) -> Result<SessionHandle, Box<dyn std::error::Error>> {
    let prompt = Some(AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() });
    let agent = "acp".to_owned();
    let session = engine
        .start_session(StartRequest { agent, prompt, command: command.to_vec(), ..StartRequest::default() })
        .await?;
    let mut follower = session.follow();
    while let Some(events) = follower.next().await? {
        if events
            .events()?
            .iter()
            .any(|event| matches!(event.body, EventBody::ItemDelta(_) | EventBody::ItemStarted(_)))
        {
            return Ok(session);
        }
    }
    Err("the session ended before its agent spoke".into())
}

/// Returns the resident memory of this process in kilobytes.
fn resident() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
