//! Input that ends at end of file or after a stop signal, so that the records read so far can still be closed in order.

use std::{
    fs::File,
    io::{self, Read as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};

/// The writer of a pipeline gets the signal at the same moment, and may still write its last output.
const GRACE_PERIOD: Duration = Duration::from_millis(500);

/// A file or a pipe, read until a signal arrives.
pub struct InterruptibleInput {
    file: File,
    signals: UnixStream,
    stopped: Option<Instant>,
}

pub enum ReadOutcome {
    /// The number of bytes read.
    Some(usize),
    End,
    Stopped,
}

impl InterruptibleInput {
    /// Opens the input. From now on, the first signal ends the input; the second ends the program immediately.
    pub fn new(file: File) -> io::Result<Self> {
        let (signals, told) = UnixStream::pair()?;
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_default(signal, again.clone())?;
            flag::register(signal, again.clone())?;
            low_level::pipe::register(signal, told.try_clone()?)?;
        }
        Ok(Self { file, signals, stopped: None })
    }

    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<ReadOutcome> {
        while !self.is_ready()? {
            if self.is_late() {
                return Ok(ReadOutcome::Stopped);
            }
        }
        match self.file.read(bytes) {
            Ok(0) if self.stopped.is_some() => Ok(ReadOutcome::Stopped),
            // The writer may never stop.
            Ok(_) if self.is_late() => Ok(ReadOutcome::Stopped),
            Ok(0) => Ok(ReadOutcome::End),
            Ok(length) => Ok(ReadOutcome::Some(length)),
            Err(error) => Err(error),
        }
    }

    fn is_late(&self) -> bool {
        self.stopped.is_some_and(|since| since.elapsed() >= GRACE_PERIOD)
    }

    fn is_ready(&mut self) -> io::Result<bool> {
        let left = self.stopped.map(|since| GRACE_PERIOD.saturating_sub(since.elapsed()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let signals = if self.stopped.is_none() { PollFlags::IN } else { PollFlags::empty() };
        let mut both = [
            PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.as_fd(), signals),
        ];
        match poll(&mut both, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(false),
            other => drop(other?),
        }
        let [file, signals] = both.map(|fd| fd.revents());
        if self.stopped.is_none() && signals.contains(PollFlags::IN) {
            self.stopped = Some(Instant::now());
        }
        // The read reports the end of a file and errors.
        Ok(!file.is_empty())
    }
}
