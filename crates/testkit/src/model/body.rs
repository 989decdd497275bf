//! The body of an answer: whole, or arriving piece by piece, and able to break off.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc::Receiver;

/// The connection is broken off. Said to no one: it only makes the server drop the connection.
#[derive(Debug)]
pub struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken off by the script")
    }
}

impl std::error::Error for BrokenOff {}

/// What is sent.
pub enum Sent {
    /// All at once.
    Whole(Option<Bytes>),
    /// As it comes.
    Pieces(Receiver<Result<Bytes, BrokenOff>>),
}

impl Body for Sent {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
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
