//! The server of the scripted model. It has its own thread, so that tests need no runtime.

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

use super::{exchange::ModelService, request_log::RecordedModelRequest};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A running scripted model. It stops on drop.
pub struct ScriptedModel {
    address: SocketAddr,
    desk: Arc<ModelService>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts on a free port of loopback.
    pub fn start() -> io::Result<Self> {
        Self::start_on_port(0)
    }

    /// Starts on a port of loopback.
    pub fn start_on_port(port: u16) -> io::Result<Self> {
        Self::start_on((Ipv4Addr::LOCALHOST, port).into())
    }

    /// Starts at an address; port 0 selects a free one.
    pub fn start_on(address: SocketAddr) -> io::Result<Self> {
        let bound = Bound::bind(address)?;
        bound.set_nonblocking(true)?;
        let address = bound.local_addr()?;
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let desk = Arc::new(ModelService::default());
        let serving = Arc::clone(&desk);
        let serve = move || {
            runtime.block_on(async {
                tokio::select! { () = accept_connections(bound, serving) => {}, _ = stopped => {} }
            })
        };
        let thread = thread::Builder::new().name("scripted model".to_owned()).spawn(serve)?;
        Ok(Self { address, desk, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the base URL of all APIs, such as `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[must_use]
    pub fn all_requests(&self) -> Vec<RecordedModelRequest> {
        self.desk.book.all_requests()
    }

    /// Returns the requests of the conversation, without titles, summaries and the like.
    #[must_use]
    pub fn conversation_requests(&self) -> Vec<RecordedModelRequest> {
        self.all_requests().into_iter().filter(RecordedModelRequest::is_conversation).collect()
    }

    /// Waits for a matching request. Fails after a minute with `what` in the message.
    pub fn wait_for_request(
        &self,
        what: &str,
        wanted: impl Fn(&RecordedModelRequest) -> bool,
    ) -> anyhow::Result<RecordedModelRequest> {
        self.desk.book.wait_for_request(REQUEST_TIMEOUT, wanted).with_context(|| format!("the model never saw {what}"))
    }

    /// Waits for request number `count`, from 0; `None` after a minute.
    #[must_use]
    pub fn wait_for_nth(&self, count: usize) -> Option<RecordedModelRequest> {
        self.desk.book.wait_for_nth(REQUEST_TIMEOUT, count)
    }

    /// Releases one answer that waits at `[[hold]]`, now or later.
    pub fn release_hold(&self) {
        self.desk.gates.add_permits(1);
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn accept_connections(bound: Bound, desk: Arc<ModelService>) {
    let Ok(listener) = TcpListener::from_std(bound) else { return };
    loop {
        if let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve_connection(socket, Arc::clone(&desk)));
        }
    }
}

/// Serves one connection. Client and script decide how it ends.
async fn serve_connection(socket: TcpStream, desk: Arc<ModelService>) {
    drop(socket.set_nodelay(true));
    let answer = service_fn(|request| desk.answer_request(request));
    drop(http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await);
}
