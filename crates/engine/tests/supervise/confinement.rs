//! Where confined agents can write: where they may, whatever they try.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
};

use seccompiler::{SeccompAction, SeccompFilter, apply_filter};
use switchboard_engine::supervise::{Confinement, SandboxFeature, Spec, StartError, probe};

use crate::stage::{FAKE, Folder, confined, play, spec, try_play};

/// Ways to change what is in a folder. It has a file `old`, an empty folder `empty` and nothing else.
fn attempts(folder: &Path, outside: &Path) -> Vec<String> {
    let (inner, outer) = (|name: &str| folder.join(name).display().to_string(), outside.display());
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

/// A folder to be changed.
fn workspace(within: &Folder, name: &str) -> PathBuf {
    let folder = within.folder(name);
    fs::write(folder.join("old"), "something").unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    folder
}

/// What is in a folder, with what is inside.
fn content(folder: &Path) -> Vec<(PathBuf, Option<String>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut entries: Vec<_> = entries.map(|path| (path.clone(), fs::read_to_string(path).ok())).collect();
    entries.sort();
    entries
}

/// What came of the attempts.
async fn outcomes(attempts: &[String], writable: &[&Path]) -> Vec<String> {
    let role: Vec<_> = ["writes"].into_iter().chain(attempts.iter().map(String::as_str)).collect();
    let mut agent = play(&confined(&role, writable)).await;
    let lines = agent.rest().await;
    assert_eq!(lines.len(), attempts.len());
    lines.iter().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn all_attempts_succeed_without_confinement() {
    let folder = Folder::new();
    let workspace = workspace(&folder, "workspace");
    let attempts = attempts(&workspace, &folder.0);
    let role: Vec<_> = ["writes"].into_iter().chain(attempts.iter().map(String::as_str)).collect();
    let lines = play(&spec(&role)).await.rest().await;
    assert!(lines.iter().all(|line| line.ends_with(" done")), "{lines:?}");
}

#[tokio::test]
async fn nothing_changes_where_an_agent_may_not_write() {
    let folder = Folder::new();
    let (workspace, private) = (workspace(&folder, "workspace"), workspace(&folder, "private"));
    let before = content(&workspace);
    // Also not by way of a folder where it may.
    let old = |folder: &Path| folder.join("old").display().to_string();
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
        // A link to elsewhere may be made, and leads to nothing.
        assert_eq!(
            outcome == "done",
            attempt.starts_with("symlink:") && attempt.ends_with("/way"),
            "{attempt}: {outcome}"
        );
    }
    assert_eq!(content(&workspace), before);
    // It is refused, and not only because something before it was.
    let denied = |outcome: &&String| *outcome == "ReadOnlyFilesystem" || *outcome == "CrossesDevices";
    assert!(outcomes.iter().take(refused).filter(denied).count() >= refused - 1, "{outcomes:?}");
}

#[tokio::test]
async fn everything_can_change_where_an_agent_may_write() {
    let folder = Folder::new();
    let (workspace, sibling) = (workspace(&folder, "workspace"), workspace(&folder, "sibling"));
    let outcomes = outcomes(&attempts(&workspace, &sibling), &[&workspace]).await;
    assert!(outcomes.iter().all(|outcome| outcome == "done"), "{outcomes:?}");
}

#[tokio::test]
async fn a_workspace_in_the_temp_folder_opens_nothing_beside_it() {
    let folder = Folder::new();
    let (workspace, sibling) = (workspace(&folder, "workspace"), workspace(&folder, "sibling"));
    let before = content(&sibling);
    let mut tries = attempts(&sibling, &workspace);
    tries.push(format!("create:{}", std::env::temp_dir().join(crate::stage::session()).display()));
    let outcomes = outcomes(&tries, &[&workspace]).await;
    assert!(outcomes.iter().all(|outcome| outcome != "done"), "{outcomes:?}");
    assert_eq!(content(&sibling), before);
}

#[tokio::test]
async fn what_the_agent_starts_is_confined_too() {
    let folder = Folder::new();
    let attempt = format!("create:{}", folder.0.join("new").display());
    let mut agent = play(&confined(&["parent-of", "parent-of", "writes", &attempt], &[])).await;
    let mut lines = vec![agent.line().await.unwrap(), agent.line().await.unwrap(), agent.line().await.unwrap()];
    lines.retain(|line| line.starts_with("create:"));
    assert_eq!(lines, [format!("{attempt} ReadOnlyFilesystem")]);
}

#[tokio::test]
async fn all_is_read_and_devices_and_single_files_are_written() {
    let folder = Folder::new();
    let (own, other) = (folder.file("own"), folder.file("other"));
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
        let confine = Some(Confinement { best_effort, ..Confinement::default() });
        let running = try_play(&Spec { confine, ..spec(&["exit", "0"]) }).await.unwrap();
        let mut report = running.sandbox.unwrap();
        report.enforced.sort();
        assert_eq!((report.enforced.as_slice(), report.missing.as_slice()), (SandboxFeature::ALL, [].as_slice()));
    }
    assert_eq!(probe(Path::new(FAKE)).await.unwrap().missing, []);
}

/// Makes the kernel deny, for this thread and all that it starts, that it knows Landlock.
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
    let missing = probe(Path::new(FAKE)).await.unwrap().missing;
    assert!(missing.iter().any(|(feature, _)| *feature == SandboxFeature::LandlockFiles), "{missing:?}");
    let error = try_play(&confined(&["exit", "0"], &[])).await.unwrap_err();
    assert!(matches!(error, StartError::Confinement { .. }), "{error:?}");
    assert!(error.to_string().ends_with("this kernel has no Landlock, or it is not enabled"), "{error}");
    assert!(error.hint().unwrap().contains("--sandbox-best-effort"));
    let folder = Folder::new();
    let attempt = format!("create:{}", folder.0.join("new").display());
    let confine = Some(Confinement { best_effort: true, ..Confinement::default() });
    let mut agent = play(&Spec { confine, ..spec(&["writes", &attempt]) }).await;
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
