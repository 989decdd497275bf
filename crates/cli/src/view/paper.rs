//! Where the pen is: writes to the two sinks and knows whether a line is begun, whether a blank line is due, and whose
//! line was written last. All text of the activity passes here, and is made harmless here.

use anstyle::Style;
use switchboard_event::Id;

use super::{
    clean,
    fold::{self, Cell},
    options::{Detail, Options, Screen},
    output::{Output, Sink},
    style::{DIM, PLAIN},
};

/// A piece of a line.
pub type Span<'a> = (Style, &'a str);

/// What a part of the text is. Parts of a different kind have a blank line between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// What the agent says.
    Text,
    /// What it thinks.
    Thought,
    /// What the user says.
    Prompt,
    /// What it does, one line or several each.
    Work,
    /// Its plan.
    Plan,
    /// Something to know.
    Note,
    /// Something that went wrong. Shown also where little is shown.
    Problem,
    /// How a turn or the session ended. Shown also where little is shown, if it did not end well.
    End,
}

/// Where one device stands.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// A line is begun.
    midline: bool,
    /// The last line is empty.
    blank: bool,
    /// What was written last.
    block: Option<Block>,
}

/// The pen and the paper.
#[derive(Debug)]
pub struct Paper {
    /// How to show things.
    pub options: Options,
    /// What was written and not yet taken.
    pub out: Output,
    /// How deep in subagents we are.
    pub depth: usize,
    answer: Place,
    activity: Place,
    /// The item whose line was written last: what follows about it needs no line that says so.
    owner: Option<Id>,
    /// The item whose text was written last.
    speaker: Option<Id>,
    /// The part that is being written is not shown.
    silent: bool,
    /// The status line is on the screen.
    status: bool,
}

impl Paper {
    pub fn new(options: Options) -> Self {
        let place = Place { blank: true, ..Place::default() };
        Self {
            options,
            out: Output::default(),
            depth: 0,
            answer: place,
            activity: place,
            owner: None,
            speaker: None,
            silent: false,
            status: false,
        }
    }

    /// A part of the activity begins.
    pub fn begin(&mut self, block: Block) {
        self.silent = self.options.quiet && !matches!(block, Block::Problem | Block::End);
        if self.silent {
            return;
        }
        (self.owner, self.speaker) = (None, None);
        self.space(Sink::Activity, block);
    }

    /// The part that is being written is about this item.
    pub fn own(&mut self, item: Option<&Id>) {
        self.owner = item.filter(|_| !self.silent).cloned();
    }

    /// The last line was about this item.
    pub fn is_owned(&self, item: &Id) -> bool {
        self.owner.as_ref() == Some(item)
    }

    /// Forgets the owner of the last line, after the caller wrote to the screen.
    pub fn disown(&mut self) {
        (self.owner, self.speaker) = (None, None);
        self.activity.block = None;
        self.activity.blank = false;
    }

    /// Writes what is not ours to shape.
    pub fn aside(&mut self, text: &str) {
        self.silent = false;
        self.write(Sink::Activity, PLAIN, text);
    }

    /// The cursor is at the beginning of a line again, without our doing.
    pub fn entered(&mut self) {
        self.activity.midline = false;
    }

    /// What was written last counts as something of this kind.
    pub fn disown_block(&mut self, block: Block) {
        self.activity.block = Some(block);
    }

    /// Ends a line that is begun.
    pub fn break_line(&mut self) {
        self.close(Sink::Activity);
    }

    /// The agent says something, in a message.
    pub fn say(&mut self, message: &Id, text: &str) {
        self.silent = false;
        self.take_turn(message, Sink::Answer, Block::Text);
        self.write(Sink::Answer, PLAIN, text);
    }

    /// The agent thinks something. A mark stands where a thought begins, and where it goes on after something else.
    pub fn think(&mut self, thought: &Id, text: &str, mark: &str) {
        self.silent = self.options.quiet;
        if self.silent {
            return;
        }
        if self.take_turn(thought, Sink::Activity, Block::Thought) {
            self.write(Sink::Activity, DIM, mark);
        }
        let indent = " ".repeat(mark.chars().count());
        for line in text.split_inclusive('\n') {
            if line != "\n" && !self.place(Sink::Activity).midline {
                self.write(Sink::Activity, DIM, &indent);
            }
            self.write(Sink::Activity, DIM, line);
        }
    }

    /// A message or a thought is finished: its line ends.
    pub fn finish(&mut self, speaker: &Id, sink: Sink) {
        if self.speaker.as_ref() == Some(speaker) {
            let place = *self.place(sink);
            if place.midline {
                self.write(sink, PLAIN, "\n");
            }
            self.speaker = None;
        }
    }

