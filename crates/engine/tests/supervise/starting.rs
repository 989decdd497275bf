//! Agents start in the given environment and directory, or not at all: each failure has its own error, and leaves no
//! process.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use switchboard_engine::{
    paths::WorkingDirectory,
    supervise::{LaunchError, ProcessSpec, process_start_time, start_agent},
};
use tokio::io::AsyncReadExt as _;

use crate::fixtures::{
    FakeAgent, TestDirectory, confined, direct_command, marked_processes, play, spec, supervisor_of, try_play,
};

async fn refused(spec: &ProcessSpec) -> LaunchError {
    let error = try_play(spec).await.unwrap_err();
    assert_eq!(marked_processes(&spec.session), []);
    error
}

fn program(path: impl Into<OsString>) -> ProcessSpec {
    ProcessSpec { argv: vec![path.into()], ..spec(&[]) }
}

fn script(directory: &TestDirectory, text: &str, mode: u32) -> PathBuf {
    let path = directory.file("switchboard-script");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[tokio::test]
async fn a_missing_program() {
    for name in ["switchboard-no-such-program", "/no/such/program", "./none"] {
        let error = refused(&program(name)).await;
        assert!(matches!(&error, LaunchError::NotFound { program } if program == name), "{error:?}");
        assert_eq!(error.to_string(), format!("no program `{name}`"));
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn a_program_is_found_on_the_given_path_and_in_the_given_directory() {
    let directory = TestDirectory::new();
    script(&directory, "#!/bin/sh\nexit 7\n", 0o755);
    let search = vec![("PATH".into(), directory.0.clone().into_os_string())];
    for spec in [
        ProcessSpec { env: search, ..program("switchboard-script") },
        ProcessSpec { cwd: directory.0.clone(), ..program("./switchboard-script") },
    ] {
        let running = try_play(&spec).await.unwrap();
        assert_eq!(running.control.exit().await.code, Some(7));
    }
    assert!(matches!(refused(&program("switchboard-script")).await, LaunchError::NotFound { .. }));
}

#[tokio::test]
async fn a_program_that_is_not_executable() {
    let directory = TestDirectory::new();
    let forbidden = script(&directory, "#!/bin/sh\n", 0o644);
    let error = refused(&program(forbidden)).await;
    assert!(matches!(error, LaunchError::NotExecutable { .. }), "{error:?}");
    let error = refused(&program(directory.0.clone())).await;
    assert!(matches!(error, LaunchError::NotExecutable { .. }), "{error:?}");
    let orphaned = script(&directory, "#!/no/such/interpreter\n", 0o755);
    let error = refused(&program(orphaned)).await.to_string();
    assert!(error.ends_with("the interpreter that its first line names is missing"), "{error}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_entered() {
    let directory = TestDirectory::new();
    for path in [PathBuf::from("/no/such/directory"), directory.file("file")] {
        let error = refused(&ProcessSpec { cwd: path.clone(), ..spec(&["exit", "0"]) }).await;
        assert!(matches!(&error, LaunchError::Directory { path: named, .. } if *named == path), "{error:?}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn too_long_arguments() {
    let long = "x".repeat(200_000);
    let error = refused(&spec(&["exit", &long])).await;
    assert!(matches!(error, LaunchError::TooLong { .. }), "{error:?}");
}

#[tokio::test]
async fn invalid_specifications() {
    for spec in [
        spec(&["a\0b"]),
        ProcessSpec { argv: Vec::new(), ..spec(&[]) },
        ProcessSpec { session: String::new(), ..spec(&[]) },
    ] {
        let error = try_play(&spec).await.unwrap_err();
        assert!(matches!(error, LaunchError::Invalid(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_missing_writable_directory() {
    let error = refused(&confined(&["exit", "0"], &[Path::new("/no/such/directory")])).await;
    assert!(matches!(error, LaunchError::Confinement { .. }), "{error:?}");
    assert!(error.to_string().contains("/no/such/directory"), "{error}");
}

#[tokio::test]
async fn a_program_that_is_no_supervisor() {
    for exe in ["/no/such/program", "/bin/true"] {
        let error = start_agent(Path::new(exe), spec(&["exit", "0"])).await.unwrap_err();
        assert!(matches!(error, LaunchError::Supervisor(_)), "{exe}: {error:?}");
    }
}

/// Returns the agent's output, split at zero bytes.
async fn strings(spec: &ProcessSpec) -> Vec<OsString> {
    let mut running = try_play(spec).await.unwrap();
    let mut bytes = Vec::new();
    running.stdout.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes.pop(), Some(0));
    bytes.split(|byte| *byte == 0).map(|text| OsString::from_vec(text.to_vec())).collect()
}

#[tokio::test]
async fn the_environment_is_the_given_one() {
    let odd = OsStr::from_bytes(b"\xff\n=").to_owned();
    let env = vec![("EMPTY".into(), OsString::new()), ("ODD".into(), odd), ("PATH".into(), "/bin".into())];
    let spec = ProcessSpec { env: env.clone(), ..spec(&["environment"]) };
    let mark = ("SWITCHBOARD_SESSION".into(), spec.session.clone().into());
    let text = |(name, value): (OsString, OsString)| [name, value].join(OsStr::new("="));
    let mut seen = strings(&spec).await;
    seen.sort();
    assert_eq!(seen, env.into_iter().chain([mark]).map(text).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_large_environment_arrives() {
    let env: Vec<_> = (0..12).map(|n| (format!("V{n:02}").into(), "x".repeat(100_000).into())).collect();
    let seen = strings(&ProcessSpec { env, ..spec(&["environment"]) }).await;
    assert_eq!(seen.iter().map(|text| text.len()).filter(|length| *length == 100_004).count(), 12);
}

#[tokio::test]
async fn arguments_are_the_given_ones() {
    let odd = OsStr::from_bytes(b"\xfe \"'\n").to_owned();
    let given = vec![OsString::new(), "__exec".into(), "--help".into(), odd];
    let argv = spec(&["arguments"]).argv.into_iter().chain(given.clone()).collect();
    assert_eq!(strings(&ProcessSpec { argv, ..spec(&[]) }).await, given);
}

#[tokio::test]
async fn it_inherits_no_files() {
    for has_stdin in [true, false] {
        let mut agent = play(&ProcessSpec { has_stdin, ..spec(&["descriptors"]) }).await;
        // The parent of the tests may have left files open.
        let direct_command =
            String::from_utf8(direct_command(&["descriptors"], "none").output().unwrap().stdout).unwrap();
        let is_inherited = |line: &String| direct_command.lines().any(|other| other == line) && !line.starts_with("0 ");
        let mut lines = agent.rest().await;
        lines.retain(|line| !is_inherited(line));
        lines.sort();
        let kind = |line: &String| line.split([' ', ':']).take(2).collect::<Vec<_>>().join(" ");
        let input = if has_stdin { "0 pipe" } else { "0 /dev/null" };
        // The last one is the directory that it reads this from.
        assert_eq!(lines.iter().map(kind).take(3).collect::<Vec<_>>(), [input, "1 pipe", "2 pipe"], "{lines:?}");
        assert_eq!(lines.len(), 4, "{lines:?}");
    }
}

#[tokio::test]
async fn it_has_its_own_group_and_session_in_its_directory() {
    let directory = TestDirectory::new();
    let mut agent = play(&ProcessSpec { cwd: directory.0.clone(), ..spec(&["place"]) }).await;
    let seen = agent.rest().await;
    let path = format!("directory: {}", directory.0.canonicalize().unwrap().display());
    let seen: Vec<_> = seen.iter().map(String::as_str).filter(|line| !line.starts_with("parent: ")).collect();
    assert_eq!(seen, ["own group: true", "own session: true", "terminal: false", &path]);
}

#[tokio::test]
async fn it_is_identified_by_pid_and_start_time() {
    let mut agent = play(&spec(&["cat"])).await;
    assert_eq!(process_start_time(agent.process.pid), Some(agent.process.start_time));
    let supervisor = supervisor_of(agent.process);
    assert_ne!(supervisor.pid, std::process::id());
    drop(agent.stdin.take());
    agent.gone().await;
    assert_eq!(process_start_time(agent.process.pid), None);
    assert_eq!(process_start_time(supervisor.pid), None);
}

#[tokio::test]
async fn secrets_are_not_on_a_command_line() {
    let secret = "do-not-tell";
    let mut agent = play(&ProcessSpec { env: vec![("KEY".into(), secret.into())], ..spec(&["polite"]) }).await;
    agent.announced_process().await;
    let supervisor = supervisor_of(agent.process);
    for file in ["cmdline", "environ"] {
        let seen = fs::read(format!("/proc/{}/{file}", supervisor.pid)).unwrap();
        assert!(!seen.windows(secret.len()).any(|window| window == secret.as_bytes()), "{file}");
        assert!(!seen.is_empty());
    }
}

/// Returns the working directory that the agent reports.
async fn place(agent: &mut FakeAgent) -> PathBuf {
    let lines = agent.rest().await;
    lines.iter().find_map(|line| line.strip_prefix("directory: ")).unwrap().into()
}

#[tokio::test]
async fn another_directory_under_the_same_path_is_refused() {
    let directory = TestDirectory::new();
    let (path, moved) = (directory.0.join("project"), directory.0.join("moved"));
    fs::create_dir(&path).unwrap();
    let checked = WorkingDirectory::open(&path).unwrap();
    let wanted = ProcessSpec { cwd: path.clone(), cwd_identity: Some(checked.identity()), ..spec(&["place"]) };
    let mut agent = FakeAgent::new(try_play(&wanted).await.unwrap());
    assert_eq!(place(&mut agent).await, path.canonicalize().unwrap());
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    let error = try_play(&wanted).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("exchanged"), "{error}");
    // It is the same directory under any path.
    try_play(&ProcessSpec { cwd: moved, ..wanted }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_agent_works_outside_while_the_directory_is_exchanged() {
    let directory = TestDirectory::new();
    let base = directory.0.canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    let (path, hidden, link) = (root.join("project"), root.join("hidden"), root.join("link"));
    fs::create_dir_all(&path).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink(&outside, &link).unwrap();
    let done = AtomicBool::new(false);
    let (mut started, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // The directory, then the link, under the same name.
                fs::rename(&path, &hidden).and_then(|()| fs::rename(&link, &path)).unwrap();
                std::thread::yield_now();
                fs::rename(&path, &link).and_then(|()| fs::rename(&hidden, &path)).unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for attempt in 0..5_000 {
                    if attempt >= 200 && started > 0 && refused > 0 {
                        break;
                    }
                    let Ok(checked) = WorkingDirectory::open_beneath(&path, std::slice::from_ref(&root)) else {
                        refused += 1;
                        continue;
                    };
                    let identity = Some(checked.identity());
                    let spec =
                        ProcessSpec { cwd: checked.path().to_owned(), cwd_identity: identity, ..spec(&["place"]) };
                    match try_play(&spec).await {
                        Ok(running) => {
                            started += 1;
                            let place = place(&mut FakeAgent::new(running)).await;
                            assert!(place.starts_with(&root), "{}", place.display());
                        }
                        Err(LaunchError::Directory { .. }) => refused += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        });
        done.store(true, Ordering::Relaxed);
    });
    assert!(started > 0 && refused > 0, "{started} started, {refused} refused");
}
