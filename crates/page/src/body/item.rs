//! Items by type.

use switchboard_event::{Details, Item};

use super::{EntryBody, answer, call, change, command, content::ImageUrlFn, plan};

#[must_use]
pub fn item(item: &Item, address: &ImageUrlFn<'_>) -> EntryBody {
    match &item.details {
        Details::UserMessage(details) => answer::user(details, address),
        Details::AgentMessage(details) => answer::agent(item, details, address),
        Details::Reasoning(details) => answer::reasoning(details),
        Details::Command(details) => command::command(item, details, address),
        Details::FileChange(details) => change::file_change(item, details, address),
        Details::Mcp(details) => call::mcp(item, details, address),
        Details::WebSearch(details) => call::search(item, details, address),
        Details::Plan(details) => plan::plan(details),
        Details::Subagent(details) => call::subagent(item, details, address),
        Details::Tool(details) => call::tool(item, details, address),
        Details::Unknown(details) => call::unknown(item, details, address),
    }
}

/// Returns the whole text of an item verbatim, for bodies that were cut.
#[must_use]
pub fn whole(item: &Item) -> String {
    let mut parts: Vec<String> = Vec::new();
    match &item.details {
        Details::UserMessage(details) => parts.push(details.joined_text()),
        Details::AgentMessage(details) => parts.push(details.text.clone()),
        Details::Reasoning(details) => parts.extend([&details.summary, &details.text].into_iter().flatten().cloned()),
        Details::Command(details) => parts.extend([format!("$ {}", details.command), details.output.clone()]),
        Details::FileChange(details) => parts.extend(changed(details)),
        Details::Mcp(details) => parts.extend(details.result.iter().map(|result| result.get().to_owned())),
        Details::WebSearch(details) => {
            parts.extend(details.queries.iter().cloned());
            parts.extend(details.results.iter().map(|results| results.get().to_owned()));
        }
        Details::Plan(details) => {
            parts.extend(details.text.clone());
            parts.extend(details.entries.iter().map(|entry| entry.step.clone()));
        }
        Details::Subagent(details) => parts.extend([&details.prompt, &details.result].into_iter().flatten().cloned()),
        Details::Tool(details) => {
            parts.push(details.output.clone());
            parts.extend(details.result.iter().map(|result| result.get().to_owned()));
        }
        Details::Unknown(details) => parts.extend(details.raw.iter().map(|raw| raw.get().to_owned())),
    }
    if let Some(call) = &item.call {
        let given = call.input.as_ref().map(|input| format!("{} {}", call.name, input.get()));
        parts.splice(0..0, given);
        parts.extend(call.error.clone());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// Returns the diffs of all files, with their paths.
fn changed(change: &switchboard_event::FileChange) -> Vec<String> {
    let files = change.changes.iter().map(|change| {
        let text = if change.diff.is_empty() { change.after.as_deref().unwrap_or_default() } else { &change.diff };
        format!("{}\n{text}", change.path)
    });
    files.chain(change.output.clone()).collect()
}
