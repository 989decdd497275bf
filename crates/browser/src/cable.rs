//! A TCP proxy between the browser and the server whose connections can be cut. Chromium's own emulation of a lost
//! network leaves open connections alone.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use anyhow::Context as _;
use parking_lot::Mutex;

/// A proxy from one local port to another. While it is disconnected, open connections break and new ones are refused.
pub struct InterruptibleProxy {
    from: u16,
    to: u16,
    state: Arc<Mutex<ProxyConnections>>,
}

/// The open connections of the proxy.
#[derive(Default)]
struct ProxyConnections {
    /// Incremented at every disconnect; an acceptor with an older value stops.
    time: u64,
    open: Vec<TcpStream>,
}

impl InterruptibleProxy {
    /// Listens on `from` and forwards to `to`.
    pub fn new(from: u16, to: u16) -> anyhow::Result<Self> {
        let cable = Self { from, to, state: Arc::default() };
        cable.start_accepting()?;
        Ok(cable)
    }

    pub fn start_accepting(&self) -> anyhow::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", self.from)).context("the port is taken")?;
        let (state, to) = (Arc::clone(&self.state), self.to);
        let time = state.lock().time;
        thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(browser) = connection else { return };
                if !forward_connection(&state, time, browser, to) {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Breaks all connections and refuses new ones.
    pub fn disconnect_all(&self) {
        let mut state = self.state.lock();
        state.time += 1;
        for stream in state.open.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
        drop(state);
        // Wakes the acceptor, so that it stops.
        drop(TcpStream::connect(("127.0.0.1", self.from)));
    }
}

impl Drop for InterruptibleProxy {
    fn drop(&mut self) {
        self.disconnect_all();
    }
}

/// Forwards a connection in both directions. Returns false if the proxy has been disconnected since.
fn forward_connection(state: &Mutex<ProxyConnections>, time: u64, browser: TcpStream, to: u16) -> bool {
    let mut state = state.lock();
    if state.time != time {
        return false;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return true };
    for (from, to) in [(&browser, &server), (&server, &browser)] {
        let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return true };
        thread::spawn(move || {
            drop(io::copy(&mut from, &mut to));
            drop(to.shutdown(Shutdown::Both));
        });
    }
    state.open.extend([browser, server]);
    true
}
