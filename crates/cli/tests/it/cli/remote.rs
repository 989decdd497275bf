//! Commands that work with a server over TLS, compared with the same commands on the server's machine.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use switchboard_testkit::{certificates::TestAuthority, stage::StageProcess};
use tempfile::TempDir;

use super::serve::ServeProcess;
use crate::binary::{self, ProgramOutput};

/// What Ctrl-C sends.
const CTRL_C: &str = "\x03";

/// How often an output with ages is compared.
const COMPARISONS: usize = 5;

/// A server with TLS, and the files that its clients need.
struct RemoteMachine {
    served: ServeProcess,
    url: String,
    ca_file: String,
    token_file: String,
}

impl RemoteMachine {
    fn start() -> Self {
        Self::with_home(|_| {})
    }

    /// Starts a server whose home directory is prepared first.
    fn with_home(prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_owned();
        let authority = TestAuthority::new().unwrap();
        authority.write(&at.join("ca.pem")).unwrap();
        authority.issue(&["localhost"], &at).unwrap();
        fs::create_dir(at.join("home")).unwrap();
        prepare(&at.join("home"));
        let more = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--listen", "unix:server.sock"];
        let mut served = ServeProcess::run(folder, &more, |args| {
            let mut command = binary::command(args);
            command.env("HOME", at.join("home"));
            command
        });
        // Unix sockets stay plain.
        served.socket = Some(at.join("server.sock"));
        let path = |path: PathBuf| path.to_str().unwrap().to_owned();
        Self {
            url: format!("https://localhost:{}", served.port),
            ca_file: path(at.join("ca.pem")),
            token_file: path(served.data().join("token")),
            served,
        }
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--server", &self.url, "--ca-file", &self.ca_file, "--token-file", &self.token_file]].concat()
    }

    /// Runs a command with the server.
    fn remote(&self, args: &[&str]) -> ProgramOutput {
        binary::run(&self.args(args), b"")
    }

    /// Runs a command on the server's machine.
    fn local(&self, args: &[&str]) -> ProgramOutput {
        binary::run(&[args, &["--data", self.served.data().to_str().unwrap()]].concat(), b"")
    }

    fn on_terminal(&self, args: &[&str]) -> StageProcess {
        StageProcess::start_on_terminal(binary::command_on_terminal(&self.args(args))).unwrap()
    }

    /// Starts a script that goes on, and returns its ID.
    fn start_script(&self, script: &str) -> String {
        self.served.session(&json!({ "agentType": "script", "prompt": script }))
    }

    /// Checks that a command has the same outcome with the server as on its machine.
    #[track_caller]
    fn compare(&self, args: &[&str]) {
        let outcome = |output: ProgramOutput| (output.code, output.stdout, output.stderr);
        let compared = || (outcome(self.remote(args)), outcome(self.local(args)));
        // Ages may change between the two.
        let is_same = || Some(compared()).filter(|(remote, local)| remote == local);
        let Some(_) = (0..COMPARISONS).find_map(|_| is_same()) else {
            let (remote, local) = compared();
            panic!("{args:?}\n{remote:?}\n{local:?}");
        };
    }
}

fn run_here(data: &TempDir, args: &[&str]) -> ProgramOutput {
    binary::run(&[args, &["--data", data.path().to_str().unwrap()]].concat(), b"")
}

#[test]
fn a_run_ends_as_on_this_machine() {
    let (machine, here) = (RemoteMachine::start(), tempfile::tempdir().unwrap());
    for script in ["think hm\ntext hello\nrun ls\ntext bye", "approve make\ntext after", "fail no", "crash"] {
        let remote = machine.remote(&["run", "script", script]);
        let local = run_here(&here, &["run", "script", script]);
        assert_eq!((remote.code, &remote.stdout), (local.code, &local.stdout), "{script}: {}", remote.stderr);
    }
    let last = machine.remote(&["run", "script", "text one\ntext two", "--last-message"]).ok();
    assert_eq!(last, run_here(&here, &["run", "script", "text one\ntext two", "--last-message"]).ok());
    let kinds = |output: ProgramOutput| -> Vec<Value> {
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let message = |line| serde_json::from_str::<Value>(line).unwrap();
        output.stdout.lines().map(|line| message(line)["type"].clone()).collect()
    };
    let args = ["run", "script", "text hello\nrun ls", "--json"];
    assert_eq!(kinds(machine.remote(&args)), kinds(run_here(&here, &args)));
    let resumed = machine.remote(&["run", "--resume", "last", "text again"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "again\n"), "{}", resumed.stderr);
    assert_eq!(machine.served.sessions()[0]["runs"], 2);
}

#[test]
fn approvals_are_asked_for_on_the_terminal() {
    let machine = RemoteMachine::start();
    let mut running = machine.on_terminal(&["run", "script", "text before\napprove make\ntext made"]);
    running.wait_for_output("the question", |said| said.contains("[y] allow once")).unwrap();
    running.write_input("y\n").unwrap();
    let ended = running.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.describe_output());
    for shown in ["before", "$ make", "made"] {
        assert!(ended.stdout.contains(shown), "no {shown} in\n{}", ended.describe_output());
    }
}