    /// A line of activity, cut to the width.
    pub fn line(&mut self, indent: usize, spans: &[Span<'_>]) {
        if self.silent {
            return;
        }
        if self.options.detail == Detail::Full {
            return self.rows(indent, fold::WHOLE, spans);
        }
        let room = self.room(indent);
        let texts = harmless(spans, room);
        let (cells, more) = fold::cells(texts.iter().map(String::as_str), room);
        self.row(indent, &fold::cut(cells, more, room), spans);
    }

    /// Writes a line of activity, wrapped into at most `most` rows.
    pub fn rows(&mut self, indent: usize, most: usize, spans: &[Span<'_>]) {
        if self.silent {
            return;
        }
        let (room, is_full) = (self.room(indent), self.options.detail == Detail::Full);
        let most = if is_full { fold::WHOLE } else { most };
        let all = if is_full { fold::WHOLE } else { room.saturating_mul(most).min(fold::LONGEST * 2) };
        let texts = harmless(spans, all);
        let (cells, more) = fold::cells(texts.iter().map(String::as_str), all);
        let cells = fold::cut(cells, more, all);
        // What follows a mark stands below the text, not below the mark.
        let hang = if spans.first().is_some_and(|(_, mark)| mark.chars().count() == 2) { 2 } else { 0 };
        let rows = fold::wrap(&cells, room - hang);
        let too_many = rows.len() > most;
        for (number, row) in rows.into_iter().take(most).enumerate() {
            let indent = if number == 0 { indent } else { indent + hang };
            if too_many && number + 1 == most {
                self.row(indent, &fold::cut(row.to_vec(), true, room - hang), spans);
            } else {
                self.row(indent, row, spans);
            }
        }
    }

    fn row(&mut self, indent: usize, cells: &[Cell], spans: &[Span<'_>]) {
        self.write(Sink::Activity, DIM, &"│ ".repeat(self.depth));
        let blank = cells.iter().rposition(|cell| cell.c != ' ').map_or(0, |at| at + 1);
        let cells = cells.get(..blank).unwrap_or(cells);
        if !cells.is_empty() {
            self.write(Sink::Activity, PLAIN, &" ".repeat(indent));
        }
        let style = |cell: &Cell| spans.get(cell.part).map_or(PLAIN, |span| span.0);
        for run in cells.chunk_by(|a, b| style(a) == style(b)) {
            let text: String = run.iter().map(|cell| cell.c).collect();
            self.write(Sink::Activity, run.first().map_or(PLAIN, style), &text);
        }
        self.write(Sink::Activity, PLAIN, "\n");
    }

    /// How many columns are left behind an indent.
    fn room(&self, indent: usize) -> usize {
        match usize::from(self.options.width) {
            0 if self.options.detail == Detail::Full => fold::WHOLE,
            0 => fold::LONGEST,
            // The last column stays free: some terminals break the line when it is written.
            width => (width - 1).saturating_sub(indent + 2 * self.depth).max(16),
        }
    }

    /// The status line, drawn over the last one. It needs a line of its own; where one is begun, it waits.
    pub fn draw_status(&mut self, text: &str) {
        if !self.shows_status() || self.place(Sink::Activity).midline {
            return;
        }
        // What is longer than the new one is erased behind it, so that nothing flickers.
        self.out.push(Sink::Activity, "\r");
        self.out.push(Sink::Activity, &paint(self.options.colour, DIM, text));
        self.out.push(Sink::Activity, "\x1b[K");
        self.status = true;
    }

    /// There is a place for a status line.
    pub fn shows_status(&self) -> bool {
        self.options.screen != Screen::None && !self.options.quiet
    }

    /// Takes the status line away.
    pub fn clear_status(&mut self) {
        if std::mem::take(&mut self.status) {
            self.out.push(Sink::Activity, "\r\x1b[2K");
        }
    }

    /// Ends a begun line if the speaker changes. Returns whether it does.
    fn take_turn(&mut self, speaker: &Id, sink: Sink, block: Block) -> bool {
        let changes = self.speaker.as_ref() != Some(speaker);
        if changes {
            self.space(sink, block);
            if self.own_sink(sink) == Sink::Activity {
                self.owner = None;
            }
            self.speaker = Some(speaker.clone());
        }
        changes
    }

    /// Ends a begun line, and leaves a blank one where a part of another kind begins.
    fn space(&mut self, sink: Sink, block: Block) {
        self.close(sink);
        let place = *self.place(sink);
        let dense = |block| matches!(block, Block::Work | Block::Note | Block::Problem);
        let joins = place.block.is_none_or(|last| dense(last) && dense(block) || last == Block::End && block == last);
        if !joins && !place.blank {
            self.write(self.own_sink(sink), PLAIN, "\n");
        }
        self.place(sink).block = Some(block);
    }

    fn close(&mut self, sink: Sink) {
        if self.place(sink).midline {
            self.write(self.own_sink(sink), PLAIN, "\n");
        }
    }

    /// Where room is made for a sink: on a shared screen it is no part of the answer.
    fn own_sink(&self, sink: Sink) -> Sink {
        if self.options.screen == Screen::Both { Sink::Activity } else { sink }
    }

    fn place(&mut self, sink: Sink) -> &mut Place {
        match sink {
            Sink::Answer if self.options.screen != Screen::Both => &mut self.answer,
            _ => &mut self.activity,
        }
    }

    fn write(&mut self, sink: Sink, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        if sink == Sink::Activity || self.options.screen == Screen::Both {
            self.clear_status();
        }
        let place = self.place(sink);
        place.blank = text.ends_with("\n\n") || text == "\n" && !place.midline;
        place.midline = !text.ends_with('\n');
        self.out.push(sink, &paint(self.options.colour && sink == Sink::Activity, style, text));
    }
}

/// The texts of a line, made harmless. Of a long one, no more than could be shown.
fn harmless(spans: &[Span<'_>], columns: usize) -> Vec<String> {
    let bytes = columns.saturating_mul(12) + 64;
    spans.iter().map(|(_, text)| clean::line(fold::beginning(text, bytes))).collect()
}

/// A text in a style.
pub fn paint(colour: bool, style: Style, text: &str) -> String {
    if colour && style != PLAIN { format!("{}{text}{}", style.render(), style.render_reset()) } else { text.to_owned() }
}
