//! What the agent finds around it: exactly what it was given.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
};

use switchboard_engine::supervise::{Input, Spec, start_time};
use tokio::io::AsyncReadExt as _;

use crate::stage::{Folder, direct, play, spec, supervisor_of, try_play};

/// What it says, at its zero bytes.
async fn strings(spec: &Spec) -> Vec<OsString> {
    let mut running = try_play(spec).await.unwrap();
    let mut bytes = Vec::new();
    running.stdout.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes.pop(), Some(0));
    bytes.split(|byte| *byte == 0).map(|text| OsString::from_vec(text.to_vec())).collect()
}

#[tokio::test]
async fn the_environment_is_as_given() {
    let odd = OsStr::from_bytes(b"\xff\n=").to_owned();
    let env = vec![("EMPTY".into(), OsString::new()), ("ODD".into(), odd), ("PATH".into(), "/bin".into())];
    let spec = Spec { env: env.clone(), ..spec(&["environment"]) };
    let mark = ("SWITCHBOARD_SESSION".into(), spec.session.clone().into());
    let text = |(name, value): (OsString, OsString)| [name, value].join(OsStr::new("="));
    let mut seen = strings(&spec).await;
    seen.sort();
    assert_eq!(seen, env.into_iter().chain([mark]).map(text).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_large_environment_arrives() {
    let env: Vec<_> = (0..12).map(|n| (format!("V{n:02}").into(), "x".repeat(100_000).into())).collect();
    let seen = strings(&Spec { env, ..spec(&["environment"]) }).await;
    assert_eq!(seen.iter().map(|text| text.len()).filter(|length| *length == 100_004).count(), 12);
}

#[tokio::test]
async fn arguments_are_as_given() {
    let odd = OsStr::from_bytes(b"\xfe \"'\n").to_owned();
    let given = vec![OsString::new(), "__exec".into(), "--help".into(), odd];
    let argv = spec(&["arguments"]).argv.into_iter().chain(given.clone()).collect();
    assert_eq!(strings(&Spec { argv, ..spec(&[]) }).await, given);
}

#[tokio::test]
async fn it_has_no_file_but_its_own() {
    for stdin in [Input::Open, Input::Closed] {
        let mut agent = play(&Spec { stdin, ..spec(&["descriptors"]) }).await;
        // Whoever started the tests may have left files open in everything.
        let direct = String::from_utf8(direct(&["descriptors"], "none").output().unwrap().stdout).unwrap();
        let is_inherited = |line: &String| direct.lines().any(|other| other == line) && !line.starts_with("0 ");
        let mut lines = agent.rest().await;
        lines.retain(|line| !is_inherited(line));
        lines.sort();
        let kind = |line: &String| line.split([' ', ':']).take(2).collect::<Vec<_>>().join(" ");
        let input = if stdin == Input::Open { "0 pipe" } else { "0 /dev/null" };
        // The last one is the folder that it reads this from.
        assert_eq!(lines.iter().map(kind).take(3).collect::<Vec<_>>(), [input, "1 pipe", "2 pipe"], "{lines:?}");
        assert_eq!(lines.len(), 4, "{lines:?}");
    }
}

#[tokio::test]
async fn it_stands_alone_in_its_folder() {
    let folder = Folder::new();
    let mut agent = play(&Spec { cwd: folder.0.clone(), ..spec(&["place"]) }).await;
    let seen = agent.rest().await;
    let path = format!("folder: {}", folder.0.canonicalize().unwrap().display());
    let seen: Vec<_> = seen.iter().map(String::as_str).filter(|line| !line.starts_with("parent: ")).collect();
    assert_eq!(seen, ["own group: true", "own session: true", "terminal: false", &path]);
}

#[tokio::test]
async fn it_is_known_by_pid_and_start_time() {
    let mut agent = play(&spec(&["cat"])).await;
    assert_eq!(start_time(agent.process.pid), Some(agent.process.start_time));
    let supervisor = supervisor_of(agent.process);
    assert_ne!(supervisor.pid, std::process::id());
    drop(agent.stdin.take());
    agent.gone().await;
    assert_eq!(start_time(agent.process.pid), None);
    assert_eq!(start_time(supervisor.pid), None);
}

#[tokio::test]
async fn nothing_that_may_be_secret_is_on_a_command_line() {
    let secret = "do-not-tell";
    let mut agent = play(&Spec { env: vec![("KEY".into(), secret.into())], ..spec(&["polite"]) }).await;
    agent.introduced().await;
    let supervisor = supervisor_of(agent.process);
    for file in ["cmdline", "environ"] {
        let seen = std::fs::read(format!("/proc/{}/{file}", supervisor.pid)).unwrap();
        assert!(!seen.windows(secret.len()).any(|window| window == secret.as_bytes()), "{file}");
        assert!(!seen.is_empty());
    }
}
