//! The network of a confined session, and the protected paths of the agents in the table. The agent is a shell script,
//! whose output counts as that of any program.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use switchboard_agents::{RequestAnswer, RequestDecision};
use switchboard_engine::{RequestAudience, SessionHandle, StartRequest, is_protected};
use switchboard_event::{About, ApprovalMode, Event, EventBody, McpServerConfig, OptionKind, SandboxMode};

use crate::fixtures::{EngineFixture, answer, prompt, remaining_events, resolutions, wait_for_event, wait_for_request};

/// Requests a tunnel from the proxy, and prints the status of its answer.
const TUNNEL: &str = r#"tunnel() {
    perl -MIO::Socket::INET -e '
        my ($host, $port) = $ENV{HTTPS_PROXY} =~ m{//(.*):(\d+)};
        my $s = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port) or die "no proxy\n";
        print $s "CONNECT $ARGV[0] HTTP/1.1\r\nHost: $ARGV[0]\r\n\r\n";
        print STDERR "status ", (split / /, <$s>)[1], "\n";' "$1"
}
"#;

/// Connects without a proxy, and prints the first line of the server.
const GREETING: &str = r#"greeting() {
    perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0]) or die "not connected\n";
        my $line = <$s>; print STDERR defined $line ? $line : "closed\n";' "$1"
}
"#;

/// Answers the next request of the ACP client with a result.
const REPLY: &str = r#"reply() {
    read -r line
    id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"
}
"#;

impl EngineFixture {
    /// Returns the request for a confined agent that runs a script.
    fn confined(&self, script: &str, audience: RequestAudience) -> StartRequest {
        let mut request = StartRequest {
            agent: "acp".to_owned(),
            command: ["sh", "-c", &format!("{TUNNEL}{GREETING}{REPLY}{script}")].map(str::to_owned).to_vec(),
            audience,
            ..self.script("unused")
        };
        request.config.sandbox_mode = Some(SandboxMode::WorkspaceWrite);
        request
    }

    fn network() -> Self {
        let fixture = Self::with_program(env!("CARGO_BIN_EXE_switchboard-fake-agent"));
        fixture.engine.store_network_grants_in(fixture.directory.path().join("data/network.json"));
        fixture
    }
}

/// Starts a server on this machine that sends `hello` to every client.
fn greeter() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            drop((&stream).write_all(b"hello\n"));
        }
    });
    address
}

