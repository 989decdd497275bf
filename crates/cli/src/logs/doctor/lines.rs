//! A checkup for machines: one JSON object a line.

use serde_json::{Value, json};

use super::checkup::Checkup;

/// All of it, each with its `type`.
pub fn lines(checkup: &Checkup) -> String {
    objects(checkup).iter().map(|object| format!("{object}\n")).collect()
}

fn objects(checkup: &Checkup) -> Vec<Value> {
    let health = &checkup.health;
    let homes = checkup.homes.iter().map(|looked| {
        json!({
            "type": "home",
            "agent": looked.home.logs.agent,
            "path": looked.home.folder.to_string_lossy(),
            "machine": looked.home.machine,
            "found": looked.is_there,
            "sessions": looked.sessions,
            "bytes": looked.bytes,
        })
    });
    let index = json!({
        "type": "index",
        "path": health.path.to_string_lossy(),
        "bytes": health.bytes,
        "logs": health.logs,
        "gone": health.gone,
        "problem": health.problem,
    });
    let versions = checkup.versions.iter().map(|seen| {
        json!({
            "type": "version",
            "agent": seen.agent,
            "version": seen.version,
            "sessions": seen.sessions,
            "newerThanTested": seen.newer_than,
        })
    });
    let troubles = checkup.troubles.iter().map(|trouble| {
        json!({
            "type": "trouble",
            "agent": trouble.agent,
            "path": trouble.path.to_string_lossy(),
            "offset": trouble.offset,
            "what": trouble.what,
            "times": trouble.times,
        })
    });
    let leaving = checkup.leaving.iter().map(|leaving| {
        json!({
            "type": "retention",
            "agent": leaving.session.agent,
            "session": leaving.session.id,
            "updated": leaving.session.facts.updated,
            "days": leaving.days,
        })
    });
    let damaged = checkup
        .damaged
        .iter()
        .map(|(session, events)| json!({ "type": "damaged", "session": session, "seqs": events }));
    homes.chain([index]).chain(versions).chain(troubles).chain(leaving).chain(damaged).collect()
}
