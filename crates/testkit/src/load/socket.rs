//! A connection and what has come through it but was not looked at yet.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// How long anything may take before it is a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a port of loopback.
pub struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Socket {
    /// Connects.
    pub fn connect(port: u16) -> io::Result<Self> {
        Self::with_buffer(port, CHUNK)
    }

    /// Connects as one that reads little at a time.
    pub fn with_buffer(port: u16, size: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![0; size], begin: 0, end: 0 })
    }

    /// The connection itself.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Writes everything.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// What is here and was not taken yet.
    #[must_use]
    pub fn here(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    /// Reads more; false at the end.
    pub fn more(&mut self) -> io::Result<bool> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.make_room();
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let size = self.stream.read(room)?;
        self.end += size;
        Ok(size > 0)
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
    }

    /// Waits until so many bytes are here; false if the end comes before.
    pub fn need(&mut self, size: usize) -> io::Result<bool> {
        while self.end - self.begin < size {
            if !self.more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Some bytes are done with.
    pub fn take(&mut self, size: usize) {
        self.begin = (self.begin + size).min(self.end);
    }

    /// Waits for a line, and gives its length with its end; none if the end comes before.
    pub fn line(&mut self) -> io::Result<Option<usize>> {
        let mut seen = 0;
        loop {
            let here = self.here();
            let rest = here.get(seen..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(seen + at + 1));
            }
            seen = here.len();
            if !self.more()? {
                return Ok(None);
            }
        }
    }
}
