//! Confined agents can write only to allowed paths, whatever they try.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
};

use seccompiler::{SeccompAction, SeccompFilter, apply_filter};
use switchboard_engine::supervise::{
    Confinement, IsolatedNetwork, LaunchError, ProcessSpec, SandboxFeature, probe_sandbox,
};

use crate::fixtures::{FAKE_AGENT, TestDirectory, confined, play, spec, try_play};

/// Returns attempts to change the content of a directory. It has a file `old`, an empty directory `empty` and nothing
/// else.
fn attempts(directory: &Path, outside: &Path) -> Vec<String> {
    let (inner, outer) = (|name: &str| directory.join(name).display().to_string(), outside.display());
    let (old, new) = (inner("old"), inner("new"));
    vec![
        format!("create:{new}"),
        format!("append:{old}"),
        format!("write:{old}"),
        format!("truncate:{old}"),
        format!("mkdir:{}", inner("made")),
        format!("socket:{}", inner("socket")),
        format!("symlink:{outer}:{}", inner("symlink")),
        format!("link:{old}:{}", inner("linked")),
        format!("rename:{old}:{}", inner("empty/renamed")),
        format!("rename:{}:{old}", inner("empty/renamed")),
        format!("unlink:{old}"),
        format!("rmdir:{}", inner("empty")),
    ]
}

/// Creates a directory to change.
fn workspace(within: &TestDirectory, name: &str) -> PathBuf {
    let directory = within.directory(name);
    fs::write(directory.join("old"), "something").unwrap();
    fs::create_dir(directory.join("empty")).unwrap();
    directory
}

fn content(directory: &Path) -> Vec<(PathBuf, Option<String>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut entries: Vec<_> = entries.map(|path| (path.clone(), fs::read_to_string(path).ok())).collect();
    entries.sort();
    entries
}