#[test]
fn interrupts_reach_the_session() {
    let (machine, here) = (RemoteMachine::start(), tempfile::tempdir().unwrap());
    let script = ["run", "script", "text ready\nsleep 600"];
    let data = ["--data", here.path().to_str().unwrap()];
    let local = binary::command_on_terminal(&[&script[..], &data].concat());
    let mut codes = Vec::new();
    for mut running in [machine.on_terminal(&script), StageProcess::start_on_terminal(local).unwrap()] {
        running.wait_for_output("that it is ready", |said| said.contains("ready")).unwrap();
        running.write_input(CTRL_C).unwrap();
        codes.push(running.wait_for_exit().unwrap().code);
    }
    assert_eq!(codes[0], codes[1]);
    assert_ne!(machine.served.sessions()[0]["state"], "running");
}

#[test]
fn sessions_look_the_same_from_elsewhere() {
    let machine = RemoteMachine::start();
    for script in ["title First\ntext hello\nrun ls", "text second\nedit a.txt\nfail no"] {
        machine.remote(&["run", "script", script]);
    }
    for args in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "list", "--state", "failed", "--agent", "script"],
        &["sessions", "list", "-n", "1"],
        &["sessions", "list", "--text", "nothing like it"],
        &["sessions", "show", "last"],
        &["sessions", "show", "2", "--json"],
        &["sessions", "show", "2", "--dialect", "events"],
        &["sessions", "follow", "2"],
        &["sessions", "follow", "last", "--last", "0", "--json"],
        &["sessions", "show", "nowhere"],
    ] {
        machine.compare(args);
    }
    assert!(machine.remote(&["sessions", "list"]).ok().contains("First"));
}

#[test]
fn sessions_are_controlled_from_elsewhere() {
    let machine = RemoteMachine::start();
    let asking = machine.start_script("approve make\ntext made");
    let mut following = machine.on_terminal(&["sessions", "follow", &asking]);
    following.wait_for_output("the question", |said| said.contains("[y] allow once")).unwrap();
    following.write_input(CTRL_C).unwrap();
    let followed = following.wait_for_exit().unwrap();
    assert_eq!(followed.code, Some(0), "{}", followed.describe_output());
    assert!(followed.stdout.contains("the session continues"), "{}", followed.describe_output());
    assert!(machine.remote(&["sessions", "approve", "last"]).fails(0).contains("allowed: $ make"));
    assert_eq!(machine.remote(&["sessions", "follow", "last"]).stdout, "made\n");
    assert!(machine.remote(&["sessions", "approve", "last"]).fails(2).contains("has ended"));
    let told = machine.remote(&["sessions", "prompt", "last", "text more"]).fails(0);
    assert!(told.contains("continues"), "{told}");
    assert_eq!(machine.remote(&["sessions", "follow", "last", "--last", "1"]).stdout, "more\n");
    let sleeping = machine.start_script("sleep 600");
    assert!(machine.remote(&["sessions", "interrupt", &sleeping]).fails(0).contains("was interrupted"));
    let open = machine.start_script("sleep 600");
    assert!(machine.remote(&["sessions", "delete", &open]).fails(2).contains("has not ended"));
    assert!(machine.remote(&["sessions", "cancel", &open]).fails(0).contains("has ended: cancelled"));
    machine.remote(&["sessions", "archive", &open]).fails(0);
    assert!(machine.remote(&["sessions", "list", "--archived", "--json"]).ok().contains(&open));
    assert!(machine.remote(&["sessions", "delete", &open]).fails(0).contains("deleted"));
    assert!(machine.remote(&["sessions", "show", &open]).fails(2).contains("no session"));
}

#[test]
fn what_goes_wrong_has_a_hint() {
    let machine = RemoteMachine::start();
    let ask = |url: &str, more: &[&str]| {
        let told = binary::run(&[&["sessions", "list", "--server", url], more].concat(), b"").fails(4);
        assert!(told.starts_with("error: ") && told.lines().count() == 2, "{told}");
        assert!(told.lines().nth(1).unwrap().starts_with("hint: "), "{told}");
        told
    };
    let (url, plain) = (machine.url.as_str(), machine.url.replace("https://", "http://"));
    let trusting = ["--ca-file", machine.ca_file.as_str()];
    assert!(ask(url, &trusting).contains("SWITCHBOARD_TOKEN"));
    let wrong = machine.served.folder.path().join("wrong-token");
    fs::write(&wrong, "0123456789abcdef0123456789abcdef").unwrap();
    let wrong_token = ["--token-file", wrong.to_str().unwrap()];
    assert!(ask(url, &[&trusting[..], &wrong_token].concat()).contains("--token-file"));
    let stranger = machine.served.folder.path().join("stranger.pem");
    TestAuthority::new().unwrap().write(&stranger).unwrap();
    assert!(ask(url, &["--ca-file", stranger.to_str().unwrap()]).contains("certificate"));
    assert!(ask(&url.replace("localhost", "127.0.0.1"), &trusting).contains("another host"));
    assert!(ask(&plain, &[]).contains("https://"));
    let without = ServeProcess::start();
    assert!(ask(&format!("https://127.0.0.1:{}", without.port), &trusting).contains("http://"));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(ask(&format!("http://{closed}"), &[]).contains("is a server running there?"));
}

