//! What an agent can do with the server that runs its session: read, and nothing else.

use std::{
    fs,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{PermissionsExt as _, chown},
            net::{SocketAddr, UnixListener},
        },
    },
};

use super::{ServeProcess, script};
use crate::binary::command;

/// Sends METHOD, PATH and BODY to the server from run_script of a session; the answer goes to a file.
const REQUEST_FUNCTION: &str = r#"
ask() {
  exec 3<>/dev/tcp/127.0.0.1/$PORT
  printf '%s %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
    "$1" "$2" "$PORT" "$TOKEN" "${#3}" "$3" >&3
  cat <&3 > "$4"
  exec 3>&-
}
START_REQUEST='{"agentType":"echo","prompt":"free"}'
"#;

/// Starts a server and a session with a script, and returns the answers that the script got.
fn run_script(script_text: &str, files: &[&str]) -> (ServeProcess, String, Vec<String>) {
    run_script_in_sandbox(script_text, files, "workspaceWrite")
}

fn run_script_in_sandbox(script_text: &str, files: &[&str], sandbox: &str) -> (ServeProcess, String, Vec<String>) {
    run_script_on(ServeProcess::start(), script_text, files, sandbox)
}

fn run_script_on(
    served: ServeProcess,
    script_text: &str,
    files: &[&str],
    sandbox: &str,
) -> (ServeProcess, String, Vec<String>) {
    let folder = served.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let program = command(&[]).get_program().to_string_lossy().into_owned();
    // The token is hidden from a run_script_in_sandbox agent, which may have learned it in another way.
    let (port, data, token) = (served.port, served.data(), &served.token);
    let begin = format!("PORT={port}\nDATA={}\nTOKEN={token}\nPROGRAM={program}\n", data.display());
    let text = format!("{begin}{REQUEST_FUNCTION}{script_text}");
    let mut request = script(&folder, &text, sandbox);
    if served.ask("POST", "/api/sessions", Some(&request)).1.contains("no_sandbox") {
        // Without Landlock, run unconfined: the result does not depend on the sandbox.
        request = script(&folder, &text, "none");
        served.session(&request);
    }
    let session = served.sessions()[0]["id"].as_str().unwrap().to_owned();
    let events = served.events(&session);
    let answers = files.iter().map(|file| fs::read_to_string(folder.join(file)).unwrap_or_default()).collect();
    (served, events, answers)
}

