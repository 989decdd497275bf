//! A small HTTP client: requests and streams of server-sent events, over TCP, TLS or a Unix socket. No redirects, no
//! proxies, no connection pool.

mod address;
#[cfg(test)]
mod tests;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, InvalidHeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::sync::mpsc::Sender;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

pub use address::{AddressError, ServerAddress, ServerConnection, ServerConnector, SocketPath, percent_encode};
pub use tls::{TlsFailure, TlsSetupError, TrustedAuthorities};

/// The reason why a request failed. An error status is not one of these.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address is not usable.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The authorization is not a valid header value.
    #[error("the authorization cannot be sent in a header")]
    Authorization(#[from] InvalidHeaderValue),
    /// The method or path is invalid.
    #[error("not a request: {method} {path}")]
    Request {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
    },
    /// No server accepted the connection.
    #[error("no connection to {address}: {source}")]
    Connect {
        /// The address of the server.
        address: ServerAddress,
        /// The cause.
        source: std::io::Error,
    },
    /// There are no certificates to check the server's with.
    #[error(transparent)]
    TlsSetup(#[from] TlsSetupError),
    /// The certificate of the server was not accepted.
    #[error("the certificate of {address} is not accepted: {reason}")]
    Certificate {
        /// The address of the server.
        address: ServerAddress,
        /// The reason.
        reason: String,
        /// A suggestion.
        hint: &'static str,
    },
    /// The address requires TLS, and the server does not speak it.
    #[error("{0} does not speak TLS")]
    NotTls(ServerAddress),
    /// The answer is not HTTP.
    #[error("{address} does not answer in HTTP: {source}")]
    NotHttp {
        /// The address of the server.
        address: ServerAddress,
        /// The cause.
        source: hyper::Error,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The response exceeds the limit.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// There was no response in time.
    #[error("no answer within {} seconds", .0.as_secs_f32())]
    Late(Duration),
}

/// The limits of time and size of a response.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// The time for a request with its whole response. Streams are not limited.
    pub time: Duration,
    /// The bytes of a response, or of one event of a stream.
    pub bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(120), bytes: 64 << 20 }
    }
}

/// An HTTP client for one server.
#[derive(Clone, Debug)]
pub struct HttpClient {
    pub(crate) address: ServerAddress,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) limits: HttpLimits,
    connector: Option<Arc<dyn ServerConnector>>,
    /// Present if the address requires TLS.
    authorities: Option<TrustedAuthorities>,
}

impl HttpClient {
    /// Creates a client for a server, with the value of the `Authorization` header. With TLS, the certificate
    /// authorities of this machine are trusted.
    ///
    /// # Errors
    /// Fails if the authorization is not a valid header value, or if there are no certificate authorities.
    pub fn new(address: ServerAddress, authorization: Option<&str>) -> Result<Self, HttpError> {
        let authorities = address.requires_tls().then(TrustedAuthorities::load_platform).transpose()?;
        Self { authorities, ..Self::without_authorization(address) }.with_authorization(authorization)
    }

    /// Creates a client for a server with TLS that trusts only the given certificate authorities.
    ///
    /// # Errors
    /// Fails if the authorization is not a valid header value.
    pub fn with_authorities(
        address: ServerAddress,
        authorization: Option<&str>,
        authorities: TrustedAuthorities,
    ) -> Result<Self, HttpError> {
        let authorities = address.requires_tls().then_some(authorities);
        Self { authorities, ..Self::without_authorization(address) }.with_authorization(authorization)
    }

    fn with_authorization(self, authorization: Option<&str>) -> Result<Self, HttpError> {
        let authorization = authorization.map(HeaderValue::from_str).transpose()?.map(mark_sensitive);
        Ok(Self { authorization, ..self })
    }

