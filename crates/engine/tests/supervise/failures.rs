//! Agents that cannot be started: each has its own error, and leaves nothing.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use switchboard_engine::supervise::{Spec, StartError, start};

use crate::stage::{Folder, confined, marked, spec, try_play};

async fn refused(spec: &Spec) -> StartError {
    let error = try_play(spec).await.unwrap_err();
    assert_eq!(marked(&spec.session), []);
    error
}

fn program(path: impl Into<OsString>) -> Spec {
    Spec { argv: vec![path.into()], ..spec(&[]) }
}

fn script(folder: &Folder, text: &str, mode: u32) -> PathBuf {
    let path = folder.file("switchboard-script");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    for name in ["switchboard-no-such-program", "/no/such/program", "./none"] {
        let error = refused(&program(name)).await;
        assert!(matches!(&error, StartError::NotFound { program } if program == name), "{error:?}");
        assert_eq!(error.to_string(), format!("no program `{name}`"));
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn a_program_is_looked_for_on_the_given_path_and_in_the_given_folder() {
    let folder = Folder::new();
    script(&folder, "#!/bin/sh\nexit 7\n", 0o755);
    let search = vec![("PATH".into(), folder.0.clone().into_os_string())];
    for spec in [
        Spec { env: search, ..program("switchboard-script") },
        Spec { cwd: folder.0.clone(), ..program("./switchboard-script") },
    ] {
        let running = try_play(&spec).await.unwrap();
        assert_eq!(running.control.exit().await.code, Some(7));
    }
    assert!(matches!(refused(&program("switchboard-script")).await, StartError::NotFound { .. }));
}

#[tokio::test]
async fn a_program_that_cannot_run() {
    let folder = Folder::new();
    let forbidden = script(&folder, "#!/bin/sh\n", 0o644);
    let error = refused(&program(forbidden)).await;
    assert!(matches!(error, StartError::NotExecutable { .. }), "{error:?}");
    let error = refused(&program(folder.0.clone())).await;
    assert!(matches!(error, StartError::NotExecutable { .. }), "{error:?}");
    let orphaned = script(&folder, "#!/no/such/interpreter\n", 0o755);
    let error = refused(&program(orphaned)).await.to_string();
    assert!(error.ends_with("the program that its first line names is missing"), "{error}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_entered() {
    let folder = Folder::new();
    for path in [PathBuf::from("/no/such/folder"), folder.file("file")] {
        let error = refused(&Spec { cwd: path.clone(), ..spec(&["exit", "0"]) }).await;
        assert!(matches!(&error, StartError::Directory { path: named, .. } if *named == path), "{error:?}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn arguments_that_are_too_long() {
    let long = "x".repeat(200_000);
    let error = refused(&spec(&["exit", &long])).await;
    assert!(matches!(error, StartError::TooLong { .. }), "{error:?}");
}

#[tokio::test]
async fn what_no_process_can_be_given() {
    for spec in [spec(&["a\0b"]), Spec { argv: Vec::new(), ..spec(&[]) }, Spec { session: String::new(), ..spec(&[]) }]
    {
        let error = try_play(&spec).await.unwrap_err();
        assert!(matches!(error, StartError::Invalid(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_writable_folder_that_is_not_there() {
    let error = refused(&confined(&["exit", "0"], &[Path::new("/no/such/folder")])).await;
    assert!(matches!(error, StartError::Confinement { .. }), "{error:?}");
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[tokio::test]
async fn a_supervisor_that_is_none() {
    for exe in ["/no/such/program", "/bin/true"] {
        let error = start(Path::new(exe), spec(&["exit", "0"])).await.unwrap_err();
        assert!(matches!(error, StartError::Supervisor(_)), "{exe}: {error:?}");
    }
}
