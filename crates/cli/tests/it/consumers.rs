//! What consumers receive for every recording, and the tables of it in `docs/consumers.md`, which `cargo xtask
//! snapshots` rewrites.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::json;
use switchboard_dialects::consumer::ConsumerState;
use switchboard_dialects::consumer::map::map_message;
use switchboard_dialects::consumer::reduce::StateReducer;
use switchboard_dialects::consumer::route::{MessageHandling, ROUTES, SPECIFIED_ROUTES, find_handling};
use switchboard_dialects::consumer::unified::{CONTENT_TYPES, UnifiedContent, UnifiedMessage, UnifiedMessageType};
use switchboard_dialects::consumer::wire::{Sequenced, TaskStatus};
use switchboard_dialects::find_dialect;
use switchboard_testkit::recording::{Recording, load_recordings, project_messages, stream_events};
use switchboard_testkit::repository_root;

use crate::verdict;

/// The test generates the text between these lines.
const BEGIN: &str = "<!-- generated: begin -->\n";

const END: &str = "<!-- generated: end -->\n";

/// The unified messages of a recording.
fn unified(recording: &Recording) -> Vec<UnifiedMessage> {
    let mut projection = (find_dialect("message").unwrap().projection)();
    let messages = project_messages(&mut *projection, &stream_events(recording.source, &recording.bytes));
    messages.iter().map(|message| UnifiedMessage::read(message).unwrap()).collect()
}

/// The types of messages and content in the recordings, each with its agents.
#[derive(Default)]
struct ObservedMessages {
    agents: BTreeSet<&'static str>,
    kinds: BTreeMap<UnifiedMessageType, BTreeSet<&'static str>>,
    /// Types that classify tool calls and are not messages.
    team_types: BTreeMap<UnifiedMessageType, BTreeSet<&'static str>>,
    contents: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl ObservedMessages {
    fn everywhere() -> Self {
        let mut heard = Self::default();
        for recording in load_recordings().unwrap() {
            let agent = recording.source.agent;
            heard.agents.insert(agent);
            for message in unified(&recording) {
                heard.kinds.entry(message.kind).or_default().insert(agent);
                if let Some(team_type) = message.metadata.get_text("team_type") {
                    heard.team_types.entry(UnifiedMessageType::from_name(&team_type)).or_default().insert(agent);
                }
                for content in message.content.iter().filter_map(content_type) {
                    heard.contents.entry(content).or_default().insert(agent);
                }
            }
        }
        heard
    }

    fn says(&self, agent: &str, kind: UnifiedMessageType) -> bool {
        self.kinds.get(&kind).is_some_and(|agents| agents.contains(agent))
    }
}

fn content_type(content: &UnifiedContent) -> Option<&'static str> {
    Some(match content {
        UnifiedContent::Text(_) => "text",
        UnifiedContent::ToolUse { .. } => "tool_use",
        UnifiedContent::ToolResult { .. } => "tool_result",
        UnifiedContent::Thinking { .. } => "thinking",
        UnifiedContent::Refusal(_) => "refusal",
        UnifiedContent::Code { .. } => "code",
        UnifiedContent::Image { .. } => "image",
        UnifiedContent::Other { .. } => return None,
    })
}

/// Constructs a message of a type that no recording of an agent has.
fn constructed(agent: &str, kind: UnifiedMessageType) -> UnifiedMessage {
    let content: Vec<_> =
        CONTENT_TYPES.iter().map(|kind| json!({"type": kind, "media_type": "image/png", "data": ""})).collect();
    let json = json!({"id": "made", "timestamp": 1, "type": kind.type_name(), "role": "system", "content": content,
        "metadata": {"session_id": agent, "agent": agent, "status": "running", "subtype": "made", "request_id": "r"}});
    UnifiedMessage::read(json.to_string().as_bytes()).unwrap()
}

/// Returns what is wrong with the message that consumers receive.
fn wrong(message: &UnifiedMessage, state: &ConsumerState, validator: &jsonschema::Validator) -> Option<String> {
    let mapped = map_message(message, state);
    let fits = match find_handling(message.kind) {
        MessageHandling::Mapped | MessageHandling::Filtered => mapped.is_some(),
        // Only output of the agent's process is passed on.
        MessageHandling::Printed => true,
        MessageHandling::Direct
        | MessageHandling::Delegated
        | MessageHandling::Outbound
        | MessageHandling::Taxonomy
        | MessageHandling::Traced => mapped.is_none(),
    };
    if !fits {
        return Some(format!("{} is not what the router says", message.kind.type_name()));
    }
    let told = serde_json::to_value(Sequenced::from(mapped?)).unwrap();
    validator.iter_errors(&told).next().map(|error| format!("{}: {error} in {told}", message.kind.type_name()))
}

#[test]
fn every_type_of_every_agent_is_mapped() {
    let validator = jsonschema::validator_for(&(find_dialect("consumer").unwrap().schema)(&[])).unwrap();
    let (mut failed, mut recorded) = (Vec::new(), BTreeSet::new());
    for recording in load_recordings().unwrap() {
        let mut reduced = StateReducer::default();
        for message in unified(&recording) {
            let before = reduced.state.clone();
            reduced.apply_message(&message);
            assert_eq!(before.with_difference(&before.difference_to(&reduced.state)), reduced.state, "{recording}");
            // Validation is slow, so one message of each type and recording is checked.
            if recorded.insert((recording.path.clone(), message.kind)) {
                failed.extend(wrong(&message, &reduced.state, &validator).map(|why| format!("{recording}: {why}")));
            }
        }
    }
    let heard = ObservedMessages::everywhere();
    for agent in &heard.agents {
        for (kind, _) in UnifiedMessageType::ALL.iter().filter(|(kind, _)| !heard.says(agent, *kind)) {
            let message = constructed(agent, *kind);
            let state = StateReducer::default().with_message(&message).state;
            failed.extend(wrong(&message, &state, &validator).map(|why| format!("{agent}, made up: {why}")));
        }
    }
    verdict("what consumers get", failed);
}

#[test]
fn teams_are_found_in_recordings() {
    let teams = load_recordings().unwrap().into_iter().filter_map(|recording| {
        let state = unified(&recording).iter().fold(StateReducer::default(), StateReducer::with_message).state;
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
    // A record for a client that is not connected is not sent.
    let messages: Vec<_> = team.messages.iter().map(|one| (one.to.as_str(), one.text.as_str())).collect();
    assert_eq!(messages, [("bob", "look closely")]);
}

fn list(agents: Option<&BTreeSet<&'static str>>) -> String {
    match agents {
        Some(agents) => agents.iter().copied().collect::<Vec<_>>().join(", "),
        None => "none: tested with constructed messages".to_owned(),
    }
}

fn tables() -> String {
    let heard = ObservedMessages::everywhere();
    let mut text = String::from(
        "| type | router | consumer mapper | state reducer | broadcast | here: router | consumer mapper | state reducer \
         | broadcast | in recordings of |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (specified, ours) in SPECIFIED_ROUTES.iter().zip(ROUTES) {
        let cells = specified.table_columns().into_iter().chain(ours.table_columns()).collect::<Vec<_>>().join(" | ");
        let agents = match heard.team_types.get(&ours.kind) {
            Some(agents) => format!("{}, as `team_type`", list(Some(agents))),
            None => list(heard.kinds.get(&ours.kind)),
        };
        text.push_str(&format!("| `{}` | {cells} | {agents} |\n", ours.kind.type_name()));
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
    let file = repository_root().join("docs/consumers.md");
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
