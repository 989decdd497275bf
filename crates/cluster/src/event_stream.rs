//! The stream of frames and the buckets next to it: created, appended to, read and purged.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap,
    jetstream::{
        Context, ErrorCode,
        context::{ContextBuilder, CreateKeyValueErrorKind, CreateStreamErrorKind, GetStreamErrorKind},
        kv,
        message::{PublishMessage, StreamMessage},
        object_store,
        stream::{Config, DiscardPolicy, Info, LastRawMessageErrorKind, Republish, StorageType, Stream},
    },
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use switchboard_store::StoreError;
use tokio::{
    io::AsyncReadExt as _,
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tracing::{info, warn};

use crate::options::ClusterOptions;

/// The time to find the servers at the start, and each other.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The interval of attempts at the start.
const START_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The time after which a request counts as unanswered.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of republished messages that wait for the index. Further ones are dropped, and read from the stream later.
const SUBSCRIPTION_CAPACITY: usize = 512;

/// The window in which the servers recognize repeated messages. Longer windows cost memory.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(60);

/// The time after which an entry of the lease bucket disappears.
pub const LEASE_TTL: Duration = Duration::from_secs(12);

/// JetStream needs more servers for the replicas.
const NO_SUITABLE_PEERS: u64 = 10005;

/// A connection to the servers, and the names of everything that belongs to the log.
#[derive(Clone)]
pub struct EventStream {
    pub client: Client,
    context: Context,
    stream: Stream<()>,
    pub prefix: Arc<str>,
    objects: object_store::ObjectStore,
    pub leases: kv::Store,
    pub nodes: kv::Store,
    /// The name of the stream and the time of its creation.
    pub identity: Arc<str>,
    /// The number of connections so far.
    reconnects: watch::Receiver<u64>,
    connected: Arc<AtomicBool>,
}

/// The servers did not answer, or refused for now.
#[derive(Clone, Debug)]
pub struct Unavailable(pub String);

impl From<Unavailable> for StoreError {
    fn from(error: Unavailable) -> Self {
        Self::Unreachable(format!("the log on NATS is not available: {}", error.0))
    }
}

/// The messages of a batch, and whether there are more.
pub struct MessageBatch {
    pub messages: Vec<StreamMessage>,
    pub is_complete: bool,
}

impl EventStream {
    /// Connects, and creates the stream and the buckets if necessary.
    pub async fn open(options: &ClusterOptions) -> Result<Self, StoreError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let connected = Arc::new(AtomicBool::new(true));
        let (count, reconnects) = watch::channel(0);
        let client = connect(options, &connected, &count, deadline).await?;
        let context = ContextBuilder::new().timeout(REQUEST_TIMEOUT).ack_timeout(REQUEST_TIMEOUT).build(client.clone());
        let wanted = options.replicas.unwrap_or(if client.server_info().cluster.is_some() { 3 } else { 1 });
        let prefix: Arc<str> = options.prefix().into();
        loop {
            match Self::ensure_streams(&context, &prefix, wanted).await {
                Ok(StreamParts { identity, objects, leases, nodes }) => {
                    let stream =
                        context.get_stream_no_info(&*prefix).await.map_err(|error| unusable(options, &error))?;
                    return Ok(Self {
                        client,
                        context,
                        stream,
                        prefix,
                        objects,
                        leases,
                        nodes,
                        identity,
                        reconnects,
                        connected,
                    });
                }
                Err(SetupError::Refused(message)) => return Err(unusable(options, &message)),
                Err(SetupError::Retry(message)) if Instant::now() > deadline => {
                    return Err(StoreError::Unreachable(format!(
                        "NATS at {} did not provide JetStream with {wanted} replicas within {} s: {message}",
                        options.public_urls(),
                        START_TIMEOUT.as_secs(),
                    )));
                }
                Err(SetupError::Retry(_)) => sleep(START_RETRY_INTERVAL).await,
            }
        }
    }

    async fn ensure_streams(context: &Context, prefix: &str, wanted: usize) -> Result<StreamParts, SetupError> {
        let (replicas, identity) = match context.get_stream(prefix).await {
            Ok(stream) => {
                let config = &stream.cached_info().config;
                if config.subjects != [log_subjects(prefix)] || config.republish.is_none() || !config.allow_direct {
                    return Err(SetupError::Refused(format!(
                        "the stream {prefix} exists and is not one of switchboard"
                    )));
                }
                (config.num_replicas, stream_identity(stream.cached_info()))
            }
            Err(error) if matches!(error.kind(), GetStreamErrorKind::JetStream(ref error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND) => {
                create_stream(context, prefix, wanted).await?
            }
            Err(error) => return Err(SetupError::Retry(error.to_string())),
        };
        let bucket = |name: &str, max_age| kv::Config {
            bucket: format!("{prefix}_{name}"),
            history: 1,
            max_age,
            storage: StorageType::File,
            num_replicas: replicas,
            ..kv::Config::default()
        };
        let leases = open_bucket(context, bucket("leases", LEASE_TTL)).await?;
        let nodes = open_bucket(context, bucket("nodes", Duration::ZERO)).await?;
        let name = format!("{prefix}_payloads");
        let objects = match context.get_object_store(&name).await {
            Ok(objects) => objects,
            Err(_) => {
                let config = object_store::Config {
                    bucket: name,
                    storage: StorageType::File,
                    num_replicas: replicas,
                    ..object_store::Config::default()
                };
                context.create_object_store(config).await.map_err(|error| SetupError::Retry(error.to_string()))?
            }
        };
        Ok(StreamParts { identity: identity.into(), objects, leases, nodes })
    }

    pub fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Returns the subject of a session's frames.
    pub fn subject(&self, session: &str) -> String {
        let is_plain = !session.is_empty()
            && session.len() <= 64
            && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        // `=` does not occur in the alphabet, so encoded names and plain ones differ.
        let token = if is_plain { session.to_owned() } else { format!("={}", BASE64_URL_SAFE_NO_PAD.encode(session)) };
        let shard = Sha256::digest(session).first().copied().unwrap_or_default();
        format!("{}.log.{shard:02x}.{token}", self.prefix)
    }

    /// Returns the subject of all frames.
    pub fn all_subjects(&self) -> String {
        log_subjects(&self.prefix)
    }

    /// Returns the subject on which committed frames are republished.
    pub fn live_subjects(&self) -> String {
        format!("{}.live.>", self.prefix)
    }

    /// Fails if there is no connection: a request would only time out.
    fn check_connected(&self) -> Result<(), Unavailable> {
        if self.is_connected() { Ok(()) } else { Err(Unavailable("there is no connection".to_owned())) }
    }

    /// Publishes a frame after the subject's message `expected`. An error does not mean that it was not stored.
    pub async fn publish(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
        message_id: &str,
        expected: u64,
    ) -> Result<u64, Unavailable> {
        let message = PublishMessage::build()
            .headers(headers)
            .payload(payload)
            .message_id(message_id)
            .expected_last_subject_sequence(expected);
        let unavailable = |error: async_nats::jetstream::context::PublishError| Unavailable(error.to_string());
        let mut reconnects = self.reconnects.clone();
        reconnects.mark_unchanged();
        let sent = self.context.send_publish(subject.to_owned(), message).await.map_err(unavailable)?;
        let ack = tokio::select! {
            ack = sent => ack.map_err(unavailable)?,
            // The acknowledgment went to the earlier connection.
            _ = reconnects.changed() => return Err(Unavailable("the connection was interrupted".to_owned())),
        };
        // The original may have been another message with this ID.
        if ack.duplicate { Err(Unavailable("the message was stored before".to_owned())) } else { Ok(ack.sequence) }
    }

    /// Returns the last message of a subject, from the leader.
    pub async fn last_message(&self, subject: &str) -> Result<Option<StreamMessage>, Unavailable> {
        self.check_connected()?;
        match self.stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(Unavailable(error.to_string())),
        }
    }

    /// Returns the sequence of the stream's last message.
    pub async fn last_sequence(&self) -> Result<u64, Unavailable> {
        self.check_connected()?;
        let info = self.stream.get_info().await.map_err(|error| Unavailable(error.to_string()))?;
        Ok(info.state.last_sequence)
    }

    /// Returns the first message from a sequence on that matches a subject, from the leader.
    pub async fn next_message(&self, subject: &str, from: u64) -> Result<Option<StreamMessage>, Unavailable> {
        next_message_of(&self.stream, subject, from).await
    }

    /// Returns a message: from any replica, or from the leader if that replica does not have it.
    pub async fn get_message(&self, sequence: u64) -> Result<Option<StreamMessage>, Unavailable> {
        self.check_connected()?;
        if let Ok(message) = self.stream.direct_get(sequence).await {
            return Ok(Some(message));
        }
        match self.stream.get_raw_message(sequence).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(Unavailable(error.to_string())),
        }
    }

    /// Returns messages from a sequence on, in order, from any replica: one that lags has fewer.
    pub async fn read_batch(
        &self,
        subject: &str,
        from: u64,
        batch: usize,
        max_bytes: usize,
    ) -> Result<MessageBatch, Unavailable> {
        self.check_connected()?;
        let unavailable = |error: &dyn std::fmt::Display| Unavailable(error.to_string());
        let inbox = self.client.new_inbox();
        let mut replies = self.client.subscribe(inbox.clone()).await.map_err(|error| unavailable(&error))?;
        let request = json!({ "seq": from, "next_by_subj": subject, "batch": batch, "max_bytes": max_bytes });
        let address = format!("$JS.API.DIRECT.GET.{}", self.prefix);
        self.client
            .publish_with_reply(address, inbox, request.to_string().into())
            .await
            .map_err(|error| unavailable(&error))?;
        let mut messages = Vec::new();
        loop {
            let reply = timeout(REQUEST_TIMEOUT, replies.next()).await.map_err(|error| unavailable(&error))?;
            let reply = reply.ok_or_else(|| Unavailable("the connection was closed".to_owned()))?;
            match reply.status.map(|status| status.as_u16()) {
                None | Some(200) => {}
                // The end of a batch, and no message at all.
                Some(204) => {
                    let pending = reply.headers.as_ref().and_then(|headers| headers.get("Nats-Num-Pending"));
                    let is_complete = pending.is_none_or(|pending| pending.as_str() == "0");
                    return Ok(MessageBatch { messages, is_complete });
                }
                Some(404) => return Ok(MessageBatch { messages, is_complete: true }),
                Some(status) => {
                    let description = reply.description.unwrap_or_default();
                    return Err(Unavailable(format!("direct get: status {status} {description}")));
                }
            }
            match StreamMessage::try_from(reply) {
                Ok(message) => messages.push(message),
                Err(error) => return Err(unavailable(&error)),
            }
        }
    }

    /// Removes all but the last messages of a subject.
    pub async fn purge(&self, subject: &str, keep: u64) -> Result<(), Unavailable> {
        let purged = self.stream.purge().filter(subject).keep(keep).await;
        purged.map(drop).map_err(|error| Unavailable(error.to_string()))
    }

    /// Stores an object unless it exists. Its name contains the hash of its content.
    pub async fn put_object(&self, name: &str, data: &[u8]) -> Result<(), Unavailable> {
        let is_stored = |info: object_store::ObjectInfo| !info.deleted && info.size == data.len();
        if self.objects.info(name).await.is_ok_and(is_stored) {
            return Ok(());
        }
        let mut reader = data;
        self.objects.put(name, &mut reader).await.map(drop).map_err(|error| Unavailable(error.to_string()))
    }

    /// Returns the content of an object.
    pub async fn get_object(&self, name: &str) -> Result<Option<Vec<u8>>, Unavailable> {
        let mut object = match self.objects.get(name).await {
            Ok(object) => object,
            Err(error) if error.kind() == object_store::GetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Unavailable(error.to_string())),
        };
        let mut data = Vec::with_capacity(object.info().size);
        object.read_to_end(&mut data).await.map_err(|error| Unavailable(error.to_string()))?;
        Ok(Some(data))
    }

    /// Deletes an object, if it exists.
    pub async fn delete_object(&self, name: &str) -> Result<(), Unavailable> {
        match self.objects.delete(name).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == object_store::DeleteErrorKind::NotFound => Ok(()),
            Err(error) => Err(Unavailable(error.to_string())),
        }
    }

    /// Returns all entries of a bucket from its leader, with key, sequence and message.
    pub async fn bucket_entries(&self, bucket: &kv::Store) -> Result<Vec<(String, StreamMessage)>, Unavailable> {
        let prefix = format!("$KV.{}.", bucket.name);
        let (mut entries, mut from) = (Vec::new(), 1);
        while let Some(message) = next_message_of(&bucket.stream, &format!("{prefix}>"), from).await? {
            from = message.sequence + 1;
            if let Some(key) = message.subject.strip_prefix(&prefix) {
                entries.push((key.to_owned(), message));
            }
        }
        Ok(entries)
    }
}

