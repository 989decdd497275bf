//! Messages on their way out, as the bytes that go on the wire.

use serde::Serialize;

/// A buffer of finished messages, one JSON object each.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Messages {
    /// Adds a message. One that cannot be written as JSON is left out; no type of ours is such.
    pub fn push<T: Serialize + ?Sized>(&mut self, message: &T) {
        self.write(|bytes| serde_json::to_writer(bytes, message));
    }

    /// Adds a message that is written by hand, for a dialect that can do it faster. It must be JSON.
    pub fn write(&mut self, message: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) {
        let start = self.bytes.len();
        match message(&mut self.bytes) {
            Ok(()) => self.ends.push(self.bytes.len()),
            Err(_) => self.bytes.truncate(start),
        }
    }

    /// The messages in their order, each as JSON.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }

    /// All of them behind each other without anything in between, and where each ends.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Takes all out, so that the buffer can be used again.
    pub fn clear(&mut self) {
        self.bytes.clear();
        // One huge message must not cost its size for ever.
        self.bytes.shrink_to(1 << 20);
        self.ends.clear();
    }
}
