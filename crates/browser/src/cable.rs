//! A cable between the browser and the server, which can be pulled out. Chromium's own emulation of a lost network leaves
//! connections alone that are open.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use anyhow::Context as _;

/// A cable. While it is out, connections break and none can be made.
pub struct Cable {
    from: u16,
    to: u16,
    state: Arc<Mutex<State>>,
}

/// What goes through it.
#[derive(Default)]
struct State {
    /// It was put in so many times, or pulled out: whoever waits for connections of another time stops.
    time: u64,
    open: Vec<TcpStream>,
}

impl Cable {
    /// From a port that browsers ask to the port of a server, put in.
    pub fn new(from: u16, to: u16) -> anyhow::Result<Self> {
        let cable = Self { from, to, state: Arc::default() };
        cable.put_in()?;
        Ok(cable)
    }

    /// Connections can be made.
    pub fn put_in(&self) -> anyhow::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", self.from)).context("the port is taken")?;
        let (state, to) = (Arc::clone(&self.state), self.to);
        let time = lock(&state).time;
        thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(browser) = connection else { return };
                if !carry(&state, time, browser, to) {
                    return;
                }
            }
        });
        Ok(())
    }

    /// All connections break, and none can be made.
    pub fn pull_out(&self) {
        let mut state = lock(&self.state);
        state.time += 1;
        for stream in state.open.drain(..) {
            // The other side may have closed it.
            drop(stream.shutdown(Shutdown::Both));
        }
        drop(state);
        // Wakes the one that waits for connections, so that it stops.
        drop(TcpStream::connect(("127.0.0.1", self.from)));
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.pull_out();
    }
}

/// Carries what a connection says in both directions; not if the cable is out.
fn carry(state: &Mutex<State>, time: u64, browser: TcpStream, to: u16) -> bool {
    let mut state = lock(state);
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

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