/// Waits for a connection to one of the servers.
async fn connect(
    options: &ClusterOptions,
    connected: &Arc<AtomicBool>,
    count: &watch::Sender<u64>,
    deadline: Instant,
) -> Result<Client, StoreError> {
    loop {
        let connection = prepare_connection(options.connect_options().await?, connected.clone(), count.clone());
        match connection.connect(&options.servers[..]).await {
            Ok(client) => return Ok(client),
            Err(error) if is_permanent(error.kind()) => return Err(unusable(options, &error)),
            Err(error) if Instant::now() > deadline => {
                let (urls, seconds) = (options.public_urls(), START_TIMEOUT.as_secs());
                return Err(StoreError::Unreachable(format!(
                    "NATS at {urls} could not be reached within {seconds} s: {error}"
                )));
            }
            Err(_) => sleep(START_RETRY_INTERVAL).await,
        }
    }
}

/// Returns whether another attempt would fail, too.
fn is_permanent(kind: ConnectErrorKind) -> bool {
    matches!(
        kind,
        ConnectErrorKind::ServerParse | ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
    )
}

fn prepare_connection(
    options: ConnectOptions,
    connected: Arc<AtomicBool>,
    count: watch::Sender<u64>,
) -> ConnectOptions {
    options
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .ping_interval(Duration::from_secs(3))
        .connection_timeout(Duration::from_secs(3))
        .request_timeout(Some(REQUEST_TIMEOUT))
        .reconnect_delay_callback(|attempts| Duration::from_millis((50 << attempts.min(5)).min(1_000)))
        .event_callback(move |event| {
            let (connected, count) = (connected.clone(), count.clone());
            async move {
                match event {
                    Event::Connected => {
                        info!("connected to NATS");
                        connected.store(true, Ordering::Relaxed);
                        count.send_modify(|count| *count += 1);
                    }
                    Event::Disconnected | Event::Closed => {
                        warn!("disconnected from NATS");
                        connected.store(false, Ordering::Relaxed);
                    }
                    event => info!(%event, "NATS"),
                }
            }
        })
}