/// Returns the lines that the script has printed.
fn printed(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| match &event.body {
        EventBody::Notice(notice) if notice.topic == switchboard_event::Topic::Stderr => notice.text.clone(),
        _ => None,
    };
    events.iter().filter_map(line).flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn refusals(events: &[Event]) -> Vec<String> {
    let refusal = |event: &Event| match &event.body {
        EventBody::Notice(notice) => notice.text.clone().filter(|text| text.contains("refused a connection")),
        _ => None,
    };
    events.iter().filter_map(refusal).collect()
}

fn notices(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match &event.body {
        EventBody::Notice(notice) => notice.text.clone(),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

async fn answer_with(session: &SessionHandle, request: &switchboard_event::RequestOpened, option: OptionKind) {
    let chosen = request.options.iter().find(|offered| offered.kind == option).unwrap();
    let answer = RequestAnswer { option: Some(chosen.id.clone()), ..answer(request, RequestDecision::Allow) };
    session.answer_request(answer).await.unwrap();
}

#[tokio::test]
async fn an_unknown_host_is_refused_and_reported_once() {
    let fixture = EngineFixture::network();
    let script = "for i in 1 2 3; do tunnel Example.INVALID:443; done; tunnel 10.0.0.1:80; tunnel 169.254.169.254:80";
    let events = fixture.play(fixture.confined(script, RequestAudience::None)).await;
    assert_eq!(printed(&events), ["status 403"; 5].map(str::to_owned));
    let refusals = refusals(&events);
    assert_eq!(refusals.len(), 3, "{refusals:?}");
    assert!(refusals[0].contains("example.invalid:443") && refusals[0].contains("--allow-domain example.invalid"));
    assert!(refusals[1].contains("--allow-domain 10.0.0.1:80"), "{refusals:?}");
}

#[tokio::test]
async fn auto_approval_does_not_widen_the_sandbox() {
    let fixture = EngineFixture::network();
    let mut request = fixture.confined("tunnel example.invalid:443", RequestAudience::Client);
    request.config.approval_mode = Some(ApprovalMode::AutoAll);
    let events = fixture.play(request).await;
    assert_eq!((printed(&events), refusals(&events).len()), (vec!["status 403".to_owned()], 1));
}

#[tokio::test]
async fn an_allowed_host_is_not_asked_about() {
    let fixture = EngineFixture::network();
    for domain in ["example.invalid", "*.invalid.test", "sub.example.invalid:443"] {
        let host = domain.replace('*', "a");
        let host = if host.contains(':') { host } else { format!("{host}:443") };
        let mut request = fixture.confined(&format!("tunnel {host}"), RequestAudience::None);
        request.config.allowed_domains = Some(vec![domain.to_owned()]);
        let events = fixture.play(request).await;
        // It is allowed, but its name does not resolve.
        assert_eq!((printed(&events), refusals(&events)), (vec!["status 502".to_owned()], Vec::new()), "{domain}");
    }
}

#[tokio::test]
async fn a_person_allows_a_host_once_for_the_session_or_for_good() {
    let fixture = EngineFixture::network();
    let script = "tunnel once.invalid:443; tunnel session.invalid:443; tunnel session.invalid:443; tunnel no.invalid:1
                  tunnel no.invalid:1; tunnel always.invalid:443";
    let session = fixture.start(fixture.confined(script, RequestAudience::Client)).await;
    let mut follower = session.follow();
    for (title, option) in [
        ("Connect to once.invalid:443", Some(OptionKind::AllowOnce)),
        ("Connect to session.invalid:443", Some(OptionKind::AllowSession)),
        ("Connect to no.invalid:1", None),
        ("Connect to always.invalid:443", Some(OptionKind::AllowAlways)),
    ] {
        let request = wait_for_request(&mut follower).await;
        assert_eq!((request.about, request.title.as_str()), (About::Permissions, title));
        match option {
            Some(option) => answer_with(&session, &request, option).await,
            None => session.answer_request(answer(&request, RequestDecision::Decline)).await.unwrap(),
        }
    }
    let events = remaining_events(&mut session.follow()).await;
    let statuses = [502, 502, 502, 403, 403, 502].map(|status| format!("status {status}"));
    assert_eq!(printed(&events), statuses);
    assert_eq!(
        resolutions(&events),
        ["Allowed by Client", "Allowed by Client", "Declined by Client", "Allowed by Client"]
    );
    assert_eq!(refusals(&events).len(), 1, "a declined host is not asked about again");
    let script = "tunnel always.invalid:443; tunnel session.invalid:443";
    let events = fixture.play(fixture.confined(script, RequestAudience::None)).await;
    assert_eq!(printed(&events), ["status 502", "status 403"]);
}

#[tokio::test]
async fn a_request_is_withdrawn_when_nothing_waits_for_it() {
    let fixture = EngineFixture::network();
    let session = fixture
        .start(fixture.confined(
            "timeout 1 sh -c 'exec perl -MIO::Socket::INET -e \"\
        my \\$s = IO::Socket::INET->new(PeerAddr => q(127.0.0.1:3128)) or die;\
        print \\$s qq(CONNECT x.invalid:1 HTTP/1.1\\r\\n\\r\\n); <\\$s>\"'; sleep 0.3",
            RequestAudience::Client,
        ))
        .await;
    wait_for_request(&mut session.follow()).await;
    let events = remaining_events(&mut session.follow()).await;
    assert_eq!(resolutions(&events), ["Withdrawn by Switchboard"]);
}

#[tokio::test]
async fn a_request_that_ends_with_its_turn_does_not_hold_connections() {
    let fixture = EngineFixture::network();
    let script = r#"
        reply '{"protocolVersion":1,"agentCapabilities":{}}'
        reply '{"sessionId":"s"}'
        read -r prompt
        id=$(printf %s "$prompt" | sed 's/.*"id":\([0-9]*\).*/\1/')
        (tunnel x.invalid:443; touch "$PWD/refused"; tunnel x.invalid:443) &
        while [ ! -e "$PWD/asked" ]; do sleep 0.02; done
        echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}}"
        wait"#;
    let mut request = fixture.confined(script, RequestAudience::Client);
    request.prompt = Some(prompt("go"));
    request.stay = true;
    let session = fixture.start(request).await;
    let mut follower = session.follow();
    let first = wait_for_request(&mut follower).await;
    std::fs::write(fixture.directory.path().join("asked"), "").unwrap();
    // The connection that waited is refused, and the next one opens a request of its own.
    let second = wait_for_request(&mut follower).await;
    assert_eq!((first.title == second.title, first.request == second.request), (true, false));
    assert!(fixture.directory.path().join("refused").exists());
    session.answer_request(answer(&second, RequestDecision::Decline)).await.unwrap();
    let events = remaining_events(&mut session.follow()).await;
    assert_eq!(printed(&events), ["status 403", "status 403"]);
    assert_eq!(resolutions(&events), ["Withdrawn by Switchboard", "Declined by Client"]);
}

#[tokio::test]
async fn a_server_on_this_machine_is_reached_only_if_it_is_named() {
    let fixture = EngineFixture::network();
    let (server, own) = (greeter(), greeter());
    fixture.engine.shield_listener(own);
    let script = format!("greeting {server}; greeting {own}; tunnel {server}; tunnel {own}");
    let mut request = fixture.confined(&script, RequestAudience::None);
    request.config.allowed_domains = Some(vec![server.to_string(), own.to_string()]);
    let events = fixture.play(request).await;
    assert_eq!(printed(&events), ["hello", "closed", "status 200", "status 403"]);
    let events = fixture.play(fixture.confined(&script, RequestAudience::None)).await;
    // Loopback addresses in requests to the proxy are those of the session.
    assert_eq!(printed(&events), ["not connected", "not connected", "status 502", "status 502"]);
    let mut free =
        fixture.confined(&format!("greeting {server}; echo \"${{HTTPS_PROXY-none}}\" >&2"), RequestAudience::None);
    free.config.network_access = Some(true);
    assert_eq!(printed(&fixture.play(free).await), ["hello", "none"]);
}

#[tokio::test]
async fn a_published_port_leads_into_the_session() {
    let fixture = EngineFixture::network();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = format!(
        "exec perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => q(127.0.0.1:{port})) or die;\
         print STDERR qq(listening\\n); my $c = $l->accept; print $c qq(from inside\\n); close $c'"
    );
    let mut request = fixture.confined(&script, RequestAudience::None);
    request.config.published_ports = Some(vec![port]);
    let second = request.clone();
    let session = fixture.start(request).await;
    let mut follower = session.follow();
    wait_for_event(&mut follower, |body| match body {
        EventBody::Notice(notice) => notice.text.as_deref().filter(|text| text.contains("listening")).map(|_| ()),
        _ => None,
    })
    .await;
    let refused = fixture.engine.start_session(second).await.map(drop).unwrap_err().to_string();
    assert!(refused.contains(&format!("cannot publish port {port}")), "{refused}");
    let read = move || {
        let mut text = String::new();
        TcpStream::connect(("127.0.0.1", port)).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(tokio::task::spawn_blocking(read).await.unwrap(), "from inside\n");
    remaining_events(&mut follower).await;
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the port is closed with the session");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn requests_per_turn_are_limited() {
    let fixture = EngineFixture::network();
    let script = "for i in $(seq 130); do timeout 0.05 sh -c 'exec perl -MIO::Socket::INET -e \"\
        my \\$s = IO::Socket::INET->new(PeerAddr => q(127.0.0.1:3128)) or die;\
        print \\$s qq(CONNECT x'$i'.invalid:1 HTTP/1.1\\r\\n\\r\\n); <\\$s>\"'; done";
    let events = fixture.play(fixture.confined(script, RequestAudience::Client)).await;
    let asked = events.iter().filter(|event| matches!(event.body, EventBody::RequestOpened(_))).count();
    assert!((1..=100).contains(&asked), "{asked}");
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::RequestOpened(request) => Some(request.request.to_string()),
            _ => None,
        })
        .collect();
    assert!(ids.iter().all(|id| id.len() > "network-".len() + 8), "an agent could guess {ids:?}");
    assert_eq!(resolutions(&events), vec!["Withdrawn by Switchboard"; asked]);
}

