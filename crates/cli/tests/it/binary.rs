//! The program as its users run it: arguments and input in, output and exit code out. The only place of the tests that
//! starts it.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
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

/// An ordinary user that every system has.
pub const ORDINARY_USER_ID: u32 = 65534;

/// The same as an ordinary user, who may not enter the build directory: `directory` gets a program of its own. Only root
/// can become another user.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts the program")]
pub fn ordinary_user_command(directory: &Path, args: &[&str]) -> Command {
    let (program, id) = (directory.join("switchboard"), ORDINARY_USER_ID.to_string());
    // A copy cannot run while a process that another test has just started still has it open for writing.
    if !program.exists() && fs::hard_link(env!("CARGO_BIN_EXE_switchboard"), &program).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_switchboard"), &program).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(program).args(args);
    command.env("HOME", directory);
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
