//! The server: it listens, and a test asks it what it heard. It has a thread of its own, so that tests need no runtime.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener as Bound},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::Context as _;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    runtime,
    sync::oneshot,
};

use super::{exchange::Desk, record::Request};

/// For how long a test waits for the model to be asked something.
const PATIENCE: Duration = Duration::from_secs(60);

/// A scripted model that listens. It stops when this is dropped.
pub struct Model {
    address: SocketAddr,
    desk: Arc<Desk>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    /// A model on a free port of loopback.
    pub fn start() -> io::Result<Self> {
        Self::on_port(0)
    }

    /// A model on this port of loopback.
    pub fn on_port(port: u16) -> io::Result<Self> {
        let bound = Bound::bind((Ipv4Addr::LOCALHOST, port))?;
        bound.set_nonblocking(true)?;
        let address = bound.local_addr()?;
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let desk = Arc::new(Desk::default());
        let serving = Arc::clone(&desk);
        let serve = move || {
            runtime.block_on(async {
                tokio::select! { () = listen(bound, serving) => {}, _ = stopped => {} }
            })
        };
        let thread = thread::Builder::new().name("scripted model".to_owned()).spawn(serve)?;
        Ok(Self { address, desk, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens: `http://127.0.0.1:PORT`, the same for all APIs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.desk.book.all()
    }

    /// The requests of conversations, without titles, summaries and the like.
    #[must_use]
    pub fn conversation(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_conversation).collect()
    }

    /// Waits until there is a request that is as it should be. Fails after a minute, saying `what` never came.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&Request) -> bool) -> anyhow::Result<Request> {
        self.desk.book.wait(PATIENCE, wanted).with_context(|| format!("the model never saw {what}"))
    }

    /// Request number `count` (from 0), as soon as it is there; nothing if that takes a minute.
    #[must_use]
    pub fn next(&self, count: usize) -> Option<Request> {
        self.desk.book.nth(PATIENCE, count)
    }

    /// Lets an answer go on that waits at `[[hold]]`, now or later. One call, one hold.
    pub fn release(&self) {
        self.desk.gates.add_permits(1);
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn listen(bound: Bound, desk: Arc<Desk>) {
    let Ok(listener) = TcpListener::from_std(bound) else { return };
    loop {
        if let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, Arc::clone(&desk)));
        }
    }
}

/// One connection. How it ends is the client's business, or the script's.
async fn serve(socket: TcpStream, desk: Arc<Desk>) {
    drop(socket.set_nodelay(true));
    let answer = service_fn(|request| desk.answer(request));
    drop(http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await);
}
