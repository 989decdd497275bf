//! The harness over WebSocket: a message a frame. The client going decides nothing: its sessions go on, what nobody
//! answers is declined in time, and what nobody uses ends.

use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket},
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::time::{sleep, timeout};

use super::{Connection, Lines, Purpose};
use crate::{
    Drain, Service,
    ws::{GOOD_BYE, PINGS, QUIET},
};

/// Serves a client until it goes, or the server does.
pub async fn serve(socket: WebSocket, service: Service, purpose: Purpose) {
    let drain = service.drain().clone();
    let (connection, mut lines) = Connection::new(service, purpose);
    let (mut sink, mut stream) = socket.split();
    let ends = tokio::select! {
        () = tell(&mut sink, &mut lines) => false,
        () = listen(&mut stream, &connection) => false,
        () = drain.begun() => true,
    };
    drop(lines);
    let good_bye = async {
        if !ends {
            // The answer to its own good-bye goes out.
            return drop(sink.close().await);
        }
        let frame = CloseFrame { code: 1001, reason: Utf8Bytes::from_static(Drain::REASON) };
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            // To hang up with something unread would take back what the client has not read yet.
            while let Some(Ok(_)) = stream.next().await {}
        }
    };
    // Whoever does not answer is left.
    timeout(GOOD_BYE, good_bye).await.ok();
}

/// Tells the client what is said to it, until it is gone.
async fn tell(sink: &mut SplitSink<WebSocket, Message>, lines: &mut Lines) {
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = sleep(QUIET) => {
                match sink.send(Message::Ping(Bytes::new())).await {
                    Ok(()) => continue,
                    Err(_) => return,
                }
            }
        };
        let Some(mut line) = line else { return };
        loop {
            // All that we write is UTF-8.
            let text = Utf8Bytes::try_from(line.json.clone()).unwrap_or_default();
            if sink.feed(Message::Text(text)).await.is_err() {
                return;
            }
            let Some(next) = lines.ready() else { break };
            line = next;
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
}

/// Hears the client, until it goes.
async fn listen(stream: &mut SplitStream<WebSocket>, connection: &Connection) {
    let mut pings = 0;
    while let Some(Ok(message)) = stream.next().await {
        match &message {
            Message::Text(text) => connection.hear(text.as_bytes()).await,
            Message::Binary(bytes) => connection.hear(bytes).await,
            // Each is answered, and the answers to one who does not read would pile up.
            Message::Ping(_) if pings > PINGS => return,
            Message::Ping(_) => pings += 1,
            Message::Pong(_) => {}
            Message::Close(_) => return,
        }
    }
}