/// What belongs to the log on the servers, besides the stream.
struct StreamParts {
    identity: Arc<str>,
    objects: object_store::ObjectStore,
    leases: kv::Store,
    nodes: kv::Store,
}

enum SetupError {
    /// It may work later: servers are still finding each other.
    Retry(String),
    Refused(String),
}

async fn create_stream(context: &Context, prefix: &str, replicas: usize) -> Result<(usize, String), SetupError> {
    let config = Config {
        name: prefix.to_owned(),
        subjects: vec![log_subjects(prefix)],
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        num_replicas: replicas,
        duplicate_window: DUPLICATE_WINDOW,
        allow_direct: true,
        republish: Some(Republish {
            source: log_subjects(prefix),
            destination: format!("{prefix}.live.>"),
            headers_only: false,
        }),
        ..Config::default()
    };
    match context.create_stream(config).await {
        Ok(stream) => Ok((replicas, stream_identity(stream.cached_info()))),
        Err(error) => match error.kind() {
            CreateStreamErrorKind::JetStream(cause)
                if cause.error_code().0 != NO_SUITABLE_PEERS && cause.code() == 400 =>
            {
                Err(SetupError::Refused(cause.to_string()))
            }
            _ => Err(SetupError::Retry(error.to_string())),
        },
    }
}

async fn open_bucket(context: &Context, config: kv::Config) -> Result<kv::Store, SetupError> {
    match context.get_key_value(&config.bucket).await {
        Ok(bucket) => Ok(bucket),
        Err(_) => context.create_key_value(config).await.map_err(|error| match error.kind() {
            CreateKeyValueErrorKind::InvalidStoreName => SetupError::Refused(error.to_string()),
            _ => SetupError::Retry(error.to_string()),
        }),
    }
}

async fn next_message_of<T>(
    stream: &Stream<T>,
    subject: &str,
    from: u64,
) -> Result<Option<StreamMessage>, Unavailable> {
    match stream.get_first_raw_message_by_subject(subject, from).await {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(Unavailable(error.to_string())),
    }
}

/// Returns what distinguishes a stream from an earlier one with the same name.
fn stream_identity(info: &Info) -> String {
    format!("{} {:?}", info.config.name, info.created)
}

fn log_subjects(prefix: &str) -> String {
    format!("{prefix}.log.>")
}

fn unusable(options: &ClusterOptions, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Cluster(format!("NATS at {} cannot be used: {error}", options.public_urls()))
}
