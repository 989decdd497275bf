//! How a server starts, and why it does not.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::rig::Served;
use crate::binary::{command, run};

#[test]
fn a_server_says_where_it_is_and_how_to_get_in() {
    let served = Served::start();
    let link = format!("http://127.0.0.1:{}/?token={}", served.port, served.token);
    assert!(served.greeting.contains(&link), "{}", served.greeting);
    assert!(served.greeting.contains(served.data().to_str().unwrap()));
    assert_eq!(served.ask("GET", "/api/sessions", None), (200, "{\"sessions\":[]}".to_owned()));
    assert_eq!(served.ask("GET", "/api/health", None).0, 200);
}

#[test]
fn the_token_stays_until_a_new_one_is_made() {
    let served = Served::start();
    let (token, folder) = (served.token.clone(), served.stop());
    let served = Served::with(folder, &[]);
    assert_eq!(served.token, token);
    let data = served.data();
    let mode = fs::metadata(data.join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let new = run(&["token", "--new", "--data", data.to_str().unwrap()], b"").ok();
    assert_ne!(new.trim(), token);
    assert_eq!(new.trim().len(), 64);
    assert_eq!(run(&["token", "--data", data.to_str().unwrap()], b"").ok(), new);
}

#[test]
fn a_token_may_be_given_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let token = |value: &str| {
        let mut command = command(&["token", "--data", folder.path().to_str().unwrap()]);
        let output = command.env("SWITCHBOARD_TOKEN", value).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(token("a-token-of-my-own-choice"), (Some(0), "a-token-of-my-own-choice\n".to_owned()));
    assert_eq!(token("short").0, Some(2));
    assert!(!folder.path().join("token").exists());
}

#[test]
fn without_a_token_it_listens_on_this_machine_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let args = ["serve", "--no-auth", "--listen", address, "--data", data.to_str().unwrap()];
        let error = run(&args, b"").fails(2);
        assert!(error.contains("--no-auth") && error.contains("hint"), "{error}");
    }
    assert!(!data.exists());
    let served = Served::with(folder, &["--no-auth"]);
    assert!(!served.greeting.contains("token="), "{}", served.greeting);
}

#[test]
fn an_address_that_is_taken_is_said() {
    let served = Served::start();
    let address = format!("127.0.0.1:{}", served.port);
    let data = served.folder.path().join("other");
    let error = run(&["serve", "--listen", &address, "--data", data.to_str().unwrap()], b"").fails(4);
    assert!(error.contains(&address) && error.contains("another program") && error.contains("hint"), "{error}");
    let other = served.folder.path().join("data/token");
    let path = format!("unix:{}", other.display());
    let error = run(&["serve", "--listen", &path, "--data", data.to_str().unwrap()], b"").fails(4);
    assert!(error.contains("something else"), "{error}");
}

#[test]
fn what_makes_no_sense_is_bad_usage() {
    for args in [
        &["serve", "--listen", "nowhere"][..],
        &["serve", "--root", "/does/not/exist"],
        &["serve", "--allow-origin", "*"],
        &["serve", "--keep", "soon"],
        &["serve", "--token-file", "/does/not/exist"],
    ] {
        run(args, b"").fails(2);
    }
}

#[test]
fn no_more_sessions_run_than_may() {
    let served = Served::with(tempfile::tempdir().unwrap(), &["--max-sessions", "1"]);
    let long = serde_json::json!({ "agentType": "script", "prompt": "sleep 600" });
    let first = served.session(&long);
    let (status, body) = served.ask("POST", "/api/sessions", Some(&long));
    assert!(status == 503 && body.contains("too_many_sessions"), "{status} {body}");
    served.ask("POST", &format!("/api/sessions/{first}/cancel"), None);
    served.events(&first);
    let short = serde_json::json!({ "agentType": "echo", "prompt": "x" });
    // Its place is free a moment after its end is seen.
    while served.ask("POST", "/api/sessions", Some(&short)).0 != 201 {}
}
