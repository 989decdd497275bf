//! What consumers get of every recording of every agent, and the tables of it in `docs/consumers.md`.
//! `cargo xtask snapshots` writes them anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::json;
use switchboard_dialects::{
    consumer::{
        State,
        map::map,
        reduce::Reduced,
        route::{Handling, ROUTES, SPECIFIED, route},
        unified::{CONTENT_TYPES, Content, MessageType, Unified},
        wire::{Sequenced, TaskStatus},
    },
    dialect,
};
use switchboard_testkit::{
    play::{events, messages},
    recording::{Recording, recordings},
    repository,
};

use crate::verdict::verdict;

/// What lies between these lines is written by the test.
const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

/// The unified messages of a recording.
fn unified(recording: &Recording) -> Vec<Unified> {
    let mut projection = (dialect("message").unwrap().projection)();
    let messages = messages(&mut *projection, &events(recording.source, &recording.bytes));
    messages.iter().map(|message| Unified::read(message).unwrap()).collect()
}

/// What agents say in our recordings: the types of messages and of content, each with its agents.
#[derive(Default)]
struct Heard {
    agents: BTreeSet<&'static str>,
    kinds: BTreeMap<MessageType, BTreeSet<&'static str>>,
    /// What classifies tool calls and is no message.
    team_types: BTreeMap<MessageType, BTreeSet<&'static str>>,
    contents: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl Heard {
    fn everywhere() -> Self {
        let mut heard = Self::default();
        for recording in recordings().unwrap() {
            let agent = recording.source.agent;
            heard.agents.insert(agent);
            for message in unified(&recording) {
                heard.kinds.entry(message.kind).or_default().insert(agent);
                if let Some(team_type) = message.metadata.text("team_type") {
                    heard.team_types.entry(MessageType::named(&team_type)).or_default().insert(agent);
                }
                for content in message.content.iter().filter_map(content_type) {
                    heard.contents.entry(content).or_default().insert(agent);
                }
            }
        }
        heard
    }

    fn says(&self, agent: &str, kind: MessageType) -> bool {
        self.kinds.get(&kind).is_some_and(|agents| agents.contains(agent))
    }
}

fn content_type(content: &Content) -> Option<&'static str> {
    Some(match content {
        Content::Text(_) => "text",
        Content::ToolUse { .. } => "tool_use",
        Content::ToolResult { .. } => "tool_result",
        Content::Thinking { .. } => "thinking",
        Content::Refusal(_) => "refusal",
        Content::Code { .. } => "code",
        Content::Image { .. } => "image",
        Content::Other { .. } => return None,
    })
}

/// A message of a type that no recording of an agent has.
fn constructed(agent: &str, kind: MessageType) -> Unified {
    let content: Vec<_> =
        CONTENT_TYPES.iter().map(|kind| json!({"type": kind, "media_type": "image/png", "data": ""})).collect();
    let json = json!({"id": "made", "timestamp": 1, "type": kind.name(), "role": "system", "content": content,
        "metadata": {"session_id": agent, "agent": agent, "status": "running", "subtype": "made", "request_id": "r"}});
    Unified::read(json.to_string().as_bytes()).unwrap()
}

/// What is wrong with what consumers get of a message.
fn wrong(message: &Unified, state: &State, validator: &jsonschema::Validator) -> Option<String> {
    let mapped = map(message, state);
    let fits = match route(message.kind) {
        Handling::Mapped | Handling::Filtered => mapped.is_some(),
        // Only what the agent's process printed is passed on.
        Handling::Printed => true,
        Handling::Direct | Handling::Delegated | Handling::Outbound | Handling::Taxonomy | Handling::Traced => {
            mapped.is_none()
        }
    };
    if !fits {
        return Some(format!("{} is not what the router says", message.kind.name()));
    }
    let told = serde_json::to_value(Sequenced::from(mapped?)).unwrap();
    validator.iter_errors(&told).next().map(|error| format!("{}: {error} in {told}", message.kind.name()))
}

