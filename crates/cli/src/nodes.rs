//! `switchboard nodes`: the nodes of a cluster, and letting one accept no new sessions.

use std::path::PathBuf;

use anstyle::Style;
use clap::{Args, Subcommand};
use switchboard_client::{NodeStateView, NodeView};
use switchboard_cluster::{ClusterClient, NodeDescription, NodeRequest, RequestTarget};
use switchboard_serve::{Problem, node_view};

use crate::{
    cluster::ClusterArgs,
    failure::Failure,
    host,
    logs::table_layout::{LastColumn, NEVER_DROPPED, TableColumn, TableRow, layout_table},
    terminal::{Terminal, print_note, print_output},
    view::{
        sanitize::sanitize_line,
        style::{DIM, GREEN, PLAIN, StyledText, YELLOW},
    },
};

/// List the nodes of a cluster, and drain them
///
/// Shows the name, state, version, labels, running sessions and installed agents of each node. A node that is gone has
/// ended or cannot reach NATS.
#[derive(Args)]
pub struct NodesArgs {
    #[command(subcommand)]
    command: Option<NodesCommand>,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum NodesCommand {
    /// Let a node accept no new sessions; running ones finish
    ///
    /// Lasts until the node is resumed or restarted.
    Drain(NodeName),
    /// Let a drained node accept sessions again
    Resume(NodeName),
}

#[derive(Args)]
struct NodeName {
    /// Name of the node
    #[arg(value_name = "NODE")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArgs,
}

pub fn run(args: &NodesArgs) -> Result<(), Failure> {
    let folder = host::absolute_path(&host::data_directory(args.data.clone())?);
    let cluster = match &args.command {
        Some(NodesCommand::Drain(node) | NodesCommand::Resume(node)) if node.cluster.is_given() => &node.cluster,
        _ => &args.cluster,
    };
    let setup = cluster.setup(&folder, NodeDescription::default())?;
    let setup = setup.ok_or_else(|| Failure::bad_value("--cluster", "no NATS servers given"))?;
    let client = ClusterClient::connect(setup.options)?;
    match &args.command {
        None => list_nodes(&client, args.json),
        Some(NodesCommand::Drain(node)) => {
            change_node(&client, &node.name, "drain")?;
            print_note(&format!("{} is draining: it accepts no new sessions", node.name));
            Ok(())
        }
        Some(NodesCommand::Resume(node)) => {
            change_node(&client, &node.name, "resume")?;
            print_note(&format!("{} accepts sessions again", node.name));
            Ok(())
        }
    }
}

fn list_nodes(client: &ClusterClient, json: bool) -> Result<(), Failure> {
    let nodes: Vec<NodeView> = client.nodes().into_iter().map(node_view).collect();
    if json {
        let line = |node| format!("{}\n", serde_json::to_string(node).unwrap_or_default());
        return print_output(&nodes.iter().map(line).collect::<String>());
    }
    if nodes.is_empty() {
        print_note("no nodes; start one with `switchboard serve --cluster URLS --node NAME`");
        return Ok(());
    }
    print_output(&render_table(&nodes, &Terminal::new()))
}

fn change_node(client: &ClusterClient, name: &str, operation: &str) -> Result<(), Failure> {
    let nodes = client.nodes();
    if !nodes.iter().any(|node| node.description.name == name) {
        let known: Vec<_> = nodes.iter().map(|node| format!("  {}", node.description.name)).collect();
        return Err(Failure::UnknownName { what: "node", given: name.to_owned(), known: known.join("\n") });
    }
    let path = format!("/api/nodes/{name}/{operation}");
    let request = NodeRequest { method: "POST".to_owned(), path, ..NodeRequest::default() };
    let response = client.send_request(RequestTarget::Node(name.to_owned()), request);
    let response = response.map_err(|error| Failure::Machine(format!("node {name}: {error}")))?;
    if (200..300).contains(&response.status) {
        return Ok(());
    }
    let problem: Result<Problem, _> = serde_json::from_slice(&response.body);
    Err(Failure::Machine(
        problem.map_or_else(|_| format!("status {}", response.status), |problem| problem.detail.into()),
    ))
}

fn render_table(nodes: &[NodeView], terminal: &Terminal) -> String {
    let column = |title, drop_step| TableColumn { title, cut: None, drop_step };
    let columns = [
        column("NODE", NEVER_DROPPED),
        column("STATE", NEVER_DROPPED),
        column("SESSIONS", NEVER_DROPPED),
        column("VERSION", 1),
        column("LABELS", 2),
    ];
    let rows = nodes.iter().map(|node| {
        let cell = |style, text: &str| (style, sanitize_line(text));
        TableRow {
            cells: vec![
                cell(PLAIN, &node.name),
                cell(state_style(node), node.state.name()),
                cell(PLAIN, &node.sessions.to_string()),
                cell(DIM, &node.version),
                cell(PLAIN, &node.labels.join(",")),
            ],
            last: vec![cell(DIM, &node.agents.join(", "))],
            end: StyledText::default(),
        }
    });
    let last = LastColumn { title: "AGENTS", min_width: 8, preferred_width: 40 };
    let color = terminal.stdout && terminal.color;
    let lines = layout_table(&columns, &last, rows.collect(), terminal.max_line_width(), color);
    lines.into_iter().map(|line| line + "\n").collect()
}

fn state_style(node: &NodeView) -> Style {
    match node.state {
        NodeStateView::Up => GREEN,
        NodeStateView::Draining => YELLOW,
        _ => DIM,
    }
}
