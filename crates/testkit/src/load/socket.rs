//! A connection with a read buffer.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

const READ_CHUNK_BYTES: usize = 256 << 10;

const IO_TIMEOUT: Duration = Duration::from_secs(60);

pub struct BufferedSocket {
    stream: TcpStream,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl BufferedSocket {
    pub fn connect(port: u16) -> io::Result<Self> {
        Self::with_buffer(port, READ_CHUNK_BYTES)
    }

    /// Connects with a small read buffer.
    pub fn with_buffer(port: u16, size: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        Ok(Self { stream, buffer: vec![0; size], begin: 0, end: 0 })
    }

    #[must_use]
    pub fn tcp_stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Returns the buffered bytes that were not consumed yet.
    #[must_use]
    pub fn buffered(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    /// Reads more; false at the end.
    pub fn read_more(&mut self) -> io::Result<bool> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.grow_buffer();
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let size = self.stream.read(room)?;
        self.end += size;
        Ok(size > 0)
    }

    fn grow_buffer(&mut self) {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
    }

    /// Reads until `size` bytes are buffered; false if the end comes before.
    pub fn read_at_least(&mut self, size: usize) -> io::Result<bool> {
        while self.end - self.begin < size {
            if !self.read_more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn consume(&mut self, size: usize) {
        self.begin = (self.begin + size).min(self.end);
    }

    /// Waits for a line and returns its length including its end; `None` if the end comes before.
    pub fn read_line_length(&mut self) -> io::Result<Option<usize>> {
        let mut seen = 0;
        loop {
            let here = self.buffered();
            let rest = here.get(seen..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(seen + at + 1));
            }
            seen = here.len();
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }
}
