//! What an agent in a session can do with the server that runs it: look, and nothing else.

use std::fs;

use super::rig::{Served, script};
use crate::binary::command;

/// Says to the server, from inside, what follows as METHOD, PATH and BODY; the answer goes to a file.
const ASK: &str = r#"
ask() {
  exec 3<>/dev/tcp/127.0.0.1/$PORT
  printf '%s %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
    "$1" "$2" "$PORT" "$TOKEN" "${#3}" "$3" >&3
  cat <&3 > "$4"
  exec 3>&-
}
ORDER='{"agentType":"echo","prompt":"free"}'
"#;

/// A server, and the answers that a script in a session of it got.
fn inside(script_text: &str, files: &[&str]) -> (Served, String, Vec<String>) {
    confined(script_text, files, "workspaceWrite")
}

/// The same in a sandbox, or in none.
fn confined(script_text: &str, files: &[&str], sandbox: &str) -> (Served, String, Vec<String>) {
    let served = Served::start();
    let folder = served.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    let program = command(&[]).get_program().to_string_lossy().into_owned();
    // The token is hidden from a confined agent, which may have learned it in another way.
    let (port, data, token) = (served.port, served.data(), &served.token);
    let begin = format!("PORT={port}\nDATA={}\nTOKEN={token}\nPROGRAM={program}\n", data.display());
    let text = format!("{begin}{ASK}{script_text}");
    let mut request = script(&folder, &text, sandbox);
    if served.ask("POST", "/api/sessions", Some(&request)).1.contains("no_sandbox") {
        // A kernel without Landlock: who may command does not depend on it.
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
        inside("ask POST /api/sessions \"$ORDER\" made; ask GET /api/sessions '' seen", &["made", "seen"]);
    assert!(answers[0].starts_with("HTTP/1.0 403") && answers[0].contains("from_a_session"), "{}", answers[0]);
    assert!(answers[1].starts_with("HTTP/1.0 200"), "{}", answers[1]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn it_helps_an_agent_nothing_to_go_where_it_is_not_looked_for() {
    let text = "export PORT TOKEN ORDER; export -f ask\n\
                setsid bash -c '(trap \"\" HUP; ask POST /api/sessions \"$ORDER\" made; touch done) & exit 0'\n\
                while [ ! -e done ]; do sleep 0.01; done";
    let (served, _, answers) = inside(text, &["made"]);
    assert!(answers[0].starts_with("HTTP/1.0 403"), "{}", answers[0]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn an_agent_that_does_not_wait_for_the_answer_is_not_obeyed() {
    let text = "exec 3<>/dev/tcp/127.0.0.1/$PORT\n\
                printf 'POST /api/sessions HTTP/1.0\\r\\nHost: 127.0.0.1:%s\\r\\nAuthorization: Bearer %s\\r\\n\
                Content-Length: %s\\r\\n\\r\\n%s' $PORT $TOKEN ${#ORDER} \"$ORDER\" >&3\n\
                exec 3>&-";
    let (served, ..) = inside(text, &[]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn the_private_sockets_are_no_way_either() {
    // Not in a sandbox: there, the command cannot even open the log.
    let text = "$PROGRAM sessions cancel --data $DATA $SWITCHBOARD_SESSION > said 2>&1; echo $? > code";
    let (served, _, answers) = confined(text, &["said", "code"], "none");
    assert!(answers[0].contains("a session may not command sessions"), "{}", answers[0]);
    assert_ne!(answers[1].trim(), "0");
    assert_ne!(served.sessions()[0]["state"], "cancelled");
}

#[test]
fn the_token_is_masked_in_what_is_kept() {
    let (served, events, _) = inside("echo $TOKEN; echo $TOKEN >&2; echo '{\"a\":\"'$TOKEN'\"}'", &[]);
    assert!(!events.contains(&served.token));
    assert!(events.matches("***").count() >= 3, "{events}");
    let kept = fs::read(served.data().join("log.db-wal")).unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains(&served.token));
}

#[test]
fn a_confined_agent_does_not_see_the_token_nor_the_private_sockets() {
    for (sandbox, is_hidden) in [("workspaceWrite", true), ("none", false)] {
        let text = "cat $DATA/token > token; ls $DATA/owners > owners; cp token owners . 2>/dev/null";
        let (served, _, answers) = confined(text, &["token", "owners"], sandbox);
        assert_eq!(answers[0].trim().is_empty(), is_hidden, "{sandbox}");
        assert_eq!(answers[1].trim().is_empty(), is_hidden, "{sandbox}: {}", answers[1]);
        assert_eq!(served.sessions().len(), 1);
    }
}

/// A process that has shed everything by which it could be recognized, and has killed its supervisor.
#[test]
fn an_agent_that_kills_its_supervisor_commands_nothing_and_leaves_nothing() {
    for sandbox in ["none", "workspaceWrite"] {
        let text = "{ declare -f ask; echo \"PORT=$PORT TOKEN=$TOKEN\"; echo \"ORDER='$ORDER'\"
              echo 'for _ in 1 2 3 4 5 6 7 8 9; do ask POST /api/sessions \"$ORDER\" made; sleep 0.1; done'
            } > escape.sh
            (setsid env -i /bin/bash -c 'setsid env -i /bin/bash ./escape.sh & exit' &)
            sleep 0.2; kill -STOP $PPID; kill -9 $PPID; kill -9 1; sleep 2; true";
        let (served, _, answers) = confined(text, &["made"], sandbox);
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
