//! The messages between the engine, the supervisor, `__init` and `__exec`: lines of JSON, and open files.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    control::ProcessExit,
    process::ProcessRef,
    sandbox::{SandboxFeature, SandboxReport},
};

pub trait LineMessage: Serialize + DeserializeOwned {
    fn to_line(&self) -> Vec<u8> {
        // A message has nothing that JSON cannot express.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// A command to the supervisor, which acknowledges each. Closing the channel means: kill everything, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SupervisorCommand {
    /// Send a signal to the agent's process group.
    Signal(i32),
    /// Ask the group to end, and kill everything after this time.
    Stop { grace_millis: u64 },
}

impl LineMessage for SupervisorCommand {}

/// A report of the supervisor. After the last one it ends, which closes the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SupervisorReport {
    /// The process that becomes the agent has started.
    Started(ProcessRef),
    Acknowledged,
    Exited(ProcessExit),
    /// No descendant is left, except for this number that may not be killed.
    Gone(usize),
}

impl LineMessage for SupervisorReport {}

/// The stage at which a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecStage {
    /// The order could not be read, or the preparations of `__exec` failed.
    Order,
    Directory,
    Confinement,
    Program,
}

/// A report of `__exec` or `__init`. The channel closes when the agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecReport {
    Enforced(SandboxFeature),
    Missing(SandboxFeature, String),
    /// The next step is the agent itself.
    Ready,
    /// The agent does not start. The system's error number is 0 if there is none.
    Failed {
        stage: ExecStage,
        errno: i32,
        message: String,
    },
}

impl LineMessage for ExecReport {}

impl ExecReport {
    pub fn of_sandbox(report: &SandboxReport) -> impl Iterator<Item = Self> {
        let missing = report.missing.iter().map(|(feature, reason)| Self::Missing(*feature, reason.clone()));
        report.enforced.iter().copied().map(Self::Enforced).chain(missing)
    }

    pub fn failed(stage: ExecStage, error: &io::Error) -> Self {
        Self::Failed { stage, errno: error.raw_os_error().unwrap_or_default(), message: error.to_string() }
    }
}

/// Sends an open file to another process, or the message that there is none. One byte goes with it, since an empty
/// message cannot carry a file.
pub fn send_file(socket: impl AsFd, file: Option<&OwnedFd>) -> io::Result<()> {
    let files = file.map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    if !files.as_slice().is_empty() && !rights.push(SendAncillaryMessage::ScmRights(files.as_slice())) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(socket, &[IoSlice::new(b"+")], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives the file that [`send_file`] sent. Programs started later do not inherit it.
pub fn receive_file(socket: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let files = rights.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    Ok(files.last())
}

#[cfg(test)]
mod tests {
    use super::{ExecReport, ExecStage, LineMessage as _, SandboxFeature, SupervisorCommand, SupervisorReport};
    use crate::supervise::{ProcessExit, ProcessRef};

    #[test]
    fn messages_are_lines() {
        for command in [SupervisorCommand::Signal(2), SupervisorCommand::Stop { grace_millis: 1500 }] {
            assert_eq!(SupervisorCommand::parse(&command.to_line()), Some(command));
        }
        let exits = [(Some(3), None), (None, Some(9))].map(|(code, signal)| ProcessExit { code, signal });
        let started = SupervisorReport::Started(ProcessRef { pid: 77, start_time: 4242 });
        let reports = [started, SupervisorReport::Acknowledged, SupervisorReport::Gone(2)];
        for report in reports.into_iter().chain(exits.map(SupervisorReport::Exited)) {
            assert_eq!(SupervisorReport::parse(&report.to_line()), Some(report));
        }
        let message = "no such\nfile".to_owned();
        for report in [
            ExecReport::Enforced(SandboxFeature::Seccomp),
            ExecReport::Missing(SandboxFeature::OwnProc, message.clone()),
            ExecReport::Failed { stage: ExecStage::Program, errno: 2, message },
            ExecReport::Ready,
        ] {
            let line = report.to_line();
            assert!(line.ends_with(b"\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1);
            assert_eq!(ExecReport::parse(&line), Some(report));
        }
        for invalid in ["", "{}", "\"Unknown\"", "{\"Signal\":\"x\"}"] {
            assert_eq!(SupervisorCommand::parse(invalid.as_bytes()), None, "{invalid}");
        }
    }
}
