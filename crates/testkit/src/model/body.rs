//! The body of a response: whole or streamed, and able to break off.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc::Receiver;

/// Makes the server drop the connection.
#[derive(Debug)]
pub struct ScriptedDisconnect;

impl std::fmt::Display for ScriptedDisconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken off by the script")
    }
}

impl std::error::Error for ScriptedDisconnect {}

pub enum ModelResponseBody {
    Whole(Option<Bytes>),
    Pieces(Receiver<Result<Bytes, ScriptedDisconnect>>),
}

impl Body for ModelResponseBody {
    type Data = Bytes;
    type Error = ScriptedDisconnect;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ScriptedDisconnect>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => pieces.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(Some(bytes)) => hyper::body::SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(0)),
            Self::Whole(None) => hyper::body::SizeHint::with_exact(0),
            Self::Pieces(_) => hyper::body::SizeHint::default(),
        }
    }
}
