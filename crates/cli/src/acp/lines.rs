//! Lines of standard input and output, read and written by threads of their own: an editor that is slow, or silent, holds
//! nothing else up.

use std::{
    io::{self, BufRead as _, Write as _},
    thread,
    time::Duration,
};

use futures_util::{Sink, Stream, StreamExt as _, sink, stream};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued lines before the sender waits.
const WAITING: usize = 64;
/// How long an editor that is gone may take to read what was said last.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells when all is written.
pub struct Written(oneshot::Receiver<()>);

impl Written {
    /// Waits until what was said is written, but not for ever.
    pub async fn finish(self) {
        tokio::time::timeout(PATIENCE, self.0).await.ok();
    }
}

/// The lines of standard input, and where lines of standard output go.
pub fn standard() -> (
    impl Stream<Item = io::Result<String>> + Send + 'static,
    impl Sink<String, Error = io::Error> + Send + 'static,
    Written,
) {
    let (heard, lines) = mpsc::channel(WAITING);
    thread::spawn(move || read(&heard));
    let (says, said) = mpsc::channel(WAITING);
    let (done, written) = oneshot::channel();
    thread::spawn(move || {
        // The editor has closed our output; the input ends in a moment too.
        drop(write(said));
        done.send(()).ok();
    });
    let incoming = stream::unfold(lines, async |mut lines: mpsc::Receiver<io::Result<String>>| {
        let line = lines.recv().await?;
        Some((line, lines))
    });
    let outgoing = sink::unfold(says, async |says: mpsc::Sender<String>, line| {
        says.send(line).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(says)
    });
    (incoming.boxed(), outgoing, Written(written))
}

fn read(heard: &mpsc::Sender<io::Result<String>>) {
    for line in io::stdin().lock().split(b'\n') {
        if heard.blocking_send(line.map(text)).is_err() {
            return;
        }
    }
}

/// A line as text. One that is none is cut where it stops to be: no JSON ends there, so it is answered as what cannot be
/// read, and the next line is a new one.
fn text(mut line: Vec<u8>) -> String {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).unwrap_or_else(|error| {
        let (end, mut line) = (error.utf8_error().valid_up_to(), error.into_bytes());
        line.truncate(end);
        let mut text = String::from_utf8(line).unwrap_or_default();
        text.push(char::REPLACEMENT_CHARACTER);
        text
    })
}

fn write(mut said: mpsc::Receiver<String>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    while let Some(mut line) = said.blocking_recv() {
        line.push('\n');
        output.write_all(line.as_bytes())?;
        if said.is_empty() {
            output.flush()?;
        }
    }
    Ok(())
}
