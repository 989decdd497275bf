//! The program as its users run it: arguments and input in, output and exit code out. The only place of the tests that
//! starts it.

use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Output, Stdio},
    thread,
};

/// Starts the program with pipes to all sides.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts the program")]
pub fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
