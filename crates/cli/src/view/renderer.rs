//! Writes to the two sinks, and knows whether a line is begun, whether a blank line is due, and which item the last line is
//! about. Lines are sanitized here; messages and thoughts arrive sanitized.

use anstyle::Style;
use switchboard_event::Id;

use super::{
    DetailLevel, ScreenLayout, ViewOptions,
    fold::{MAX_LINE_COLUMNS, TextCell, UNLIMITED, cut_cells, fit_cells, truncate_bytes, wrap_cells},
    sanitize::sanitize_line,
    style::{DIM, PLAIN, paint},
};

pub type StyledSpan<'a> = (Style, &'a str);

/// The kind of a block of text. A blank line separates blocks of different kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A message of the agent.
    Text,
    /// Reasoning of the agent.
    Thought,
    /// A message of the user.
    Prompt,
    /// A tool call.
    Work,
    Plan,
    /// A notice.
    Note,
    /// A failure or warning, shown even in quiet mode.
    Problem,
    /// The end of a turn or session; a failure is shown even in quiet mode.
    End,
}

/// What was last written to a sink.
#[derive(Clone, Copy, Debug, Default)]
struct SinkPosition {
    /// The last line has no end yet.
    midline: bool,
    blank: bool,
    block: Option<BlockKind>,
}

#[derive(Debug)]
pub struct Renderer {
    pub options: ViewOptions,
    /// The output that the caller has not taken yet.
    pub out: ViewOutput,
    /// The nesting depth of subagents.
    pub depth: usize,
    answer: SinkPosition,
    activity: SinkPosition,
    /// The item of the last line: what follows about it needs no new heading.
    owner: Option<Id>,
    /// The message or thought that was written last.
    speaker: Option<Id>,
    /// The current block is not shown.
    silent: bool,
    /// The status line is visible.
    status: bool,
}

impl Renderer {
    pub fn new(options: ViewOptions) -> Self {
        let place = SinkPosition { blank: true, ..SinkPosition::default() };
        Self {
            options,
            out: ViewOutput::default(),
            depth: 0,
            answer: place,
            activity: place,
            owner: None,
            speaker: None,
            silent: false,
            status: false,
        }
    }

    /// Begins a block of activity.
    pub fn begin(&mut self, block: BlockKind) {
        self.silent = self.options.quiet && !matches!(block, BlockKind::Problem | BlockKind::End);
        if self.silent {
            return;
        }
        (self.owner, self.speaker) = (None, None);
        self.space(OutputSink::Activity, block);
    }

    /// Sets the item of the last line.
    pub fn set_owner(&mut self, item: Option<&Id>) {
        self.owner = item.filter(|_| !self.silent).cloned();
    }

    pub fn is_owned(&self, item: &Id) -> bool {
        self.owner.as_ref() == Some(item)
    }

    /// Forgets the item of the last line, after the caller wrote to the screen.
    pub fn forget_owner(&mut self) {
        (self.owner, self.speaker) = (None, None);
        self.activity.block = None;
        self.activity.blank = false;
    }

    /// Writes text of the caller unchanged.
    pub fn aside(&mut self, text: &str) {
        self.silent = false;
        self.write(OutputSink::Activity, PLAIN, text);
    }

    /// Records that the cursor is at the beginning of a line.
    pub fn entered(&mut self) {
        self.activity.midline = false;
    }

    /// Changes the kind of the last block.
    pub fn set_last_block(&mut self, block: BlockKind) {
        self.activity.block = Some(block);
    }

    pub fn break_line(&mut self) {
        self.close(OutputSink::Activity);
    }

    /// Writes a piece of a message.
    pub fn write_message(&mut self, message: &Id, text: &str) {
        self.silent = false;
        self.take_turn(message, OutputSink::Answer, BlockKind::Text);
        self.write(OutputSink::Answer, PLAIN, text);
    }

