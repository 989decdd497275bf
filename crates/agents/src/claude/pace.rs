//! When Claude Code is done. A `result` ends a turn, not the work: prompts may wait, agents in the background go on,
//! and a command in the background begins another turn when it ends. Claude Code says `idle` when there is nothing
//! left of the first two.

use std::{collections::VecDeque, time::Duration};

use crate::{Effect, Effects, Object, Timer};

/// Runs out when nothing came after all.
pub const SETTLE: Timer = Timer("settle");

/// As long as Claude Code 2.1.197 itself waits for commands in the background when its input ends.
const COMMANDS: Duration = Duration::from_secs(5);

/// How long a prompt that crossed the end of a turn may take to begin the next.
const CROSSED: Duration = Duration::from_secs(2);

/// More prompts or commands than anybody lets wait.
const MOST: usize = 64;

/// What is under way.
#[derive(Default)]
pub struct Pace {
    /// This version says when it is idle. 2.1.0 does not, and its `result` must do.
    tells: bool,
    working: bool,
    /// Somebody stopped the turn, and is not to wait.
    stopping: bool,
    /// Asked after a prompt that was sent while a turn ran: its answer says that the prompt was read.
    mark: Option<String>,
    /// Prompts that were sent while a turn ran.
    queued: VecDeque<String>,
    /// Commands that run in the background.
    commands: VecDeque<String>,
}

impl Pace {
    /// A turn runs, or will.
    pub fn is_working(&self) -> bool {
        self.working
    }

    /// A prompt goes.
    pub fn prompted(&mut self) {
        self.working = true;
    }

    /// A prompt went while a turn ran, followed by a request of this id.
    pub fn queued(&mut self, prompt: String, mark: String) {
        self.mark = Some(mark);
        remember(&mut self.queued, prompt);
    }

    /// The turn is to stop. Gives the prompts that may still wait: they must not go on by themselves.
    pub fn stopping(&mut self) -> VecDeque<String> {
        self.stopping = self.working;
        std::mem::take(&mut self.queued)
    }

    /// One of our requests was answered.
    pub fn answered(&mut self, id: &str) {
        self.mark.take_if(|mark| mark == id);
    }

    /// `session_state_changed`.
    pub fn state(&mut self, state: &str, effects: &mut Effects) {
        self.tells = true;
        match state {
            "idle" => self.rests(effects),
            _ => self.runs(effects),
        }
    }

    /// `init`: a turn began.
    pub fn began(&mut self, effects: &mut Effects) {
        self.runs(effects);
    }

    /// `result`: a turn ended.
    pub fn ended(&mut self, effects: &mut Effects) {
        if !self.tells {
            self.rests(effects);
        }
    }

    /// The time is over in which something could have come.
    pub fn ran_out(&mut self, effects: &mut Effects) {
        if self.working {
            self.settled(effects);
        }
    }

    /// `task_*`: which commands are alive. A command that takes long says it too, but ends before its turn.
    pub fn task(&mut self, subtype: &str, fields: &Object<'_>) {
        let id = fields.string("task_id").unwrap_or_default();
        let status = fields.object("patch").string("status").unwrap_or_default();
        match subtype {
            "task_started" if fields.is("task_type", "local_bash") => remember(&mut self.commands, id),
            "task_updated" if !matches!(status.as_str(), "completed" | "failed" | "killed") => {}
            "task_updated" | "task_notification" => self.commands.retain(|known| *known != id),
            _ => {}
        }
    }

    fn runs(&mut self, effects: &mut Effects) {
        self.working = true;
        effects.disarm(SETTLE);
    }

    fn rests(&mut self, effects: &mut Effects) {
        if !self.working {
            return;
        }
        if self.mark.is_some() {
            // The end was said before the prompt was read: it begins another turn.
            effects.push(Effect::Arm(SETTLE, CROSSED));
        } else if !self.stopping && !self.commands.is_empty() {
            effects.push(Effect::Arm(SETTLE, COMMANDS));
        } else {
            self.settled(effects);
        }
    }

    fn settled(&mut self, effects: &mut Effects) {
        (self.working, self.stopping, self.mark) = (false, false, None);
        self.queued.clear();
        effects.push(Effect::Settled);
    }
}

fn remember(list: &mut VecDeque<String>, entry: String) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(entry);
}
