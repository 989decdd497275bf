//! Sockets in the file system.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::Path,
};

use axum::{Router, routing::get};
use switchboard_client::http::SocketPath;
use switchboard_serve::{
    Drain,
    guard::{Guard, Rules},
    listen::{Address, Limits, ListenError, Listener, Server},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use crate::door::{PATIENCE, parse, rules};

fn serve(path: &Path, rules: &Rules) -> Server {
    let router = Router::new().route("/api/sessions", get(async || "sessions").post(async || "made"));
    let mut server = Server::new(Limits::default(), Drain::new());
    for listener in Listener::bind(&Address::Unix(path.to_owned())).unwrap() {
        server.listen(listener, Guard::new(rules.clone()).around(router.clone()));
    }
    server
}

async fn ask(path: &Path, line: &str, headers: &str) -> u16 {
    let mut stream = UnixStream::connect(SocketPath::new(path).unwrap().as_path()).await.unwrap();
    let request = format!("{line} HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    parse(&text).status
}

#[tokio::test]
async fn a_socket_is_ours_alone_and_goes_with_us() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    let server = serve(&path, &Rules::default());
    let file = fs::metadata(&path).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    assert_eq!(ask(&path, "GET /api/sessions", "").await, 200);
    assert_eq!(ask(&path, "POST /api/sessions", "Content-Length: 0\r\n").await, 200);
    assert!(server.close(PATIENCE).await);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_token_is_needed_there_too_if_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    let _server = serve(&path, &rules());
    assert_eq!(ask(&path, "GET /api/sessions", "").await, 401);
    let bearer = format!("Authorization: Bearer {}\r\n", crate::door::TOKEN);
    assert_eq!(ask(&path, "GET /api/sessions", &bearer).await, 200);
}

#[tokio::test]
async fn a_socket_that_is_left_over_is_replaced_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let _server = serve(&path, &Rules::default());
    let address = Address::Unix(path.clone());
    assert!(matches!(Listener::bind(&address), Err(ListenError::InUse(_))));
    assert_eq!(ask(&path, "GET /api/sessions", "").await, 200);
    let other = folder.path().join("file");
    fs::write(&other, "mine").unwrap();
    assert!(matches!(Listener::bind(&Address::Unix(other.clone())), Err(ListenError::NotASocket(_))));
    assert_eq!(fs::read_to_string(other).unwrap(), "mine");
}

#[tokio::test]
async fn a_path_may_be_as_long_as_it_likes() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a-folder-with-a-long-name/".repeat(8));
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join("x.sock");
    assert!(path.as_os_str().len() > 200);
    for _ in 0..2 {
        let server = serve(&path, &Rules::default());
        assert_eq!(ask(&path, "GET /api/sessions", "").await, 200);
        assert!(matches!(Listener::bind(&Address::Unix(path.clone())), Err(ListenError::InUse(_))));
        assert!(server.close(PATIENCE).await);
    }
}