#[tokio::test]
async fn hosts_beyond_the_limit_are_summarized() {
    let fixture = EngineFixture::network();
    let script = "perl -MIO::Socket::INET -e 'for my $i (1..105) {
        my $s = IO::Socket::INET->new(PeerAddr => q(127.0.0.1:3128)) or die;
        print $s qq(CONNECT x$i.invalid:1 HTTP/1.1\\r\\n\\r\\n); <$s> }'";
    let mut refusals = notices(&fixture.play(fixture.confined(script, RequestAudience::None)).await);
    refusals.retain(|text| text.contains("the sandbox refused"));
    let (single, summaries) = refusals.split_at(100);
    assert!(single.iter().all(|text| text.contains("--allow-domain")), "{single:?}");
    let is_summary = |(text, count): (&String, &str)| text.contains("more than 100 hosts") && text.contains(count);
    let counts = ["1 more so far, the last one to x101.invalid:1", "2 more so far", "4 more so far"];
    assert!(summaries.len() == 3 && summaries.iter().zip(counts).all(is_summary), "{summaries:?}");
}

#[tokio::test]
async fn settings_of_the_network_without_effect_are_reported() {
    let fixture = EngineFixture::network();
    for (mode, network_access, reason) in [
        (Some(SandboxMode::WorkspaceWrite), Some(true), "with networkAccess: true"),
        (None, None, "without a sandbox"),
        (Some(SandboxMode::FullAccess), None, "without a sandbox"),
        (Some(SandboxMode::WorkspaceWrite), None, ""),
    ] {
        let mut request = fixture.confined("true", RequestAudience::None);
        request.config.sandbox_mode = mode;
        request.config.network_access = network_access;
        request.config.allowed_domains = Some(vec!["example.invalid".to_owned()]);
        request.config.published_ports = Some(Vec::new());
        let notices = notices(&fixture.play(request).await);
        let remarks: Vec<_> = notices.iter().filter(|text| text.contains("has no effect")).collect();
        let is_expected = |text: &&&String| text.starts_with("allowedDomains has no effect") && text.contains(reason);
        let expected = usize::from(!reason.is_empty());
        assert_eq!((remarks.len(), remarks.iter().filter(is_expected).count()), (expected, expected), "{remarks:?}");
    }
}

