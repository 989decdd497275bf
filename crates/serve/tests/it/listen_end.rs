//! The end of serving.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::door::{Door, PATIENCE, SHORT, TOKEN, answer};

async fn waiting(door: &Door) -> TcpStream {
    let mut stream = door.connect().await;
    let request = format!("GET /api/wait HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", door.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    door.came.acquire().await.unwrap().forget();
    stream
}

#[tokio::test]
async fn what_is_under_way_is_finished_and_nothing_new_is_taken() {
    let door = Door::open();
    let mut idle = door.connect().await;
    let mut busy = waiting(&door).await;
    let (address, drain, go) = (door.address, door.drain.clone(), door.go.clone());
    let closed = tokio::spawn(door.server.close(PATIENCE));
    timeout(PATIENCE, drain.begun()).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "still accepting");
    let mut rest = Vec::new();
    timeout(PATIENCE, idle.read_to_end(&mut rest)).await.expect("an idle connection is kept").unwrap();
    go.add_permits(1);
    let answer = answer(&mut busy).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "waited"));
    assert!(closed.await.unwrap(), "not all have ended");
}

#[tokio::test]
async fn what_does_not_finish_is_left() {
    let door = Door::open();
    let _busy = waiting(&door).await;
    assert!(!timeout(PATIENCE, door.server.close(SHORT)).await.expect("it waits for ever"));
}

#[tokio::test]
async fn a_websocket_keeps_its_place_until_it_is_closed() {
    let door = Door::open();
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
    assert!(!door.server.idle(SHORT).await, "it was not counted");
    drop(stream);
    assert!(door.server.idle(PATIENCE).await, "it is still counted");
}
