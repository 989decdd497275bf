//! What a live run tells is what `translate` makes of the same records, but for what only Switchboard knows.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};
use switchboard_event::{Body, Dir, Event, Info, NativeBody};

use crate::trial::Trial;

/// Fields that only Switchboard knows, or that are times.
const OURS: &[&str] = &["config", "by", "decided", "expires_at", "duration_ms", "elapsed_ms", "exit_code", "signal"];

/// A run with all that an agent can do, and its records again.
pub fn same(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (run, fail) = (trial.cli.shell("echo one"), trial.cli.shell("echo two; exit 4"));
    let write = trial.cli.write(&trial.stage.project().join("new.txt"), "text\n");
    let prompt = format!("[[think hm]] {run} [[then]] {fail} [[then]] {write} [[then]] [[text finished]]");
    let heard = trial.run(&prompt, &["--approval", "ask", "--allow-tool", "command"])?;
    heard.is_closed()?;
    let again = trial.translate(trial.cli.live, &transcript(&heard.events)?)?;
    let again: Vec<Event> = again.lines().map(Event::from_json).collect::<Result<_, _>>()?;
    ensure!(about(&heard.events)? == about(&again)?, "the same is not known about the session");
    let (live, again) = (told(&heard.events)?, told(&again)?);
    for (at, (live, again)) in live.iter().zip(&again).enumerate() {
        ensure!(live == again, "event {at} of what is compared\nlive   {live}\nagain  {again}");
    }
    ensure!(live.len() == again.len(), "{} events live, {} again: {:?}", live.len(), again.len(), live.last());
    Ok(())
}

/// The records of a run, as a transcript.
fn transcript(events: &[Event]) -> anyhow::Result<String> {
    let mut lines = String::new();
    for native in events.iter().filter_map(|event| event.native.as_ref()) {
        let dir = if native.dir == Dir::In { "in" } else { "out" };
        match &native.body {
            NativeBody::Json(record) => writeln!(lines, "{{\"dir\":\"{dir}\",\"msg\":{}}}", record.get())?,
            NativeBody::Text(line) if native.dir == Dir::In => writeln!(lines, "{line}")?,
            other => anyhow::bail!("this cannot be in a transcript: {other:?}"),
        }
    }
    Ok(lines)
}

/// What is to be the same.
fn told(events: &[Event]) -> anyhow::Result<Vec<Value>> {
    let from_records = events.iter().filter(|event| !is_ours(event) && info(event).is_none());
    from_records.map(|event| comparable(event).with_context(|| format!("event {}", event.seq))).collect()
}

/// What is known about the session in the end. Who waits for an agent that is slow to begin hears of it later.
fn about(events: &[Event]) -> anyhow::Result<Value> {
    let mut known = Map::new();
    for info in events.iter().filter_map(info) {
        if let Value::Object(fields) = serde_json::to_value(info)? {
            known.extend(fields);
        }
    }
    Ok(known.into())
}

fn info(event: &Event) -> Option<&Info> {
    match &event.body {
        Body::SessionStarted(started) => Some(&started.info),
        Body::SessionUpdated(updated) => Some(&updated.info),
        _ => None,
    }
}

/// A remark of Switchboard's own.
fn is_ours(event: &Event) -> bool {
    matches!(event.body, Body::Notice(_)) && event.native.is_none() && event.cause.is_none()
}

fn comparable(event: &Event) -> anyhow::Result<Value> {
    let whole: Value = serde_json::from_str(&serde_json::to_string(event)?)?;
    let mut data = whole["data"].clone();
    without(&mut data, OURS);
    if let Body::SessionEnded(_) = event.body {
        // Only Switchboard saw the process end.
        without(&mut data, &["error"]);
    }
    let place = [&whole["item"], &whole["turn"], &whole["parent"], &whole["thread"]].map(Value::clone);
    Ok(json!({ "kind": whole["kind"], "place": place, "data": data }))
}

fn without(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|field| without(field, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| without(value, names)),
        _ => {}
    }
}
