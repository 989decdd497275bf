//! The program as its users run it: arguments and input in, output and exit code out. The only place of the tests that
//! starts it.

use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Output, Stdio},
    thread,
};

/// The program, not started yet.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts the program")]
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(args);
    command
}

/// The same with a terminal of its own to come, which `setsid` makes its controlling one. It has no colours, so that
/// what it shows can be looked for.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts the program")]
pub fn command_on_terminal(args: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", env!("CARGO_BIN_EXE_switchboard")])
        .args(args)
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1");
    command
}

/// Starts the program with pipes to all sides.
pub fn start(args: &[&str]) -> Child {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs the program to its end.
pub fn run(args: &[&str], input: &[u8]) -> Ran {
    let mut child = start(args);
    let mut stdin = child.stdin.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let output: Output = thread::scope(|scope| {
        // It may end without having read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        let errors = scope.spawn(move || {
            let mut errors = Vec::new();
            stderr.read_to_end(&mut errors).unwrap();
            errors
        });
        let output = child.wait_with_output().unwrap();
        Output { stderr: errors.join().unwrap(), ..output }
    });
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What came of a run.
pub struct Ran {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Ran {
    /// What it printed, if it ended well and did not complain.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// What it complained about, if it ended with the given code and printed nothing.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        self.stderr
    }
}
