//! What is to be written, and where, in order. The caller maps the sinks to standard output and standard error.

/// Where a text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// What the agent says. Never has colours or cursor movements.
    Answer,
    /// Everything else.
    Activity,
}

/// Texts for the two sinks, in order.
#[derive(Clone, Debug, Default)]
pub struct Output {
    text: String,
    /// The sink of each piece, and where it ends.
    pieces: Vec<(Sink, usize)>,
}

impl Output {
    /// Adds a text.
    pub fn push(&mut self, sink: Sink, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.pieces.last_mut() {
            Some((last, end)) if *last == sink => *end = self.text.len(),
            _ => self.pieces.push((sink, self.text.len())),
        }
    }

    /// All texts, in order. Two that follow each other go to different sinks.
    pub fn pieces(&self) -> impl Iterator<Item = (Sink, &str)> {
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|(_, end)| *end));
        starts.zip(&self.pieces).map(|(start, (sink, end))| (*sink, self.text.get(start..*end).unwrap_or_default()))
    }

    /// Nothing is to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// It was written: the room can be used again.
    pub fn clear(&mut self) {
        self.text.clear();
        self.pieces.clear();
    }
}
