//! Reads events: the index says in which frames they are, and the frames come from the stream.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use async_nats::jetstream::message::StreamMessage;
use parking_lot::Mutex;
use switchboard_event::Id;
use switchboard_store::{EventRow, PageQuery, StoreError};

use crate::{
    event_stream::Unavailable,
    frame::{DecodedEvents, Frame, FrameEvents, kind_bit, kind_name, matches_object_name},
    index::FramePosition,
    node::ClusterNode,
};

/// The maximum size of the cached events, and of a single entry.
const MAX_CACHED_BYTES: usize = 16 << 20;
const MAX_CACHED_ENTRY_BYTES: usize = 4 << 20;

/// The maximum number of frames to look up in the index at once.
const MAX_POSITIONS: usize = 256;

/// The maximum number and size of the frames to read from the stream at once.
const MAX_BATCH_FRAMES: usize = 64;
const MAX_BATCH_BYTES: usize = 2 << 20;

/// The decoded events of a frame; `None` if it is damaged or missing.
type FrameContent = Option<Arc<DecodedEvents>>;

/// Reads the events of all sessions.
pub struct EventReader {
    node: Arc<ClusterNode>,
    cache: Mutex<FrameCache>,
}

/// The frames that were read last, by stream sequence.
#[derive(Default)]
struct FrameCache {
    entries: HashMap<u64, Arc<DecodedEvents>>,
    /// From the least recently used.
    order: VecDeque<u64>,
    bytes: usize,
}

impl FrameCache {
    fn get(&mut self, sequence: u64) -> Option<Arc<DecodedEvents>> {
        let found = self.entries.get(&sequence)?.clone();
        self.order.retain(|other| *other != sequence);
        self.order.push_back(sequence);
        Some(found)
    }

    fn insert(&mut self, sequence: u64, events: &Arc<DecodedEvents>) {
        if events.memory_bytes() > MAX_CACHED_ENTRY_BYTES || self.entries.contains_key(&sequence) {
            return;
        }
        self.bytes += events.memory_bytes();
        self.entries.insert(sequence, events.clone());
        self.order.push_back(sequence);
        while self.bytes > MAX_CACHED_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.entries.remove(&oldest).map_or(0, |events| events.memory_bytes());
        }
    }
}

/// The page that is being read.
struct PageBuilder {
    page: PageQuery,
    kinds: Vec<String>,
    rows: Vec<EventRow>,
    bytes: usize,
    /// Events up to this `seq` were considered.
    position: u64,
}

impl PageBuilder {
    fn is_relevant(&self, frame: &FramePosition) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| frame.kinds & kind_bit(kind) != 0)
    }

    /// Adds the events of a frame. Returns whether the page is complete.
    fn add_frame(&mut self, session: &str, events: &DecodedEvents) -> Result<bool, StoreError> {
        for (seq, kind, json) in events.iter_after(self.position) {
            if self.rows.len() >= self.page.limit {
                return Ok(true);
            }
            if !self.kinds.is_empty() && !self.kinds.iter().any(|wanted| wanted == kind) {
                continue;
            }
            let Some(json) = json else { return self.end_before_damage(session, seq) };
            self.bytes += json.len();
            if self.bytes > self.page.max_bytes && !self.rows.is_empty() {
                return Ok(true);
            }
            self.rows.push(EventRow { seq, json: json.to_owned() });
        }
        Ok(self.rows.len() >= self.page.limit)
    }

    /// Ends the page before a damaged event. Fails if that is the first one.
    fn end_before_damage(&self, session: &str, seq: u64) -> Result<bool, StoreError> {
        if self.rows.is_empty() { Err(StoreError::Damaged { session: session.into(), seq }) } else { Ok(true) }
    }
}

impl EventReader {
    pub fn new(node: Arc<ClusterNode>) -> Self {
        Self { node, cache: Mutex::default() }
    }

    /// Returns the events of a page.
    pub async fn read_rows(&self, session: &str, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        let kinds = page.kinds.iter().map(|kind| kind_name(*kind)).collect();
        let mut builder = PageBuilder { page, kinds, rows: Vec::new(), bytes: 0, position: page.after };
        loop {
            let (head, positions) = self.node.index.list_frames(session, builder.position, MAX_POSITIONS)?;
            if page.limit == 0 {
                return Ok(Vec::new());
            }
            if positions.is_empty() {
                if builder.position < head {
                    builder.end_before_damage(session, builder.position + 1)?;
                }
                return Ok(builder.rows);
            }
            if self.read_frames(session, &mut builder, &positions).await? {
                return Ok(builder.rows);
            }
        }
    }

