//! What an agent in a session can do with the server that runs it: look, and nothing else.

use std::fs;

use super::rig::{Served, script};
use crate::binary::command;

/// Says to the server, from inside, what follows as METHOD, PATH and BODY; the answer goes to a file.
const ASK: &str = r#"
ask() {
  exec 3<>/dev/tcp/127.0.0.1/$PORT
  printf '%s %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
    "$1" "$2" "$PORT" "$(cat $DATA/token)" "${#3}" "$3" >&3
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
    let begin = format!("PORT={}\nDATA={}\nPROGRAM={program}\n", served.port, served.data().display());
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
fn an_agent_cannot_start_a_session_though_it_reads_the_token() {
    let (served, _, answers) =
        inside("ask POST /api/sessions \"$ORDER\" made; ask GET /api/sessions '' seen", &["made", "seen"]);
    assert!(answers[0].starts_with("HTTP/1.0 403") && answers[0].contains("from_a_session"), "{}", answers[0]);
    assert!(answers[1].starts_with("HTTP/1.0 200"), "{}", answers[1]);
    assert_eq!(served.sessions().len(), 1);
}

#[test]
fn it_helps_an_agent_nothing_to_go_where_it_is_not_looked_for() {
    let text = "export PORT DATA ORDER; export -f ask\n\
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
                Content-Length: %s\\r\\n\\r\\n%s' $PORT $(cat $DATA/token) ${#ORDER} \"$ORDER\" >&3\n\
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
    let (served, events, _) =
        inside("cat $DATA/token; cat $DATA/token >&2; echo '{\"a\":\"'$(cat $DATA/token)'\"}'", &[]);
    assert!(!events.contains(&served.token));
    assert!(events.matches("***").count() >= 3, "{events}");
    let kept = fs::read(served.data().join("log.db-wal")).unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains(&served.token));
}
