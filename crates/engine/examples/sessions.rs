//! What a running session costs in memory, beside its agent and the launcher: starts many in one process and looks at
//! how much it grew. `sessions COUNT SWITCHBOARD "AGENT'S COMMAND"`; `cargo xtask bench run` does it.

use std::{collections::BTreeMap, env, fs, io::Write as _, path::PathBuf, sync::Arc};

use switchboard_agents::Prompt;
use switchboard_engine::{Engine, Machine, Session, StartRequest, this_process};
use switchboard_event::{Body, Id, Timestamp};
use switchboard_store::{Options, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [count, switchboard, command] = args.as_slice() else { return Err("COUNT SWITCHBOARD COMMAND".into()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(count.parse()?, switchboard.into(), command))?;
    writeln!(std::io::stdout(), "{figures}")?;
    Ok(())
}

async fn measure(count: u64, program: PathBuf, command: &str) -> Result<String, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path(), &Options { owner: Some(this_process()), ..Options::default() })?;
    let machine = Machine {
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        home: folder.path().to_owned(),
        temp: folder.path().join("tmp"),
        program,
        root: false,
        now: Timestamp::default,
        fresh_id: || Id::from(uuid::Uuid::now_v7().to_string()),
        secret: || uuid::Uuid::new_v4().simple().to_string(),
    };
    let engine = Engine::new(Arc::new(store), machine);
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let mut sessions = vec![begin(&engine, &words).await?];
    let one = resident()?;
    for _ in 1..count {
        sessions.push(begin(&engine, &words).await?);
    }
    let all = resident()?;
    for session in &sessions {
        session.cancel().await?;
        session.outcome().await;
    }
    let each = all.saturating_sub(one) / count.saturating_sub(1).max(1);
    Ok(format!("memory: one session {one} kB, {count} sessions {all} kB, so {each} kB each"))
}

/// Starts a session, and waits until its agent speaks.
async fn begin(engine: &Engine, command: &[String]) -> Result<Session, Box<dyn std::error::Error>> {
    let prompt = Some(Prompt { text: "go".to_owned(), ..Prompt::default() });
    let agent = "acp".to_owned();
    let session =
        engine.start(StartRequest { agent, prompt, command: command.to_vec(), ..StartRequest::default() }).await?;
    let mut follower = session.follow();
    while let Some(events) = follower.next().await? {
        if events.events()?.iter().any(|event| matches!(event.body, Body::ItemDelta(_) | Body::ItemStarted(_))) {
            return Ok(session);
        }
    }
    Err("the session ended before its agent spoke".into())
}

/// How much memory of ours is in use, in kilobytes.
fn resident() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