#[test]
fn an_agent_cannot_start_a_session_though_it_knows_the_token() {
    let (served, _, answers) =
        run_script("ask POST /api/sessions \"$START_REQUEST\" made; ask GET /api/sessions '' seen", &["made", "seen"]);
    assert!(answers[0].starts_with("HTTP/1.0 403") && answers[0].contains("from_a_session"), "{}", answers[0]);
    assert!(answers[1].starts_with("HTTP/1.0 200"), "{}", answers[1]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn a_limited_network_does_not_reach_the_server() {
    let served = ServeProcess::start();
    let folder = served.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    let text = format!(
        "PORT={}; (exec 3<>/dev/tcp/127.0.0.1/$PORT; printf 'GET /api/health HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 > direct) \
         2>/dev/null\n\
         exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}\n\
         printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' $PORT >&3; head -1 <&3 > proxied",
        served.port
    );
    let mut request = script(&folder, &text, "workspaceWrite");
    request["config"]["networkAccess"] = false.into();
    for (allowed, status) in [(vec![], " 502 "), (vec![format!("127.0.0.1:{}", served.port)], " 403 ")] {
        request["config"]["allowedDomains"] = allowed.into();
        let session = served.session(&request);
        served.events(&session);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(read("direct"), "");
        assert!(read("proxied").contains(status), "{}", read("proxied"));
    }
}

#[test]
fn detached_processes_cannot_start_sessions() {
    let text = "export PORT TOKEN START_REQUEST; export -f ask\n\
                setsid bash -c '(trap \"\" HUP; ask POST /api/sessions \"$START_REQUEST\" made; touch done) & exit 0'\n\
                while [ ! -e done ]; do sleep 0.01; done";
    let (served, _, answers) = run_script(text, &["made"]);
    assert!(answers[0].starts_with("HTTP/1.0 403"), "{}", answers[0]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn requests_on_a_closed_connection_are_refused() {
    let text = "exec 3<>/dev/tcp/127.0.0.1/$PORT\n\
                printf 'POST /api/sessions HTTP/1.0\\r\\nHost: 127.0.0.1:%s\\r\\nAuthorization: Bearer %s\\r\\n\
                Content-Type: application/json\\r\\nContent-Length: %s\\r\\n\\r\\n%s' \
                $PORT $TOKEN ${#START_REQUEST} \"$START_REQUEST\" >&3\n\
                exec 3>&-";
    let (served, ..) = run_script(text, &[]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn agents_cannot_cancel_sessions_through_private_sockets() {
    // Not in a sandbox: there, the command cannot even open the log.
    // The agent may run before its session is in the log.
    let text = "while $PROGRAM sessions cancel --data $DATA $SWITCHBOARD_SESSION > said 2>&1; echo $? > code
        grep -q 'no session' said; do sleep 0.05; done";
    let (served, _, answers) = run_script_in_sandbox(text, &["said", "code"], "none");
    assert!(answers[0].contains("a session may not control sessions"), "{}", answers[0]);
    assert_ne!(answers[1].trim(), "0");
    assert_ne!(served.sessions()[0]["state"], "cancelled");
}

#[test]
fn the_token_is_masked_in_stored_events() {
    let (served, events, _) = run_script("echo $TOKEN; echo $TOKEN >&2; echo '{\"a\":\"'$TOKEN'\"}'", &[]);
    assert!(!events.contains(&served.token));
    assert!(events.matches("***").count() >= 3, "{events}");
    let kept = fs::read(served.data().join("log.db-wal")).unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains(&served.token));
}

#[test]
fn a_confined_agent_does_not_see_the_token_nor_the_private_sockets() {
    for (sandbox, is_hidden) in [("workspaceWrite", true), ("none", false)] {
        let text = "cat $DATA/token > token; ls $DATA/owners > owners; cp token owners . 2>/dev/null";
        let (served, _, answers) = run_script_in_sandbox(text, &["token", "owners"], sandbox);
        assert_eq!(answers[0].trim().is_empty(), is_hidden, "{sandbox}");
        assert_eq!(answers[1].trim().is_empty(), is_hidden, "{sandbox}: {}", answers[1]);
        assert_eq!(served.sessions().len(), 1);
    }
}

/// Sockets like those of container engines, SSH and GPG agents, D-Bus, X11 and tmux: with a path, and abstract.
#[test]
fn sockets_of_other_programs_cannot_be_reached_from_a_sandbox() {
    for (sandbox, is_reached) in [("workspaceWrite", false), ("none", true)] {
        let served = ServeProcess::start();
        let path = served.folder.path().join("agent.sock");
        let _with_path = UnixListener::bind(&path).unwrap();
        let name = format!("switchboard-test-{}-{sandbox}", served.port);
        let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let text = format!(
            "reach() {{ perl -MSocket -e '
                 socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; my $name = $ARGV[0]; $name =~ s/^@/\\0/;
                 print connect($s, pack_sockaddr_un($name)) ? q(reached) : q(refused)' \"$1\" > $2; }}
             reach {} path; reach @{name} abstract",
            path.display()
        );
        let (_, _, answers) = run_script_on(served, &text, &["path", "abstract"], sandbox);
        let expected = if is_reached { "reached" } else { "refused" };
        assert_eq!(answers, [expected; 2], "{sandbox}");
    }
}

/// A process that has removed everything that identifies it, and has killed its supervisor.
#[test]
fn an_agent_that_kills_its_supervisor_commands_nothing_and_leaves_nothing() {
    let users = [|| Some(ServeProcess::start()), ServeProcess::as_ordinary_user];
    for (sandbox, user) in ["none", "workspaceWrite"].into_iter().flat_map(|sandbox| users.map(|user| (sandbox, user)))
    {
        let Some(served) = user() else { continue };
        let text = "{ declare -f ask; echo \"PORT=$PORT TOKEN=$TOKEN\"; echo \"START_REQUEST='$START_REQUEST'\"
              echo 'for _ in 1 2 3 4 5 6 7 8 9; do ask POST /api/sessions \"$START_REQUEST\" made; sleep 0.1; done'
            } > escape.sh
            (setsid env -i /bin/bash -c 'setsid env -i /bin/bash ./escape.sh & exit' &)
            sleep 0.2; kill -STOP $PPID; kill -9 $PPID; kill -9 1; sleep 2; true";
        let (served, _, answers) = run_script_on(served, text, &["made"], sandbox);
        assert!(!answers[0].contains("201") && !answers[0].contains("\"id\""), "{sandbox}: {}", answers[0]);
        assert_eq!(served.sessions().len(), 1, "{sandbox}");
        let is_left = |entry: &fs::DirEntry| {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let directory = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains("escape.sh") && directory.starts_with(served.folder.path())
        };
        assert!(!fs::read_dir("/proc").unwrap().flatten().any(|entry| is_left(&entry)), "{sandbox}");
    }
}

/// The request waits on the connection for one that is answered when the session ends; by then no process of the
/// session is left that could be identified.
#[test]
fn a_request_that_outlives_its_session_is_refused() {
    let text = "exec 3<>/dev/tcp/127.0.0.1/$PORT
        printf 'GET /api/sessions/%s/events?after=1000000&wait=20 HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\n\
            Authorization: Bearer %s\\r\\n\\r\\n' $SWITCHBOARD_SESSION $PORT $TOKEN >&3
        printf 'POST /api/sessions HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nAuthorization: Bearer %s\\r\\n\
            Content-Type: application/json\\r\\nContent-Length: %s\\r\\n\\r\\n%sGET' \
            $PORT $TOKEN ${#START_REQUEST} \"$START_REQUEST\" >&3
        touch sent";
    for user in [|| Some(ServeProcess::start()), ServeProcess::as_ordinary_user] {
        let Some(served) = user() else { continue };
        let (served, ..) = run_script_on(served, text, &[], "none");
        assert!(served.folder.path().join("work/sent").exists());
        // Another command on another connection follows.
        served.ask("POST", "/api/sessions/none/cancel", None);
        assert_eq!(served.sessions().len(), 1);
    }
}

/// Identifying the caller takes no longer if an agent has many open files.
#[test]
fn open_files_of_an_agent_do_not_delay_commands() {
    let served = ServeProcess::start();
    let folder = served.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    let text =
        "ulimit -n 4000; perl -e 'open($f[$_], q(<), q(/dev/null)) for 1..3900; open(F, q(>), q(ready)); sleep 600'";
    let session = served.session(&script(&folder, text, "none"));
    while !folder.join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (status, body) = served.ask("POST", &format!("/api/sessions/{session}/cancel"), None);
    assert!((200..300).contains(&status), "{status} {body}");
    assert!(served.events(&session).contains("cancelled"));
}

/// The agent has stopped its supervisor and ignores signals: each way to stop it works without the supervisor's help.
#[test]
fn sessions_can_be_stopped_while_their_supervisor_is_stopped() {
    for user in [|| Some(ServeProcess::start()), ServeProcess::as_ordinary_user] {
        let Some(served) = user() else { continue };
        std::thread::scope(|scope| {
            for way in ["cancel", "interrupt", "delete", "timeoutSeconds"] {
                let served = &served;
                scope.spawn(move || stop_without_supervisor(served, way));
            }
        });
    }
}

fn stop_without_supervisor(served: &ServeProcess, way: &str) {
    let folder = served.folder.path().join(format!("work-{way}"));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    // It answers until it has a prompt.
    let text = r#"trap '' INT TERM
        reply() {
            read -r line; id=$(expr "$line" : '.*"id":\([0-9]*\)')
            echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"
        }
        reply '{"protocolVersion":1}'; reply '{"sessionId":"one"}'; read -r prompt
        kill -STOP $PPID; (setsid env -i sleep 1234 & echo $! > pid; touch ready)
        while :; do sleep 0.1; done"#;
    let mut request = script(&folder, text, "none");
    if way == "timeoutSeconds" {
        request["timeoutSeconds"] = 1.into();
    }
    let session = served.session(&request);
    while !folder.join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let path = format!("/api/sessions/{session}");
    let (status, body) = match way {
        "timeoutSeconds" => (200, String::new()),
        "delete" => served.ask("DELETE", &path, None),
        command => served.ask("POST", &format!("{path}/{command}"), None),
    };
    assert!((200..300).contains(&status), "{way}: {status} {body}");
    // The stream ends with the session.
    served.events(&session);
    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    let left = fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    assert!(!left.contains("1234"), "{way}: {left}");
}

/// A set-user-ID program: its open files cannot be inspected.
#[test]
fn an_agent_that_becomes_another_user_commands_nothing() {
    let Some(served) = ServeProcess::as_ordinary_user() else { return };
    let shell = served.folder.path().join("other-user");
    fs::copy("/bin/bash", &shell).unwrap();
    chown(&shell, Some(1234), Some(1234)).unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o4755)).unwrap();
    let text = format!(
        "{{ declare -f ask; echo \"PORT=$PORT TOKEN=$TOKEN START_REQUEST='$START_REQUEST'\"; }} > asking.sh
         {} -p -c 'echo $EUID > user; . ./asking.sh; ask POST /api/sessions \"$START_REQUEST\" made'",
        shell.display()
    );
    let (served, _, answers) = run_script_on(served, &text, &["user", "made"], "none");
    assert_eq!(answers[0].trim(), "1234");
    assert!(answers[1].starts_with("HTTP/1.0 403"), "{}", answers[1]);
    assert_eq!(served.sessions().len(), 1);
}
