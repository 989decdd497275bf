//! The display text of Gemini CLI's shell tool (0.61.0), which may be a remark on how the command ended.

use switchboard_event::{Command, Status};

/// Content of the display text: the output, or a remark if there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub output: String,
    pub exit_code: Option<i32>,
    pub remark: Option<String>,
    /// The command continues in the background.
    pub background: bool,
    /// The user stopped the command.
    pub stopped: bool,
}

impl Shown {
    /// Parses a text if it is a remark.
    pub fn remark(display: &str) -> Option<Self> {
        let remark = || Self { remark: Some(display.to_owned()), ..Self::default() };
        if let Some(code) = display.strip_prefix("Command exited with code: ") {
            return Some(Self { exit_code: code.trim().parse().ok(), ..remark() });
        }
        if display.starts_with("Command moved to background (PID: ") {
            return Some(Self { output: display.to_owned(), background: true, ..Self::default() });
        }
        if display.starts_with("Command terminated by signal: ") || display.starts_with("Command failed: ") {
            return Some(remark());
        }
        let stopped = display.starts_with("Command cancelled by user.");
        if !stopped && !display.starts_with("Command was automatically cancelled") {
            return None;
        }
        let (remark, output) = display.split_once("\n\nOutput before cancellation:\n").unwrap_or((display, ""));
        Some(Self { output: output.to_owned(), remark: Some(remark.to_owned()), stopped, ..Self::default() })
    }

    pub fn status(&self) -> Status {
        match (self.stopped, &self.remark, self.exit_code) {
            (true, ..) => Status::Interrupted,
            (_, None, None | Some(0)) => Status::Completed,
            _ => Status::Failed,
        }
    }

    /// Applies the content to a command.
    pub fn tell(self, command: &mut Command) {
        (command.output, command.exit_code) = (self.output, self.exit_code);
        command.background |= self.background;
    }
}