/// Returns the results of the attempts.
async fn outcomes(attempts: &[String], writable: &[&Path]) -> Vec<String> {
    let role: Vec<_> = ["writes"].into_iter().chain(attempts.iter().map(String::as_str)).collect();
    let mut agent = play(&confined(&role, writable)).await;
    let lines = agent.rest().await;
    assert_eq!(lines.len(), attempts.len());
    lines.iter().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn all_attempts_succeed_without_confinement() {
    let directory = TestDirectory::new();
    let workspace = workspace(&directory, "workspace");
    let attempts = attempts(&workspace, &directory.0);
    let role: Vec<_> = ["writes"].into_iter().chain(attempts.iter().map(String::as_str)).collect();
    let lines = play(&spec(&role)).await.rest().await;
    assert!(lines.iter().all(|line| line.ends_with(" done")), "{lines:?}");
}

#[tokio::test]
async fn nothing_changes_outside_of_writable_directories() {
    let directory = TestDirectory::new();
    let (workspace, private) = (workspace(&directory, "workspace"), workspace(&directory, "private"));
    let before = content(&workspace);
    // Not even by way of a writable directory.
    let old = |directory: &Path| directory.join("old").display().to_string();
    let mut tries = attempts(&workspace, &private);
    let refused = tries.len();
    tries.extend([
        format!("rename:{}:{}", old(&private), workspace.join("in").display()),
        format!("rename:{}:{}", old(&workspace), private.join("out").display()),
        format!("link:{}:{}", old(&private), workspace.join("in").display()),
        format!("link:{}:{}", old(&workspace), private.join("out").display()),
        format!("symlink:{}:{}", old(&workspace), private.join("way").display()),
        format!("append:{}", private.join("way").display()),
        format!("truncate:{}", private.join("way").display()),
    ]);
    let outcomes = outcomes(&tries, &[&private]).await;
    for (attempt, outcome) in tries.iter().zip(&outcomes) {
        // A link to elsewhere can be created, but gives no access.
        assert_eq!(
            outcome == "done",
            attempt.starts_with("symlink:") && attempt.ends_with("/way"),
            "{attempt}: {outcome}"
        );
    }
    assert_eq!(content(&workspace), before);
    // Each is refused for itself, not only because an earlier one was.
    let denied = |outcome: &&String| *outcome == "ReadOnlyFilesystem" || *outcome == "CrossesDevices";
    assert!(outcomes.iter().take(refused).filter(denied).count() >= refused - 1, "{outcomes:?}");
}

#[tokio::test]
async fn everything_can_change_in_writable_directories() {
    let directory = TestDirectory::new();
    let (workspace, sibling) = (workspace(&directory, "workspace"), workspace(&directory, "sibling"));
    let outcomes = outcomes(&attempts(&workspace, &sibling), &[&workspace]).await;
    assert!(outcomes.iter().all(|outcome| outcome == "done"), "{outcomes:?}");
}

#[tokio::test]
async fn a_workspace_in_the_temporary_directory_permits_nothing_next_to_it() {
    let directory = TestDirectory::new();
    let (workspace, sibling) = (workspace(&directory, "workspace"), workspace(&directory, "sibling"));
    let before = content(&sibling);
    let mut tries = attempts(&sibling, &workspace);
    tries.push(format!("create:{}", std::env::temp_dir().join(crate::fixtures::session()).display()));
    let outcomes = outcomes(&tries, &[&workspace]).await;
    assert!(outcomes.iter().all(|outcome| outcome != "done"), "{outcomes:?}");
    assert_eq!(content(&sibling), before);
}

#[tokio::test]
async fn descendants_are_confined_too() {
    let directory = TestDirectory::new();
    let attempt = format!("create:{}", directory.0.join("new").display());
    let mut agent = play(&confined(&["parent-of", "parent-of", "writes", &attempt], &[])).await;
    let mut lines = vec![agent.line().await.unwrap(), agent.line().await.unwrap(), agent.line().await.unwrap()];
    lines.retain(|line| line.starts_with("create:"));
    assert_eq!(lines, [format!("{attempt} ReadOnlyFilesystem")]);
}

#[tokio::test]
async fn everything_can_be_read_and_devices_and_single_files_written() {
    let directory = TestDirectory::new();
    let (own, other) = (directory.file("own"), directory.file("other"));
    let tries = [
        format!("read:{}", other.display()),
        "list:/".to_owned(),
        "write:/dev/null".to_owned(),
        "append:/dev/null".to_owned(),
        "write:/proc/self/fd/1".to_owned(),
        format!("append:{}", own.display()),
        format!("append:{}", other.display()),
    ];
    let outcomes = outcomes(&tries, &[&own]).await;
    assert_eq!(outcomes, ["done", "done", "done", "done", "done", "done", "ReadOnlyFilesystem"]);
}

#[tokio::test]
async fn the_features_in_force_are_reported() {
    let running = try_play(&spec(&["exit", "0"])).await.unwrap();
    assert_eq!(running.sandbox, None);
    for best_effort in [false, true] {
        let network = Some(IsolatedNetwork::default());
        let confinement = Some(Confinement { best_effort, network, ..Confinement::default() });
        let running = try_play(&ProcessSpec { confinement, ..spec(&["exit", "0"]) }).await.unwrap();
        let mut report = running.sandbox.unwrap();
        report.enforced.sort();
        assert_eq!((report.enforced.as_slice(), report.missing.as_slice()), (SandboxFeature::ALL, [].as_slice()));
    }
    assert_eq!(probe_sandbox(Path::new(FAKE_AGENT)).await.unwrap().missing, []);
}

/// Hides Landlock from this thread and all its children.
fn forget_landlock() {
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    const NOT_IMPLEMENTED: u32 = 38;
    let rules = BTreeMap::from([(LANDLOCK_CREATE_RULESET, Vec::new())]);
    let missing = SeccompAction::Errno(NOT_IMPLEMENTED);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, arch).unwrap();
    let filter: seccompiler::BpfProgram = filter.try_into().unwrap();
    apply_filter(&filter).unwrap();
}

async fn without_landlock() {
    let missing = probe_sandbox(Path::new(FAKE_AGENT)).await.unwrap().missing;
    assert!(missing.iter().any(|(feature, _)| *feature == SandboxFeature::LandlockFiles), "{missing:?}");
    let error = try_play(&confined(&["exit", "0"], &[])).await.unwrap_err();
    assert!(matches!(error, LaunchError::Confinement { .. }), "{error:?}");
    assert!(error.to_string().ends_with("this kernel has no Landlock, or it is not enabled"), "{error}");
    assert!(error.hint().unwrap().contains("--sandbox-best-effort"));
    let directory = TestDirectory::new();
    let attempt = format!("create:{}", directory.0.join("new").display());
    let confinement = Some(Confinement { best_effort: true, ..Confinement::default() });
    let mut agent = play(&ProcessSpec { confinement, ..spec(&["writes", &attempt]) }).await;
    assert_eq!(agent.rest().await, [format!("{attempt} ReadOnlyFilesystem")], "the mounts still hold");
}

#[test]
fn a_kernel_without_landlock_refuses_unless_best_effort_is_enough() {
    let apart = thread::spawn(|| {
        forget_landlock();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(without_landlock());
    });
    apart.join().unwrap();
}
