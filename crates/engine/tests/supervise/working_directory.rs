//! An agent starts in the directory that was checked, or not at all.

use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use switchboard_engine::{
    paths::WorkingDirectory,
    supervise::{Spec, StartError},
};

use crate::stage::{Agent, Folder, spec, try_play};

/// The directory that it finds itself in.
async fn place(agent: &mut Agent) -> PathBuf {
    let lines = agent.rest().await;
    lines.iter().find_map(|line| line.strip_prefix("folder: ")).unwrap().into()
}

#[tokio::test]
async fn another_directory_under_the_same_path_is_refused() {
    let folder = Folder::new();
    let (path, moved) = (folder.0.join("project"), folder.0.join("moved"));
    fs::create_dir(&path).unwrap();
    let checked = WorkingDirectory::open(&path).unwrap();
    let wanted = Spec { cwd: path.clone(), cwd_identity: Some(checked.identity()), ..spec(&["place"]) };
    let mut agent = Agent::new(try_play(&wanted).await.unwrap());
    assert_eq!(place(&mut agent).await, path.canonicalize().unwrap());
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    let error = try_play(&wanted).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("exchanged"), "{error}");
    // By whichever path, it is the same directory.
    try_play(&Spec { cwd: moved, ..wanted }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_agent_works_outside_while_the_directory_is_exchanged() {
    let folder = Folder::new();
    let base = folder.0.canonicalize().unwrap();
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
                    let spec = Spec { cwd: checked.path().to_owned(), cwd_identity: identity, ..spec(&["place"]) };
                    match try_play(&spec).await {
                        Ok(running) => {
                            started += 1;
                            let place = place(&mut Agent::new(running)).await;
                            assert!(place.starts_with(&root), "{}", place.display());
                        }
                        Err(StartError::Directory { .. }) => refused += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        });
        done.store(true, Ordering::Relaxed);
    });
    assert!(started > 0 && refused > 0, "{started} started, {refused} refused");
}
