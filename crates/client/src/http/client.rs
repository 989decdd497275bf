//! Requests to a server. Each has its own connection: on a local network that costs less than a pool, and a hanging
//! request does not block others.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response,
    body::Incoming,
    client::conn::http1,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, InvalidHeaderValue},
};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::{task::JoinSet, time::timeout};

use super::address::{AddressError, ServerAddress, ServerConnector};

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
}

impl HttpClient {
    /// Creates a client for a server, with the value of the `Authorization` header.
    ///
    /// # Errors
    /// Fails if the authorization is not a valid header value.
    pub fn new(address: ServerAddress, authorization: Option<&str>) -> Result<Self, HttpError> {
        let authorization = authorization.map(HeaderValue::from_str).transpose()?.map(mark_sensitive);
        Ok(Self { authorization, ..Self::without_authorization(address) })
    }

    /// Creates a client without authorization.
    #[must_use]
    pub(crate) fn without_authorization(address: ServerAddress) -> Self {
        Self { address, authorization: None, limits: HttpLimits::default(), connector: None }
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

    /// Sends a request. The connection lives as long as the set.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        connection: &mut JoinSet<()>,
    ) -> Result<Response<Incoming>, HttpError> {
        let refused = |source| HttpError::Connect { address: self.address.clone(), source };
        let stream = match &self.connector {
            Some(connector) => connector.connect(self.address.host_header()).await,
            None => self.address.connect().await,
        };
        let stream = stream.map_err(refused)?;
        let (mut sender, driven) = http1::handshake(TokioIo::new(stream)).await?;
        // Errors of the connection surface in the request that it serves.
        connection.spawn(async move { drop(driven.await) });
        Ok(sender.send_request(request).await?)
    }

    async fn read_body(&self, response: Response<Incoming>) -> Result<Bytes, HttpError> {
        let body = Limited::new(response.into_body(), self.limits.bytes).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(broken) => HttpError::Broken(*broken),
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