    /// The agent thinks something. A mark stands where a thought begins, and where it goes on after something else.
    pub fn write_thought(&mut self, thought: &Id, text: &str, mark: &str) {
        self.silent = self.options.quiet;
        if self.silent {
            return;
        }
        if self.take_turn(thought, OutputSink::Activity, BlockKind::Thought) {
            self.write(OutputSink::Activity, DIM, mark);
        }
        let indent = " ".repeat(mark.chars().count());
        for line in text.split_inclusive('\n') {
            if line != "\n" && !self.place(OutputSink::Activity).midline {
                self.write(OutputSink::Activity, DIM, &indent);
            }
            self.write(OutputSink::Activity, DIM, line);
        }
    }

    /// Ends the line of a complete message or thought.
    pub fn finish(&mut self, speaker: &Id, sink: OutputSink) {
        if self.speaker.as_ref() == Some(speaker) {
            let place = *self.place(sink);
            if place.midline {
                self.write(sink, PLAIN, "\n");
            }
            self.speaker = None;
        }
    }

    /// Writes a line of activity, cut to the width.
    pub fn line(&mut self, indent: usize, spans: &[StyledSpan<'_>]) {
        if self.silent {
            return;
        }
        if self.options.detail == DetailLevel::Full {
            return self.rows(indent, UNLIMITED, spans);
        }
        let room = self.room(indent);
        let texts = sanitize_spans(spans, room);
        let (cells, more) = fit_cells(texts.iter().map(String::as_str), room);
        self.row(indent, &cut_cells(cells, more, room), spans);
    }

    /// Writes a line of activity, wrapped into at most `most` rows.
    pub fn rows(&mut self, indent: usize, most: usize, spans: &[StyledSpan<'_>]) {
        if self.silent {
            return;
        }
        let (room, is_full) = (self.room(indent), self.options.detail == DetailLevel::Full);
        let most = if is_full { UNLIMITED } else { most };
        let all = if is_full { UNLIMITED } else { room.saturating_mul(most).min(MAX_LINE_COLUMNS * 2) };
        let texts = sanitize_spans(spans, all);
        let (cells, more) = fit_cells(texts.iter().map(String::as_str), all);
        let cells = cut_cells(cells, more, all);
        // Continuation lines align with the text, not with its mark.
        let hang = if spans.first().is_some_and(|(_, mark)| mark.chars().count() == 2) { 2 } else { 0 };
        let rows = wrap_cells(&cells, room - hang);
        let too_many = rows.len() > most;
        for (number, row) in rows.into_iter().take(most).enumerate() {
            let indent = if number == 0 { indent } else { indent + hang };
            if too_many && number + 1 == most {
                self.row(indent, &cut_cells(row.to_vec(), true, room - hang), spans);
            } else {
                self.row(indent, row, spans);
            }
        }
    }

    fn row(&mut self, indent: usize, cells: &[TextCell], spans: &[StyledSpan<'_>]) {
        self.write(OutputSink::Activity, DIM, &"│ ".repeat(self.depth));
        let blank = cells.iter().rposition(|cell| cell.c != ' ').map_or(0, |at| at + 1);
        let cells = cells.get(..blank).unwrap_or(cells);
        if !cells.is_empty() {
            self.write(OutputSink::Activity, PLAIN, &" ".repeat(indent));
        }
        let style = |cell: &TextCell| spans.get(cell.part).map_or(PLAIN, |span| span.0);
        for run in cells.chunk_by(|a, b| style(a) == style(b)) {
            let text: String = run.iter().map(|cell| cell.c).collect();
            self.write(OutputSink::Activity, run.first().map_or(PLAIN, style), &text);
        }
        self.write(OutputSink::Activity, PLAIN, "\n");
    }

    /// Returns the available columns after an indent.
    fn room(&self, indent: usize) -> usize {
        match usize::from(self.options.width) {
            0 if self.options.detail == DetailLevel::Full => UNLIMITED,
            0 => MAX_LINE_COLUMNS,
            // The last column stays free: some terminals break the line when it is written.
            width => (width - 1).saturating_sub(indent + 2 * self.depth).max(16),
        }
    }

    /// Draws the status line over the last one. It needs its own line, so it waits if one is begun.
    pub fn draw_status(&mut self, text: &str) {
        if !self.shows_status() || self.place(OutputSink::Activity).midline {
            return;
        }
        // The rest of the line is erased after it, so that nothing flickers.
        self.out.push(OutputSink::Activity, "\r");
        self.out.push(OutputSink::Activity, &paint(self.options.color, DIM, text));
        self.out.push(OutputSink::Activity, "\x1b[K");
        self.status = true;
    }

    fn shows_status(&self) -> bool {
        self.options.screen != ScreenLayout::None && !self.options.quiet
    }

    pub fn clear_status(&mut self) {
        if std::mem::take(&mut self.status) {
            self.out.push(OutputSink::Activity, "\r\x1b[2K");
        }
    }

    /// Ends a begun line if the speaker changes. Returns whether it does.
    fn take_turn(&mut self, speaker: &Id, sink: OutputSink, block: BlockKind) -> bool {
        let changes = self.speaker.as_ref() != Some(speaker);
        if changes {
            self.space(sink, block);
            if self.own_sink(sink) == OutputSink::Activity {
                self.owner = None;
            }
            self.speaker = Some(speaker.clone());
        }
        changes
    }

    /// Ends a begun line, and adds a blank one before a block of another kind.
    fn space(&mut self, sink: OutputSink, block: BlockKind) {
        self.close(sink);
        let place = *self.place(sink);
        let dense = |block| matches!(block, BlockKind::Work | BlockKind::Note | BlockKind::Problem);
        let joins =
            place.block.is_none_or(|last| dense(last) && dense(block) || last == BlockKind::End && block == last);
        if !joins && !place.blank {
            self.write(self.own_sink(sink), PLAIN, "\n");
        }
        self.place(sink).block = Some(block);
    }

    fn close(&mut self, sink: OutputSink) {
        if self.place(sink).midline {
            self.write(self.own_sink(sink), PLAIN, "\n");
        }
    }

    /// Returns the sink for blank lines: on a shared screen they are not part of the answer.
    fn own_sink(&self, sink: OutputSink) -> OutputSink {
        if self.options.screen == ScreenLayout::Both { OutputSink::Activity } else { sink }
    }

    fn place(&mut self, sink: OutputSink) -> &mut SinkPosition {
        match sink {
            OutputSink::Answer if self.options.screen != ScreenLayout::Both => &mut self.answer,
            _ => &mut self.activity,
        }
    }

    fn write(&mut self, sink: OutputSink, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        if sink == OutputSink::Activity || self.options.screen == ScreenLayout::Both {
            self.clear_status();
        }
        let place = self.place(sink);
        place.blank = text.ends_with("\n\n") || text == "\n" && !place.midline;
        place.midline = !text.ends_with('\n');
        self.out.push(sink, &paint(self.options.color && sink == OutputSink::Activity, style, text));
    }
}

/// Sanitizes the texts of a line, but no more than could be shown.
fn sanitize_spans(spans: &[StyledSpan<'_>], columns: usize) -> Vec<String> {
    let bytes = columns.saturating_mul(12) + 64;
    spans.iter().map(|(_, text)| sanitize_line(truncate_bytes(text, bytes))).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSink {
    /// Messages of the agent, without colors and cursor movements.
    Answer,
    Activity,
}

/// Texts for the two sinks, in order.
#[derive(Clone, Debug, Default)]
pub struct ViewOutput {
    text: String,
    /// The sink of each piece and its end.
    pieces: Vec<(OutputSink, usize)>,
}

impl ViewOutput {
    pub fn push(&mut self, sink: OutputSink, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.pieces.last_mut() {
            Some((last, end)) if *last == sink => *end = self.text.len(),
            _ => self.pieces.push((sink, self.text.len())),
        }
    }

    /// Returns all texts in order, with alternating sinks.
    pub fn pieces(&self) -> impl Iterator<Item = (OutputSink, &str)> {
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|(_, end)| *end));
        starts.zip(&self.pieces).map(|(start, (sink, end))| (*sink, self.text.get(start..*end).unwrap_or_default()))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.pieces.clear();
    }
}
