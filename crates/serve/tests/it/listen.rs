//! Connections: their limits, their end, and Unix sockets.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::Path,
    time::Duration,
};

use axum::{Router, routing::get};
use switchboard_client::http::SocketPath;
use switchboard_serve::{
    Drain,
    guard::{Guard, GuardConfig},
    listen::{ConnectionLimits, HttpServer, ListenAddress, ListenError, Listener},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::guarded_server::{GuardedServer, SHORT_TIMEOUT, TEST_TIMEOUT, TOKEN, answer, parse, rules};

#[tokio::test]
async fn who_does_not_say_what_it_wants_is_cut_off() {
    let door =
        GuardedServer::with(rules(), ConnectionLimits { header_timeout: SHORT_TIMEOUT, ..ConnectionLimits::default() });
    for begin in ["", "GET /api/health HTTP/1.1\r\nHost: ", "GET /api/hea"] {
        let mut stream = door.connect().await;
        stream.write_all(begin.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // Waits for the end of the connection.
        timeout(TEST_TIMEOUT, stream.read_to_end(&mut rest)).await.expect("never cut off").ok();
    }
    assert_eq!(door.head("GET /api/health", &[]).await.status, 200);
}

#[tokio::test]
async fn a_connection_that_is_kept_is_not_kept_for_ever() {
    let door =
        GuardedServer::with(rules(), ConnectionLimits { header_timeout: SHORT_TIMEOUT, ..ConnectionLimits::default() });
    let mut stream = door.connect().await;
    let request = format!("GET /api/health HTTP/1.1\r\nHost: {}\r\n\r\n", door.address);
    stream.write_all(request.repeat(2).as_bytes()).await.unwrap();
    let mut text = String::new();
    timeout(TEST_TIMEOUT, stream.read_to_string(&mut text)).await.expect("never closed").unwrap();
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2);
}

#[tokio::test]
async fn who_comes_when_it_is_full_is_told_so() {
    let door = GuardedServer::with(rules(), ConnectionLimits { max_connections: 2, ..ConnectionLimits::default() });
    let (one, two) = (authenticated(&door).await, authenticated(&door).await);
    let told = door.head("GET /api/health", &[]).await;
    assert_eq!((told.status, told.code().as_str()), (503, "too_many_connections"));
    assert!(told.head.contains("retry-after: 1"));
    drop((one, two));
    // The server notices with a delay that they have disconnected.
    let served = async {
        while door.head("GET /api/health", &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(TEST_TIMEOUT, served).await.expect("no place became free");
}

/// Opens an authenticated connection that is kept alive.
async fn authenticated(door: &GuardedServer) -> TcpStream {
    let mut stream = door.connect().await;
    let request =
        format!("HEAD /api/sessions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", door.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
async fn connections_without_the_token_make_room_for_new_ones() {
    let door = GuardedServer::with(rules(), ConnectionLimits { max_connections: 3, ..ConnectionLimits::default() });
    let mut user = authenticated(&door).await;
    let mut flood = Vec::new();
    for _ in 0..50 {
        flood.push(door.connect().await);
    }
    drop(authenticated(&door).await);
    let mut rest = Vec::new();
    timeout(TEST_TIMEOUT, flood[0].read_to_end(&mut rest)).await.expect("the oldest was not closed").ok();
    let request = format!(
        "GET /api/sessions HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
        door.address
    );
    user.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(TEST_TIMEOUT, user.read_to_string(&mut answer))
        .await
        .expect("the client with the token is not served")
        .unwrap();
    assert!(answer.contains("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn who_does_not_read_loses_its_place() {
    let door = GuardedServer::with(
        rules(),
        ConnectionLimits { max_connections: 1, write_timeout: SHORT_TIMEOUT, ..ConnectionLimits::default() },
    );
    let mut stream = door.connect().await;
    let request = format!("GET /api/much HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", door.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let served = async {
        while door.head("GET /api/health", &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(TEST_TIMEOUT, served).await.expect("it kept its place");
    let mut rest = Vec::new();
    timeout(TEST_TIMEOUT, stream.read_to_end(&mut rest)).await.expect("never cut off").ok();
    assert!(rest.len() < 64 << 20, "all of it came");
}

#[tokio::test]
async fn who_reads_slowly_gets_all_of_it() {
    let door = GuardedServer::with(
        rules(),
        ConnectionLimits { write_timeout: 20 * SHORT_TIMEOUT, ..ConnectionLimits::default() },
    );
    let mut stream = door.connect().await;
    let request = format!(
        "GET /api/much HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
        door.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut count, mut chunk) = (0, vec![0; 4 << 20]);
    loop {
        match timeout(TEST_TIMEOUT, stream.read(&mut chunk)).await.expect("it stopped").unwrap() {
            0 => break,
            length => count += length,
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(count > 64 << 20, "{count}");
}

async fn waiting(door: &GuardedServer) -> TcpStream {
    let mut stream = door.connect().await;
    let request = format!("GET /api/wait HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", door.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    door.came.acquire().await.unwrap().forget();
    stream
}

#[tokio::test]
async fn what_is_under_way_is_finished_and_nothing_new_is_taken() {
    let door = GuardedServer::open();
    let mut idle = door.connect().await;
    let mut busy = waiting(&door).await;
    let (address, drain, go) = (door.address, door.drain.clone(), door.go.clone());
    let closed = tokio::spawn(door.server.close(TEST_TIMEOUT));
    timeout(TEST_TIMEOUT, drain.wait_until_begun()).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "still accepting");
    let mut rest = Vec::new();
    timeout(TEST_TIMEOUT, idle.read_to_end(&mut rest)).await.expect("an idle connection is kept").unwrap();
    go.add_permits(1);
    let answer = answer(&mut busy).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "waited"));
    assert!(closed.await.unwrap(), "not all have ended");
}

#[tokio::test]
async fn what_does_not_finish_is_left() {
    let door = GuardedServer::open();
    let _busy = waiting(&door).await;
    assert!(!timeout(TEST_TIMEOUT, door.server.close(SHORT_TIMEOUT)).await.expect("it waits for ever"));
}

#[tokio::test]
async fn a_websocket_keeps_its_place_until_it_is_closed() {
    let door = GuardedServer::open();
    let mut stream = door.connect().await;
    let request = format!(
        "GET /ws/x?token={TOKEN} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        door.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 101");
    assert!(!door.server.wait_until_idle(SHORT_TIMEOUT).await, "it was not counted");
    drop(stream);
    assert!(door.server.wait_until_idle(TEST_TIMEOUT).await, "it is still counted");
}

fn serve(path: &Path, rules: &GuardConfig) -> HttpServer {
    let router = Router::new().route("/api/sessions", get(async || "sessions").post(async || "made"));
    let mut server = HttpServer::new(ConnectionLimits::default(), Drain::new());
    for listener in Listener::bind(&ListenAddress::Unix(path.to_owned())).unwrap() {
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
    let server = serve(&path, &GuardConfig::default());
    let file = fs::metadata(&path).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    assert_eq!(ask(&path, "GET /api/sessions", "").await, 200);
    assert_eq!(ask(&path, "POST /api/sessions", "Content-Length: 0\r\n").await, 200);
    assert!(server.close(TEST_TIMEOUT).await);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_token_is_needed_there_too_if_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    let _server = serve(&path, &rules());
    assert_eq!(ask(&path, "GET /api/sessions", "").await, 401);
    let bearer = format!("Authorization: Bearer {}\r\n", TOKEN);
    assert_eq!(ask(&path, "GET /api/sessions", &bearer).await, 200);
}

#[tokio::test]
async fn a_socket_that_is_left_over_is_replaced_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let _server = serve(&path, &GuardConfig::default());
    let address = ListenAddress::Unix(path.clone());
    assert!(matches!(Listener::bind(&address), Err(ListenError::InUse(_))));
    assert_eq!(ask(&path, "GET /api/sessions", "").await, 200);
    let other = folder.path().join("file");
    fs::write(&other, "mine").unwrap();
    assert!(matches!(Listener::bind(&ListenAddress::Unix(other.clone())), Err(ListenError::NotASocket(_))));
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
        let server = serve(&path, &GuardConfig::default());
        assert_eq!(ask(&path, "GET /api/sessions", "").await, 200);
        assert!(matches!(Listener::bind(&ListenAddress::Unix(path.clone())), Err(ListenError::InUse(_))));
        assert!(server.close(TEST_TIMEOUT).await);
    }
}