    /// Creates a client without authorization or TLS.
    #[must_use]
    pub(crate) fn without_authorization(address: ServerAddress) -> Self {
        Self { address, authorization: None, limits: HttpLimits::default(), connector: None, authorities: None }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: HttpLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets another way to open connections.
    #[must_use]
    pub fn with_connector(self, connector: Arc<dyn ServerConnector>) -> Self {
        Self { connector: Some(connector), ..self }
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Sends a request and returns the status and the whole response. Requests can run concurrently.
    ///
    /// # Errors
    /// Fails if there was no response. An error status is a response.
    pub async fn request(&self, method: &str, path: &str, body: Option<Bytes>) -> Result<(u16, Bytes), HttpError> {
        let request = self.build_request(method, path, body, "application/json")?;
        let answer = async {
            let mut connection = JoinSet::new();
            let response = self.send(request, &mut connection).await?;
            let status = response.status().as_u16();
            Ok((status, self.read_body(response).await?))
        };
        timeout(self.limits.time, answer).await.map_err(|_| HttpError::Late(self.limits.time))?
    }

    /// Builds a request.
    pub(crate) fn build_request(
        &self,
        method: &str,
        path: &str,
        body: Option<Bytes>,
        accept: &'static str,
    ) -> Result<Request<Full<Bytes>>, HttpError> {
        let bad = || HttpError::Request { method: method.to_owned(), path: path.to_owned() };
        let verb = Method::from_bytes(method.as_bytes()).map_err(|_| bad())?;
        if !path.starts_with('/') {
            return Err(bad());
        }
        let uri = self.address.request_path(path);
        let host = self.address.host_header();
        let mut request = Request::builder().method(verb).uri(uri).header(HOST, host).header(ACCEPT, accept);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(Full::new(body.unwrap_or_default())).map_err(|_| bad())
    }

    /// Connects to the server, with TLS if the address requires it.
    pub(crate) async fn connect(&self) -> Result<Box<dyn ServerConnection>, HttpError> {
        let refused = |source| HttpError::Connect { address: self.address.clone(), source };
        let stream = match &self.connector {
            Some(connector) => connector.connect(self.address.host_header()).await,
            None => self.address.connect().await,
        };
        let stream = stream.map_err(refused)?;
        match &self.authorities {
            Some(authorities) => {
                authorities.encrypt(self.address.host_name(), stream).await.map_err(|error| self.tls_error(error))
            }
            None => Ok(stream),
        }
    }

    fn tls_error(&self, error: std::io::Error) -> HttpError {
        let address = self.address.clone();
        match TlsFailure::from_io(&error) {
            Some(TlsFailure::Certificate { reason, hint }) => HttpError::Certificate { address, reason, hint },
            Some(TlsFailure::NotTls) => HttpError::NotTls(address),
            Some(TlsFailure::Other(_)) | None => HttpError::Connect { address, source: error },
        }
    }

    /// Sends a request. The connection lives as long as the set.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        connection: &mut JoinSet<()>,
    ) -> Result<Response<Incoming>, HttpError> {
        let (mut sender, driven) = http1::handshake(TokioIo::new(self.connect().await?)).await?;
        // Errors of the connection surface in the request that it serves.
        connection.spawn(async move { drop(driven.await) });
        sender.send_request(request).await.map_err(|error| self.response_error(error))
    }

    fn response_error(&self, source: hyper::Error) -> HttpError {
        if source.is_parse() {
            HttpError::NotHttp { address: self.address.clone(), source }
        } else {
            HttpError::Broken(source)
        }
    }

    async fn read_body(&self, response: Response<Incoming>) -> Result<Bytes, HttpError> {
        let body = Limited::new(response.into_body(), self.limits.bytes).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => self.response_error(*error),
            Err(other) => {
                debug_assert!(other.is::<LengthLimitError>());
                HttpError::TooLarge(self.limits.bytes)
            }
        })?;
        Ok(body.to_bytes())
    }
}

/// Marks a value as sensitive, so that it is never printed.
fn mark_sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// An event in the life of a stream of server-sent events.
#[derive(Debug, PartialEq, Eq)]
pub enum SseEvent {
    /// The stream is open.
    Opened,
    /// The payload of an event.
    Data(Vec<u8>),
    /// The stream ended for this reason. Nothing follows.
    Closed(String),
}

impl HttpClient {
    /// Follows a stream until it ends, the receiver is dropped, or the handle is aborted. Must be called within a tokio
    /// runtime.
    pub fn subscribe_sse(&self, path: &str, out: Sender<SseEvent>) -> AbortHandle {
        let (client, path) = (self.clone(), path.to_owned());
        let task = tokio::spawn(async move {
            let reason = match client.forward_sse_events(&path, &out).await {
                Ok(()) => "the server ended it".to_owned(),
                Err(error) => error.to_string(),
            };
            // A dropped receiver does not need it.
            drop(out.send(SseEvent::Closed(reason)).await);
        });
        task.abort_handle()
    }

    async fn forward_sse_events(&self, path: &str, out: &Sender<SseEvent>) -> Result<(), SseStreamError> {
        let mut connection = JoinSet::new();
        let request = self.build_request("GET", path, None, "text/event-stream")?;
        let response = timeout(self.limits.time, self.send(request, &mut connection)).await;
        let response = response.map_err(|_| HttpError::Late(self.limits.time))??;
        let mut body = sse_body(response)?;
        if out.send(SseEvent::Opened).await.is_err() {
            return Ok(());
        }
        let (mut events, mut payloads) = (SseParser::new(self.limits.bytes), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(HttpError::from)?;
            let Some(bytes) = frame.data_ref() else { continue };
            let fits = events.push(bytes, &mut payloads);
            for payload in payloads.drain(..) {
                if out.send(SseEvent::Data(payload)).await.is_err() {
                    return Ok(());
                }
            }
            fits.map_err(|_| HttpError::TooLarge(self.limits.bytes))?;
        }
        Ok(())
    }
}