#[tokio::test]
async fn an_external_sandbox_limits_the_network_itself() {
    let fixture = EngineFixture::network();
    let mut request = fixture.confined("true", RequestAudience::None);
    request.config.sandbox_mode = None;
    request.config.network_access = Some(false);
    let notices = notices(&fixture.play(request).await);
    let is_remark =
        |text: &&String| text.contains("Switchboard leaves the network to whatever confines it from outside");
    assert_eq!(notices.iter().filter(is_remark).count(), 1, "{notices:?}");
}

#[tokio::test]
async fn a_port_is_not_published_and_reached_at_once() {
    let fixture = EngineFixture::network();
    for local in ["localhost:18321", "127.0.0.1:18321", "[::1]:18321"] {
        let mut request = fixture.confined("true", RequestAudience::None);
        request.config.allowed_domains = Some(vec![local.to_owned()]);
        request.config.published_ports = Some(vec![18321]);
        let error = fixture.engine.start_session(request).await.map(drop).unwrap_err().to_string();
        assert!(error.contains("port 18321 is published"), "{error}");
    }
}

#[tokio::test]
async fn servers_of_the_session_are_allowed() {
    let fixture = EngineFixture::network();
    let script = "tunnel mcp.invalid:443; tunnel mcp.invalid:80; tunnel other.invalid:8080";
    let mut request = fixture.confined(script, RequestAudience::None);
    let url = Some("https://mcp.invalid/sse".to_owned());
    request.config.mcp_servers.insert("remote".to_owned(), McpServerConfig { url, ..McpServerConfig::default() });
    // It is allowed on its port, but its name does not resolve.
    assert_eq!(printed(&fixture.play(request).await), ["status 502", "status 403", "status 403"]);
}

