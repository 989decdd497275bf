//! A server with TLS: its certificate, bad ones, and a new one while it runs.

use std::{fs, path::Path};

use rustix::process::Signal;
use switchboard_testkit::certificates::TestAuthority;
use tempfile::TempDir;

use super::ServeProcess;
use crate::binary;

/// A directory with a certificate for this machine, and the authority that issued it as `ca.pem`.
fn directory_with_certificate() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    issue(folder.path());
    folder
}

fn issue(folder: &Path) {
    let authority = TestAuthority::new().unwrap();
    authority.write(&folder.join("ca.pem")).unwrap();
    authority.issue(&["127.0.0.1"], folder).unwrap();
}

/// Lists sessions over TLS, as a client that trusts the authority in a file.
fn list_sessions(served: &ServeProcess, ca_file: &Path) -> binary::ProgramOutput {
    let url = format!("https://127.0.0.1:{}/?token={}", served.port, served.token);
    binary::run(&["sessions", "list", "--server", &url, "--ca-file", ca_file.to_str().unwrap()], b"")
}

#[test]
fn the_certificate_is_replaced_without_a_restart() {
    let folder = directory_with_certificate();
    let mut served = ServeProcess::with(folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    assert!(served.greeting.contains(&format!("https://127.0.0.1:{}", served.port)), "{}", served.greeting);
    assert!(!served.greeting.contains("http://") && !served.greeting.contains("no TLS"), "{}", served.greeting);
    let at = served.folder.path().to_owned();
    fs::copy(at.join("ca.pem"), at.join("first-ca.pem")).unwrap();
    assert_eq!(list_sessions(&served, &at.join("first-ca.pem")).code, Some(0));
    issue(&at);
    served.signal(Signal::HUP);
    served.wait_for("the TLS certificate was read again");
    let refused = list_sessions(&served, &at.join("first-ca.pem")).fails(4);
    assert!(refused.contains("is not accepted"), "{refused}");
    assert_eq!(list_sessions(&served, &at.join("ca.pem")).code, Some(0));
    fs::write(at.join("key.pem"), "").unwrap();
    served.signal(Signal::HUP);
    served.wait_for("no private key in");
    served.wait_for("the previous TLS certificate stays in use");
    assert_eq!(list_sessions(&served, &at.join("ca.pem")).code, Some(0));
    served.stop();
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_before_the_start() {
    let folder = directory_with_certificate();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, certificate, key) = (path("data"), path("cert.pem"), path("key.pem"));
    let serve = |more: &[&str]| {
        let args = [&["serve", "--listen", "127.0.0.1:0", "--data", &data], more].concat();
        binary::run(&args, b"").fails(2)
    };
    let with = |certificate: &str, key: &str| serve(&["--tls-cert", certificate, "--tls-key", key]);
    fs::write(path("empty.pem"), "").unwrap();
    let others = folder.path().join("others");
    fs::create_dir(&others).unwrap();
    issue(&others);
    for (certificate, key, expected) in [
        (path("none.pem"), key.clone(), "none.pem: No such file or directory"),
        (path("others"), key.clone(), "others: Is a directory"),
        (path("empty.pem"), key.clone(), "no certificate in"),
        (certificate.clone(), path("empty.pem"), "no private key in"),
        (certificate.clone(), certificate.clone(), "no private key in"),
        (certificate.clone(), path("others/key.pem"), "does not belong to the certificate"),
    ] {
        let told = with(&certificate, &key);
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(serve(&["--tls-cert", &certificate]).contains("--tls-key"));
    assert!(serve(&["--tls-key", &key]).contains("--tls-cert"));
    let socket = format!("unix:{}", path("x.sock"));
    let args = ["serve", "--listen", &socket, "--data", &data, "--tls-cert", &certificate, "--tls-key", &key];
    assert!(binary::run(&args, b"").fails(2).contains("only Unix sockets"));
}
