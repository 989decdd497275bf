//! The socket of one connection. It fails when the client does not read for too long. It holds the slot of the
//! connection, also after an upgrade to a WebSocket.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
    time::{Sleep, sleep},
};
use tokio_rustls::server::TlsStream;

pub enum SocketStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub struct ClientStream<S> {
    stream: SocketStream,
    write_timeout: Duration,
    /// Runs while nothing can be written.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Held until the connection ends, also after an upgrade.
    _slot: S,
}

impl<S> ClientStream<S> {
    pub fn new(stream: SocketStream, write_timeout: Duration, slot: S) -> Self {
        Self { stream, write_timeout, stalled: None, _slot: slot }
    }

    /// Passes on the result of a write, and fails when writes have been blocked for too long.
    fn check_write<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let write_timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            SocketStream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            SocketStream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            SocketStream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl<S: Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.stream {
            SocketStream::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            SocketStream::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            SocketStream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.check_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.stream {
            SocketStream::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            SocketStream::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            SocketStream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        self.check_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Only TLS has a buffer.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let SocketStream::Tls(stream) = &mut self.stream else { return Poll::Ready(Ok(())) };
        let flushed = Pin::new(stream).poll_flush(cx);
        self.check_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            SocketStream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            SocketStream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            SocketStream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
