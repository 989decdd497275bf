//! Performs the effects that a driver requests.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_agents::{AgentCommand, DriverEffect, DriverEffects, HttpRequest, Record, UnsupportedOperation};
use switchboard_client::http::{HttpClient, HttpError, ServerAddress};
use switchboard_event::{ErrorCode, Fault, to_raw_json};

use super::{actor::SessionActor, link::OutgoingMessage, stop::TimerKind};

/// The answer of an agent's server, as a record.
#[derive(Serialize)]
struct HttpAnswerRecord<'a> {
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

impl SessionActor {
    pub(super) fn perform_effect(&mut self, effect: DriverEffect) {
        match effect {
            DriverEffect::Send(record) => {
                self.translate_outgoing(&record);
                self.outbox.push(OutgoingMessage::Record(record));
            }
            DriverEffect::SendMasked { record, kept } => {
                self.translate_outgoing(&kept);
                self.outbox.push(OutgoingMessage::Record(record));
            }
            DriverEffect::Note(record) => self.translate_outgoing(&record),
            DriverEffect::Hear(line) => {
                self.note_activity();
                self.read_line(line.as_bytes());
            }
            DriverEffect::Connect { url, authorization, anywhere } => {
                match http_client(&url, authorization.as_deref(), anywhere) {
                    Ok(server) => self.parts.link.set_server(server),
                    Err(error) => self.fail(Fault::new(
                        ErrorCode::ConnectionFailed,
                        format!("cannot reach the agent's server at {url}: {error}"),
                    )),
                }
            }
            DriverEffect::Http(request) => {
                self.translate_outgoing(&to_raw_json(&request));
                self.outbox.push(OutgoingMessage::Request(request));
            }
            DriverEffect::Listen { path } => self.parts.link.follow_stream(path),
            DriverEffect::Follow { feed, offset } => self.parts.link.follow_session(feed, offset),
            DriverEffect::CloseInput => self.outbox.push(OutgoingMessage::CloseInput),
            DriverEffect::Arm(timer, after) => self.timers.arm(TimerKind::Driver(timer), after),
            DriverEffect::Disarm(timer) => self.timers.disarm(&TimerKind::Driver(timer)),
            DriverEffect::Ready => self.handle_ready(),
            DriverEffect::Settled => self.handle_settled(),
            DriverEffect::Done => self.force_stop(),
            DriverEffect::GiveUp(fault) => self.fail(fault),
        }
    }

    /// Translates an outgoing record like an incoming one, and records it before it is sent.
    fn translate_outgoing(&mut self, record: &RawValue) {
        let masked = self.parts.mask.mask_record(record);
        let record = Record::from_outgoing(&masked, (self.parts.host.now)());
        self.translate_record(&record);
    }

    pub(super) fn read_http_answer(&mut self, request: &HttpRequest, answer: &Result<(u16, Bytes), String>) {
        let HttpRequest { id, method, path, .. } = request;
        let (status, body, error) = match answer {
            Ok((status, body)) => (Some(*status), storable_body(request, *status, body), None),
            Err(error) => (None, None, Some(error.as_str())),
        };
        let record = to_raw_json(&HttpAnswerRecord { id: *id, method, path, status, body, error });
        self.read_line(record.get().as_bytes());
    }

    pub(super) fn drive(&mut self, command: AgentCommand) -> Result<(), UnsupportedOperation> {
        let Some(driver) = self.parts.driver.as_mut() else {
            return Err(UnsupportedOperation::new("an agent that runs a single prompt takes no commands"));
        };
        let mut effects = DriverEffects::default();
        let result = driver.handle_command(command, &mut effects);
        self.pending_effects.extend(effects.drain());
        result
    }
}

/// Returns a client for the agent's server. An address that was read from an agent's output must be on this machine:
/// otherwise the authorization could leak to another server.
fn http_client(url: &str, authorization: Option<&str>, anywhere: bool) -> Result<HttpClient, HttpError> {
    let address = if anywhere { ServerAddress::parse(url)? } else { ServerAddress::parse_local(url)? };
    HttpClient::new(address, authorization)
}

/// Returns the parts of a body that may be stored: JSON unchanged, and anything else as a JSON string.
fn storable_body(request: &HttpRequest, status: u16, body: &[u8]) -> Option<Box<RawValue>> {
    if body.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(body);
    let json = RawValue::from_string(text.clone().into_owned()).unwrap_or_else(|_| to_raw_json(&text));
    match request.digest.filter(|_| status < 400) {
        Some(digest) => Some(digest(&json)),
        None => Some(json),
    }
}