#[test]
fn a_server_is_named_by_variables_too() {
    let machine = RemoteMachine::start();
    machine.remote(&["run", "script", "text hello"]);
    let run = |args: &[&str], token: &str| {
        let mut command = binary::command(args);
        command.env("SWITCHBOARD_SERVER", &machine.url).env("SWITCHBOARD_TOKEN", token);
        command.env("SSL_CERT_FILE", &machine.ca_file).output().unwrap()
    };
    let listed = run(&["sessions", "list", "--json"], &machine.served.token);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), machine.remote(&["sessions", "list", "--json"]).ok());
    // A directory is one of this machine.
    let here = tempfile::tempdir().unwrap();
    let local = run(&["sessions", "list", "--json", "--data", here.path().to_str().unwrap()], "");
    assert_eq!((local.status.success(), local.stdout.as_slice()), (true, &b""[..]));
    let refused = run(&["logs", "watch"], &machine.served.token);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("only works on this machine"));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let told = |args: &[&str]| binary::run(args, b"").fails(2);
    let url = "https://localhost:1";
    for command in ["scan", "watch", "doctor"] {
        assert!(told(&["logs", command, "--server", url]).contains("only works on this machine"), "{command}");
    }
    assert!(told(&["sessions", "list", "--server", url, "--data", "x"]).contains("--server"));
    assert!(told(&["sessions", "list", "--ca-file", "x"]).contains("requires --server"));
    assert!(told(&["sessions", "list", "--server", "ftp://x"]).contains("not the address of a server"));
    assert!(told(&["sessions", "list", "--server", url, "--ca-file", "/nowhere"]).contains("--ca-file"));
    assert!(told(&["sessions", "list", "--server", url, "--token-file", "/nowhere"]).contains("/nowhere"));
    let run = ["run", "script", "text x", "--server", "http://127.0.0.1:1", "--one-shot"];
    assert!(told(&run).contains("--one-shot"));
}

/// Writes a log of an agent with two replies.
fn write_logs(home: &Path) {
    let id = "5e551011-0000-4000-8000-000000000001";
    let record = |number: usize, kind: &str, message: Value| {
        json!({"type": kind, "uuid": format!("u{number}"), "sessionId": id, "cwd": "/made/project", "gitBranch": "main",
            "version": "2.1.197", "timestamp": format!("2026-11-01T10:0{number}:00.000Z"),
            "requestId": format!("r{number}"), "message": message, "isSidechain": false, "userType": "external"})
    };
    let reply = |number: usize, text: &str| {
        let usage = json!({"input_tokens": 100 * number, "output_tokens": 50, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 7});
        let content = json!([{"type": "text", "text": text}]);
        record(
            number,
            "assistant",
            json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5-20250929", "content": content, "usage": usage}),
        )
    };
    let asked = record(0, "user", json!({"role": "user", "content": "where is the giraffe?"}));
    let lines = [asked, reply(1, "the giraffe is in the garden"), reply(2, "and an unusual okapi")];
    let project = home.join(".claude/projects/-made-project");
    fs::create_dir_all(&project).unwrap();
    let path = project.join(format!("{id}.jsonl"));
    fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    // A log that has just been written could be of a running session.
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
}

#[test]
fn logs_are_the_same_from_elsewhere() {
    let machine = RemoteMachine::with_home(write_logs);
    let home = machine.served.folder.path().join("home");
    for args in [
        &["logs", "usage"][..],
        &["logs", "usage", "--json", "--by", "model", "--breakdown"],
        &["logs", "usage", "--csv", "--by", "session", "--since", "2026-10"],
        &["logs", "usage", "--by", "session", "--chart"],
        &["logs", "search", "giraffe"],
        &["logs", "search", "giraffe", "--json", "--in", "assistant"],
        &["logs", "search", "-e", "unus.al", "--agent", "claude"],
        &["logs", "search", "unicorn"],
        &["logs", "list"],
        &["logs", "list", "--json", "--text", "okapi"],
        &["logs", "show", "last"],
        &["logs", "show", "5e551011", "--json"],
    ] {
        let args = [args, &["--timezone", "UTC"]].concat();
        let remote = machine.remote(&args);
        let mut command = binary::command(&args);
        command.env("HOME", &home).env("SWITCHBOARD_DATA", machine.served.data());
        let local = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(local.stdout), text(local.stderr));
        assert_eq!((remote.code, &remote.stdout), (local.status.code(), &stdout), "{args:?}: {}", remote.stderr);
        assert_eq!(remote.stderr.replace("the server builds its index of logs; this happens once\n", ""), stderr);
        assert_eq!(remote.code, Some(0), "{args:?}: {stderr}");
    }
}