    /// Reads all frames of a session and returns its damaged and missing events. A frame whose predecessor is not the
    /// one that it names counts as damaged, because something before it was lost or replaced.
    pub async fn find_damaged_events(&self, session: &str) -> Result<Vec<u64>, StoreError> {
        let subject = self.node.stream.subject(session);
        let record = self.node.index.find_record(session)?;
        let head = record.ok_or_else(|| StoreError::NoSession(session.to_owned()))?.head;
        let (mut damaged, mut previous, mut seq, mut from) = (Vec::new(), String::new(), 0, 1);
        while let Some(message) = self.node.stream.next_message(&subject, from).await? {
            from = message.sequence + 1;
            let Ok(frame) = Frame::decode(&message.headers, &message.payload) else { continue };
            damaged.extend(seq + 1..frame.first);
            let is_linked = frame.previous == previous;
            if frame.has_events() && (!is_linked || self.decode(session, &message).await?.is_none()) {
                damaged.extend(frame.first..=frame.record().head);
            }
            seq = frame.record().head;
            previous = frame.hash;
        }
        damaged.extend(seq + 1..=head);
        Ok(damaged)
    }

    /// Adds the events of some frames to a page. Returns whether it is complete.
    async fn read_frames(
        &self,
        session: &str,
        builder: &mut PageBuilder,
        positions: &[FramePosition],
    ) -> Result<bool, StoreError> {
        let mut contents = HashMap::new();
        for (index, frame) in positions.iter().enumerate() {
            // Frames that are missing from the index are missing from the log.
            if frame.first > builder.position + 1 {
                return builder.end_before_damage(session, builder.position + 1);
            }
            if builder.is_relevant(frame) {
                if !contents.contains_key(&frame.sequence) {
                    contents = self.fetch_frames(session, builder, positions.get(index..).unwrap_or_default()).await?;
                }
                match contents.remove(&frame.sequence).flatten() {
                    Some(events) if builder.add_frame(session, &events)? => return Ok(true),
                    Some(_) => {}
                    None if self.node.index.find_record(session)?.is_none() => {
                        return Err(StoreError::NoSession(session.to_owned()));
                    }
                    None => return builder.end_before_damage(session, frame.first.max(builder.position + 1)),
                }
            }
            builder.position = frame.last;
        }
        Ok(false)
    }

    /// Reads the first of some frames, and those after it that the page probably needs.
    async fn fetch_frames(
        &self,
        session: &str,
        builder: &PageBuilder,
        positions: &[FramePosition],
    ) -> Result<HashMap<u64, FrameContent>, StoreError> {
        let (mut wanted, mut events) = (Vec::new(), builder.rows.len());
        for frame in positions.iter().filter(|frame| builder.is_relevant(frame)) {
            if events >= builder.page.limit || wanted.len() >= MAX_BATCH_FRAMES {
                break;
            }
            events += usize::try_from(frame.last + 1 - frame.first).unwrap_or(usize::MAX >> 1);
            wanted.push(frame.sequence);
        }
        let mut contents: HashMap<u64, FrameContent> = HashMap::new();
        {
            let mut cache = self.cache.lock();
            contents.extend(wanted.iter().filter_map(|sequence| Some((*sequence, Some(cache.get(*sequence)?)))));
        }
        let mut missing: HashSet<u64> =
            wanted.iter().copied().filter(|sequence| !contents.contains_key(sequence)).collect();
        if missing.len() > 1 {
            let subject = self.node.stream.subject(session);
            let from = missing.iter().min().copied().unwrap_or_default();
            let budget = builder.page.max_bytes.clamp(MAX_BATCH_BYTES / 16, MAX_BATCH_BYTES);
            if let Ok(batch) = self.node.stream.read_batch(&subject, from, missing.len() + 8, budget).await {
                for message in batch.messages.iter().filter(|message| missing.remove(&message.sequence)) {
                    contents.insert(message.sequence, self.decode(session, message).await?);
                }
            }
        }
        // The first one is needed; others are read when their turn comes.
        let first = wanted.first().copied().unwrap_or_default();
        if missing.contains(&first) {
            let content = match self.node.stream.get_message(first).await? {
                Some(message) => self.decode(session, &message).await?,
                None => None,
            };
            contents.insert(first, content);
        }
        Ok(contents)
    }

    /// Decodes the events of a frame. Returns `None` if they are damaged.
    async fn decode(&self, session: &str, message: &StreamMessage) -> Result<FrameContent, Unavailable> {
        let Ok(frame) = Frame::decode(&message.headers, &message.payload) else { return Ok(None) };
        let id = Id::from(session);
        let events = match &frame.events {
            _ if frame.record().id != id => None,
            FrameEvents::Inline(events) => DecodedEvents::decode(&frame, events),
            FrameEvents::Object(name) => {
                let data = self.node.stream.get_object(name).await?;
                let data = data.filter(|data| matches_object_name(name, &id, data));
                data.and_then(|data| DecodedEvents::decode(&frame, &data))
            }
        };
        let events = events.map(Arc::new);
        if let Some(events) = &events {
            self.cache.lock().insert(message.sequence, events);
        }
        Ok(events)
    }
}
