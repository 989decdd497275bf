//! Runs the program like its users do. No other module of the tests starts it.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
};

#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts the program")]
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(args);
    command
}

/// An unprivileged user that every system has.
pub const ORDINARY_USER_ID: u32 = 65534;

/// Like [`command`], as an unprivileged user, who cannot enter the build directory: `directory` gets a copy of the
/// program. Only root can switch users.
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

/// Like [`command`], with a controlling terminal through `setsid`, and without colors.
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

/// Starts the program with pipes for all streams.
pub fn start(args: &[&str]) -> Child {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub fn run(args: &[&str], input: &[u8]) -> ProgramOutput {
    let mut child = start(args);
    let mut stdin = child.stdin.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let output: Output = thread::scope(|scope| {
        // The program may end before it has read all input.
        scope.spawn(move || drop(stdin.write_all(input)));
        let errors = scope.spawn(move || {
            let mut errors = Vec::new();
            stderr.read_to_end(&mut errors).unwrap();
            errors
        });
        let output = child.wait_with_output().unwrap();
        Output { stderr: errors.join().unwrap(), ..output }
    });
    ProgramOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub struct ProgramOutput {
    /// `None` if a signal ended the program.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// Returns standard output; panics unless the program succeeded without messages.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// Returns standard error; panics unless the program failed with the given code and no output.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        self.stderr
    }
}