#[test]
fn every_type_of_every_agent_is_mapped() {
    let validator = jsonschema::validator_for(&(dialect("consumer").unwrap().schema)(&[])).unwrap();
    let (mut failed, mut recorded) = (Vec::new(), BTreeSet::new());
    for recording in recordings().unwrap() {
        let mut reduced = Reduced::default();
        for message in unified(&recording) {
            let before = reduced.state.clone();
            reduced.take(&message);
            assert_eq!(before.with(&before.difference(&reduced.state)), reduced.state, "{recording}");
            // One message of each type and recording is held against the schema: that is slow.
            if recorded.insert((recording.path.clone(), message.kind)) {
                failed.extend(wrong(&message, &reduced.state, &validator).map(|why| format!("{recording}: {why}")));
            }
        }
    }
    let heard = Heard::everywhere();
    for agent in &heard.agents {
        for (kind, _) in MessageType::ALL.iter().filter(|(kind, _)| !heard.says(agent, *kind)) {
            let message = constructed(agent, *kind);
            let state = Reduced::default().next(&message).state;
            failed.extend(wrong(&message, &state, &validator).map(|why| format!("{agent}, made up: {why}")));
        }
    }
    verdict("what consumers get", failed);
}

#[test]
fn teams_are_found_in_recordings() {
    let teams = recordings().unwrap().into_iter().filter_map(|recording| {
        let state = unified(&recording).iter().fold(Reduced::default(), Reduced::next).state;
        state.team.filter(|team| !team.members.is_empty())
    });
    let teams: Vec<_> = teams.collect();
    let team = teams.iter().find(|team| team.tasks.len() == 2).unwrap_or_else(|| panic!("{teams:?}"));
    let tasks: Vec<_> = team.tasks.iter().map(|task| (task.id.as_str(), task.status, task.owner.as_deref())).collect();
    assert_eq!(tasks, [("1", TaskStatus::Completed, Some("bob")), ("2", TaskStatus::Pending, None)]);
    assert_eq!(team.tasks[1].blocked_by, ["1"]);
    let members: Vec<_> =
        team.members.iter().map(|member| (member.name.as_str(), member.agent_type.as_str())).collect();
    assert_eq!(members, [("bob", "general-purpose")]);
    // What was written to somebody who is not there was not sent.
    let messages: Vec<_> = team.messages.iter().map(|one| (one.to.as_str(), one.text.as_str())).collect();
    assert_eq!(messages, [("bob", "look closely")]);
}

fn list(agents: Option<&BTreeSet<&'static str>>) -> String {
    match agents {
        Some(agents) => agents.iter().copied().collect::<Vec<_>>().join(", "),
        None => "none: tested with constructed messages".to_owned(),
    }
}

/// The tables as they should be.
fn tables() -> String {
    let heard = Heard::everywhere();
    let mut text = String::from(
        "| type | router | consumer mapper | state reducer | broadcast | here: router | consumer mapper | state reducer \
         | broadcast | in recordings of |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (specified, ours) in SPECIFIED.iter().zip(ROUTES) {
        let cells = specified.columns().into_iter().chain(ours.columns()).collect::<Vec<_>>().join(" | ");
        let agents = match heard.team_types.get(&ours.kind) {
            Some(agents) => format!("{}, as `team_type`", list(Some(agents))),
            None => list(heard.kinds.get(&ours.kind)),
        };
        text.push_str(&format!("| `{}` | {cells} | {agents} |\n", ours.kind.name()));
    }
    text.push_str("\n| content | consumer mapper | in recordings of |\n|---|---|---|\n");
    for kind in CONTENT_TYPES {
        text.push_str(&format!("| `{kind}` | YES | {} |\n", list(heard.contents.get(kind))));
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says whether files are written")]
fn tables_in_the_documentation_are_fresh() {
    let file = repository().join("docs/consumers.md");
    let document = fs::read_to_string(&file).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("where the tables begin");
    let (held, after) = rest.split_once(END).expect("where the tables end");
    let wanted = format!("\n{}\n", tables());
    if held == wanted {
        return;
    }
    let writes = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    assert!(writes, "`cargo xtask snapshots` writes them anew; they should be\n{wanted}");
    fs::write(&file, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
}