#[tokio::test]
async fn connections_that_come_and_go_leave_nothing_behind() {
    let fixture = EngineFixture::network();
    // One connection waits, and others to the same host give up.
    let script = "tunnel x.invalid:1 & sleep 0.2
        perl -MIO::Socket::INET -e 'for (1..300) {
            my $s = IO::Socket::INET->new(PeerAddr => q(127.0.0.1:3128)) or die;
            print $s qq(CONNECT x.invalid:1 HTTP/1.1\\r\\n\\r\\n); close $s }'; touch closed; wait";
    let session = fixture.start(fixture.confined(script, RequestAudience::Client)).await;
    let mut follower = session.follow();
    let request = wait_for_request(&mut follower).await;
    while !fixture.directory.path().join("closed").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    session.answer_request(answer(&request, RequestDecision::Decline)).await.unwrap();
    let events = remaining_events(&mut session.follow()).await;
    assert_eq!(resolutions(&events), ["Declined by Client"]);
    assert!(printed(&events).contains(&"status 403".to_owned()));
}

#[tokio::test]
async fn a_wildcard_is_not_a_host_name() {
    let fixture = EngineFixture::network();
    let events =
        fixture.play(fixture.confined("tunnel '*.invalid:443'; tunnel '*:443'", RequestAudience::Client)).await;
    assert_eq!((printed(&events), refusals(&events)), (vec!["status 400".to_owned(); 2], Vec::new()));
}

#[tokio::test]
async fn one_server_may_be_allowed_by_several_names() {
    let fixture = EngineFixture::network();
    let server = greeter();
    let mut request = fixture.confined(&format!("greeting {server}"), RequestAudience::None);
    request.config.allowed_domains = Some(vec![server.to_string(), format!("localhost:{}", server.port())]);
    assert_eq!(printed(&fixture.play(request).await), ["hello"]);
}

#[tokio::test]
async fn a_rule_that_allows_too_much_is_refused() {
    let fixture = EngineFixture::network();
    for (domain, reason) in [("*", "networkAccess"), ("localhost", "needs a port"), ("http://x", "is not a host")] {
        let mut request = fixture.confined("true", RequestAudience::None);
        request.config.allowed_domains = Some(vec![domain.to_owned()]);
        let error = fixture.engine.start_session(request).await.map(drop).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn settings_hooks_and_plugins_of_agents_are_protected() {
    let home = Path::new("/home/ada");
    #[rustfmt::skip]
    let paths = [
        "/w/.claude/settings.json", "/w/.claude/settings.local.json", "/w/.claude/hooks/run.sh",
        "/home/ada/.claude/settings.json", "/home/ada/.claude.json", "/w/.codex/config.toml", "/w/.codex/hooks.json",
        "/home/ada/.codex/rules/default.rules", "/w/.gemini/settings.json",
        "/w/.gemini/extensions/x/gemini-extension.json", "/w/opencode.json", "/w/.opencode/plugin/x.ts",
        "/home/ada/.config/opencode/opencode.jsonc", "/w/.qwen/settings.json",
    ];
    for path in paths {
        assert!(is_protected(Path::new(path), home), "{path}");
    }
    for path in [
        "/w/CLAUDE.md",
        "/w/AGENTS.md",
        "/home/ada/.claude/projects/x/session.jsonl",
        "/home/ada/.codex/sessions/2026/x.jsonl",
        "/home/ada/.gemini/tmp/x/chats/session.jsonl",
        "/w/.claude.json",
    ] {
        assert!(!is_protected(Path::new(path), home), "{path}");
    }
}