fn sse_body(response: Response<Incoming>) -> Result<Incoming, SseStreamError> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !response.status().is_success() {
        return Err(SseStreamError::Refused(response.status().as_u16()));
    }
    if !kind.starts_with("text/event-stream") {
        return Err(SseStreamError::Kind(kind.to_owned()));
    }
    Ok(response.into_body())
}

/// The reason why a stream failed.
#[derive(Debug, thiserror::Error)]
enum SseStreamError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("the server refused it with status {0}")]
    Refused(u16),
    #[error("the server sent `{0}` in place of events")]
    Kind(String),
}

/// Parses a stream of server-sent events.
pub struct SseParser {
    limit: usize,
    /// The incomplete line.
    line: Vec<u8>,
    /// The payload of the incomplete event; each of its lines ends with a line feed.
    data: Vec<u8>,
    /// The last byte was a carriage return: a line feed after it belongs to the same line end.
    returned: bool,
    /// A line was read: only the first may begin with a byte order mark.
    begun: bool,
}

/// An event exceeds the size limit.
#[derive(Debug, PartialEq, Eq)]
pub struct SseEventTooLarge;

impl SseParser {
    /// Creates a parser with a size limit for one event.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), data: Vec::new(), returned: false, begun: false }
    }

    /// Parses more bytes and appends the payloads that they complete.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), SseEventTooLarge> {
        let Some(first) = bytes.first() else { return Ok(()) };
        if std::mem::take(&mut self.returned) && *first == b'\n' {
            bytes = bytes.get(1..).unwrap_or_default();
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            self.append_line(line)?;
            self.finish_line(out);
            self.returned = rest == b"\r";
            bytes = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        }
        self.append_line(bytes)
    }

    fn append_line(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            return Err(SseEventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Handles a complete line.
    fn finish_line(&mut self, out: &mut Vec<Vec<u8>>) {
        let line = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| first).unwrap_or(&line);
        if line.is_empty() {
            return self.dispatch_event(out);
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (line.get(..colon), line.get(colon + 1..)),
            None => (Some(line), None),
        };
        let value = value.unwrap_or_default();
        // The agents' payloads repeat event names and ids, and retry times are not used.
        if name == Some(b"data") {
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
    }

    fn dispatch_event(&mut self, out: &mut Vec<Vec<u8>>) {
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_some() {
            out.push(data);
        }
    }
}

#[cfg(test)]
mod sse_tests {
    use super::{SseEventTooLarge, SseParser};

    /// Asserts the payloads for every way to split the bytes.
    fn assert_payloads(stream: &str, expected: &[&str]) {
        for size in 1..=stream.len().max(1) {
            let (mut events, mut out) = (SseParser::new(1 << 10), Vec::new());
            for piece in stream.as_bytes().chunks(size) {
                events.push(piece, &mut out).unwrap();
            }
            let out: Vec<_> = out.iter().map(|data| str::from_utf8(data).unwrap()).collect();
            assert_eq!(out, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        assert_payloads("data: {\"a\":1}\n\ndata:{\"a\":2}\n\n", &["{\"a\":1}", "{\"a\":2}"]);
        assert_payloads("data: not complete", &[]);
        assert_payloads("data: not complete\n", &[]);
        assert_payloads("\n\n\n", &[]);
        assert_payloads("data: a\n\n\n\ndata: b\n\n", &["a", "b"]);
    }

    #[test]
    fn lines_end_in_three_ways() {
        assert_payloads("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]);
        assert_payloads("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
        assert_payloads("data: a\r\rdata: b\r\n\ndata: c\n\r\n", &["a", "b", "c"]);
    }

    #[test]
    fn several_lines_of_data_are_one_payload() {
        assert_payloads("data: a\ndata:  b\ndata\ndata:\n\n", &["a\n b\n\n"]);
        assert_payloads("data\n\n", &[""]);
    }

    #[test]
    fn comments_and_other_fields_are_passed_over() {
        assert_payloads(": heartbeat\n\n", &[]);
        assert_payloads("id: 7\nevent: message\nretry: 10\n: why\ndata: a\ndatum: b\n\n", &["a"]);
        assert_payloads("event: only\n\n", &[]);
    }

    #[test]
    fn text_is_not_taken_apart() {
        assert_payloads("\u{feff}data: é 漢\u{feff}\n\n", &["é 漢\u{feff}"]);
    }

    #[test]
    fn an_event_that_is_too_large_ends_the_stream() {
        let push = |text: &str| SseParser::new(16).push(text.as_bytes(), &mut Vec::new());
        assert_eq!(push("data: 1234567890\n\ndata: 1234567890\n\n"), Ok(()));
        assert_eq!(push("data: 12345678901\n\n"), Err(SseEventTooLarge));
        assert_eq!(push("data: 1234\ndata: 123456\n\n"), Err(SseEventTooLarge));
        assert_eq!(push(&"x".repeat(17)), Err(SseEventTooLarge));
    }
}
