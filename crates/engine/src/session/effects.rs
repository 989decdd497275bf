//! Doing what a driver wants.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_agents::{Effect, Effects, HttpRequest, Record};
use switchboard_client::http::{Address, Client, HttpError};
use switchboard_event::raw;

use super::{
    actor::{Actor, Outgoing},
    link::Link,
    timers::Due,
};

/// The answer of an agent's server, as a record.
#[derive(Serialize)]
struct HttpAnswer<'a> {
    id: u64,
    method: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Actor {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Send(record) => {
                self.sent(&record);
                self.outbox.push(Outgoing::Record(record));
            }
            Effect::SendMasked { record, kept } => {
                self.sent(&kept);
                self.outbox.push(Outgoing::Record(record));
            }
            Effect::Note(record) => self.sent(&record),
            Effect::Hear(line) => {
                self.sign_of_life();
                self.hear(line.as_bytes());
            }
            Effect::Connect { url, authorization, anywhere } => {
                match server(&url, authorization.as_deref(), anywhere) {
                    Ok(server) => self.parts.link.connect(server),
                    Err(error) => self.give_up(switchboard_event::Fault::new(
                        switchboard_event::ErrorCode::ConnectionFailed,
                        format!("cannot reach the agent's server at {url}: {error}"),
                    )),
                }
            }
            Effect::Http(request) => {
                self.sent(&raw(&request));
                self.outbox.push(Outgoing::Request(request));
            }
            Effect::Listen { path } => self.parts.link.listen(path),
            Effect::Follow { feed, offset } => self.parts.link.follow(feed, offset),
            Effect::CloseInput => self.outbox.push(Outgoing::CloseInput),
            Effect::Arm(timer, after) => self.timers.arm(Due::Driver(timer), after),
            Effect::Disarm(timer) => self.timers.disarm(&Due::Driver(timer)),
            Effect::Ready => self.is_ready(),
            Effect::Settled => self.settled(),
            Effect::Done => self.done(),
            Effect::GiveUp(fault) => self.give_up(fault),
        }
    }

    /// What goes is read like what comes, and kept before it is written.
    fn sent(&mut self, record: &RawValue) {
        let covered = self.parts.mask.cover_record(record);
        let record = Record::sent(&covered, (self.parts.machine.now)());
        self.record(&record);
    }

    pub(super) fn answered(&mut self, request: &HttpRequest, answer: &Result<(u16, Bytes), String>) {
        let HttpRequest { id, method, path, .. } = request;
        let (status, body, error) = match answer {
            Ok((status, body)) => (Some(*status), kept(request, *status, content(body)), None),
            Err(error) => (None, None, Some(error.as_str())),
        };
        let record = raw(&HttpAnswer { id: *id, method, path, status, body, error });
        self.hear(record.get().as_bytes());
    }

    /// Has the driver do something.
    pub(super) fn drive(
        &mut self,
        command: switchboard_agents::Command,
    ) -> Result<(), switchboard_agents::Unsupported> {
        let Some(driver) = self.parts.driver.as_mut() else {
            return Err(switchboard_agents::Unsupported::new(
                "nothing can be said to an agent that runs one prompt only",
            ));
        };
        let mut effects = Effects::default();
        let result = driver.command(command, &mut effects);
        self.todo.extend(effects.drain());
        result
    }
}

/// The agent's server. One whose address was read from what an agent prints must be on this machine: the
/// authorization would be told to whoever listens there.
fn server(url: &str, authorization: Option<&str>, anywhere: bool) -> Result<Client, HttpError> {
    let address = if anywhere { Address::parse(url)? } else { Address::local(url)? };
    Client::new(address, authorization)
}

/// What may be kept of an answer.
fn kept(request: &HttpRequest, status: u16, body: Option<Box<RawValue>>) -> Option<Box<RawValue>> {
    match request.digest.filter(|_| status < 400) {
        Some(digest) => body.as_deref().map(digest),
        None => body,
    }
}

/// JSON as it is; anything else as a text.
fn content(body: &[u8]) -> Option<Box<RawValue>> {
    if body.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(body);
    Some(RawValue::from_string(text.clone().into_owned()).unwrap_or_else(|_| raw(&text)))
}

impl Link {
    pub(super) fn send_out(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Record(record) => self.send(&record),
            Outgoing::Request(request) => self.request(request),
            Outgoing::CloseInput => self.close_input(),
        }
    }
}
