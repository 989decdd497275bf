//! Serialized messages in wire format.

use serde::Serialize;

/// A buffer of finished messages, one JSON object each.
#[derive(Clone, Debug, Default)]
pub struct MessageBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl MessageBuffer {
    /// Adds a message. A value that cannot be serialized is dropped; none of our types fails to serialize.
    pub fn push<T: Serialize + ?Sized>(&mut self, message: &T) {
        self.write(|bytes| serde_json::to_writer(bytes, message));
    }

    /// Adds a message that the caller serializes, for dialects with a faster writer. It must be JSON.
    pub fn write(&mut self, message: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) {
        let start = self.bytes.len();
        match message(&mut self.bytes) {
            Ok(()) => self.ends.push(self.bytes.len()),
            Err(_) => self.bytes.truncate(start),
        }
    }

    /// Returns the messages in order, each as JSON.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }

    /// Returns the concatenated messages and the end offset of each.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all messages so that the buffer can be reused.
    pub fn clear(&mut self) {
        self.bytes.clear();
        // A single huge message must not pin its memory.
        self.bytes.shrink_to(1 << 20);
        self.ends.clear();
    }
}
