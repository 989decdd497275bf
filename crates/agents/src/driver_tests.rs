//! A rehearsal: plays a script against an agent's reader and driver, without a process and without an engine, so
//! that tests of drivers are data. A script has one thing a line:
//!
//! ```text
//! {"cmd": "interrupt"}                     somebody wants something (see [`Wanted`])
//! {"in": {…}}  {"line": "…"}               the agent says a record, or a line that is not JSON
//! {"timer": "name"}  {"stream": "opened"}  a timer that is armed runs out; the stream opened, closed or ended
//! > {"send": {…}}                          what must be done because of the step above: all of it, in this order
//! = {"kind": "turn.completed"}             an event that the step must have caused, beside others
//! # why                                    said to people
//! ```
//!
//! What is expected is a pattern: of an object, the fields that are named; an array, whole. What stands before the
//! first step is expected of the driver's opening. As in the engine, what a driver sends is read back before it counts.

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{Dir, Id, SessionConfig};

use crate::{
    Agent, Answer, Command, Decision, Driver, Effect, Effects, Host, Image, Launch, Options, Order, Prompt, Record,
    RecordBody, Resume, Signal, Timer, Translator, Unsupported, source,
};

/// A machine that is made up.
#[derive(Default)]
pub struct Machine {
    pub env: BTreeMap<&'static str, String>,
    pub files: BTreeMap<PathBuf, String>,
}

impl Machine {
    pub fn with_env(mut self, name: &'static str, value: &str) -> Self {
        self.env.insert(name, value.to_owned());
        self
    }

    /// With a file; `~` is the home folder.
    pub fn with_file(mut self, path: &str, text: &str) -> Self {
        let path = path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| self.home().join(rest));
        self.files.insert(path, text.to_owned());
        self
    }
}

impl Host for Machine {
    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }

    fn home(&self) -> PathBuf {
        PathBuf::from("/home/user")
    }

    fn read(&self, path: &Path) -> Option<String> {
        self.files.get(path).cloned()
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        self.files.keys().filter(|file| file.parent() == Some(folder)).cloned().collect()
    }
}

/// All that an order refers to, ready to be changed.
#[derive(Default)]
pub struct Wish {
    pub config: SessionConfig,
    /// The session to continue, and whether a copy.
    pub resume: Option<(&'static str, bool)>,
    pub one_shot: bool,
    pub prompt: Prompt,
    pub command: Vec<String>,
    pub confined: bool,
    pub root: bool,
    pub machine: Machine,
}

impl Wish {
    /// With settings, in the JSON that users write.
    pub fn of(config: &Value) -> Self {
        Self { config: serde_json::from_value(config.clone()).unwrap(), ..Self::default() }
    }

    /// What the agent makes of it.
    pub fn launch(&self, agent: &Agent) -> Result<Launch, Unsupported> {
        (agent.launch)(&Order {
            config: &self.config,
            cwd: Path::new("/home/user/project"),
            resume: self.resume.map(|(session, fork)| Resume { session, fork }),
            one_shot: self.one_shot,
            prompt: &self.prompt,
            command: &self.command,
            private: Path::new("/tmp/private"),
            confined: self.confined,
            root: self.root,
            secret: "0123456789abcdef",
            host: &self.machine,
        })
    }

    /// Plays a script with what the agent makes of it.
    pub fn check(&self, agent: &Agent, script: &str) {
        check(self.launch(agent).unwrap(), script);
    }
}

/// What somebody wants, as scripts have it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Prompt(Said),
    Answer(Answered),
    Interrupt,
    SetModel(String),
    SetMode(String),
    SetOption(String, String),
    Slash(String, String),
    Close,
}

#[derive(Deserialize)]
struct Said {
    text: String,
    #[serde(default)]
    images: Vec<Picture>,
    #[serde(default)]
    schema: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Picture {
    media_type: String,
    data: String,
    #[serde(default)]
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Answered {
    request: String,
    decision: String,
    #[serde(default)]
    option: Option<String>,
    #[serde(default)]
    input: Option<Box<RawValue>>,
    #[serde(default)]
    answers: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    message: Option<String>,
}

impl From<Wanted> for Command {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Prompt(said) => Self::Prompt(said.into()),
            Wanted::Answer(answered) => Self::Answer(answered.into()),
            Wanted::Interrupt => Self::Interrupt,
            Wanted::SetModel(model) => Self::SetModel(model),
            Wanted::SetMode(mode) => Self::SetMode(mode),
            Wanted::SetOption(id, value) => Self::SetOption { id, value },
            Wanted::Slash(name, arguments) => Self::Slash { name, arguments },
            Wanted::Close => Self::Close,
        }
    }
}

impl From<Said> for Prompt {
    fn from(said: Said) -> Self {
        let image = |image: Picture| Image { media_type: image.media_type, data: image.data, path: image.path };
        Self { text: said.text, images: said.images.into_iter().map(image).collect(), output_schema: said.schema }
    }
}

impl From<Answered> for Answer {
    fn from(answered: Answered) -> Self {
        let decision = match answered.decision.as_str() {
            "allow" => Decision::Allow,
            "allow_session" => Decision::AllowSession,
            "decline" => Decision::Decline,
            "cancel" => Decision::Cancel,
            other => panic!("{other} is no decision"),
        };
        let Answered { option, input, answers, message, .. } = answered;
        Self { request: Id::from(answered.request), decision, option, input, answers, message }
    }
}

/// One line of a script that makes something happen.
#[derive(Deserialize)]
struct Step {
    cmd: Option<Wanted>,
    #[serde(rename = "in")]
    record: Option<Box<RawValue>>,
    line: Option<String>,
    timer: Option<String>,
    stream: Option<String>,
}

/// What a step came to.
#[derive(Default)]
struct Outcome {
    effects: Vec<Value>,
    events: Vec<Value>,
}

/// A play in progress.
struct Rehearsal {
    translator: Translator,
    driver: Box<dyn Driver>,
    armed: Vec<Timer>,
}

/// Plays a script; fails with the whole play where something else happens than it says.
pub fn check(launch: Launch, script: &str) {
    if let Err(play) = played(launch, script) {
        panic!("the play, as it went:\n{play}");
    }
}

fn played(launch: Launch, script: &str) -> Result<(), String> {
    let mut play = Rehearsal::new(launch);
    let (mut told, mut expected, mut failed) = (String::new(), Outcome::default(), false);
    let mut actual = play.open();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(effect) = line.strip_prefix('>') {
            expected.effects.push(parsed(effect));
        } else if let Some(event) = line.strip_prefix('=') {
            expected.events.push(parsed(event));
        } else {
            failed |= settle(&mut told, &expected, &actual);
            told.push_str(&format!("{line}\n"));
            (expected, actual) = (Outcome::default(), play.step(line));
        }
    }
    failed |= settle(&mut told, &expected, &actual);
    if failed { Err(told) } else { Ok(()) }
}

/// Has a driver hear all that an agent said in a transcript, and gives all that it wants done.
pub fn overhear(launch: Launch, transcript: &str) -> Vec<Value> {
    let mut play = Rehearsal::new(launch);
    let mut effects = play.open().effects;
    for line in transcript.lines().map(parsed).filter(|line| line["dir"] == "in") {
        effects.extend(play.step(&json!({ "in": line["msg"] }).to_string()).effects);
    }
    effects
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Writes down what happened; true if it was not what should have.
fn settle(told: &mut String, expected: &Outcome, actual: &Outcome) -> bool {
    for effect in &actual.effects {
        told.push_str(&format!("> {effect}\n"));
    }
    let mut events = actual.events.iter();
    let missed = expected.events.iter().find(|event| !events.any(|actual| matches(event, actual)));
    let alike = expected.effects.len() == actual.effects.len()
        && expected.effects.iter().zip(&actual.effects).all(|(expected, actual)| matches(expected, actual));
    if let Some(missed) = missed {
        actual.events.iter().for_each(|event| told.push_str(&format!("= {event}\n")));
        told.push_str(&format!("^^^ no event {missed}\n"));
    }
    if !alike {
        told.push_str("^^^ instead of\n");
        expected.effects.iter().for_each(|effect| told.push_str(&format!("  > {effect}\n")));
    }
    missed.is_some() || !alike
}

/// The pattern fits: of objects, only the fields that it names are looked at.
fn matches(pattern: &Value, actual: &Value) -> bool {
    match (pattern, actual) {
        (Value::Object(pattern), Value::Object(actual)) => {
            pattern.iter().all(|(key, value)| matches(value, actual.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(pattern), Value::Array(actual)) => {
            pattern.len() == actual.len()
                && pattern.iter().zip(actual).all(|(pattern, actual)| matches(pattern, actual))
        }
        _ => pattern == actual,
    }
}

impl Rehearsal {
    fn new(launch: Launch) -> Self {
        let session = Id::from("s");
        let options = Options { session: Some(session.clone()), hold: true, made_up: session, ..Options::default() };
        let translator = Translator::new(source(launch.source).unwrap(), options);
        Self { translator, driver: launch.driver.unwrap(), armed: Vec::new() }
    }

    fn open(&mut self) -> Outcome {
        let (mut effects, mut outcome) = (Effects::default(), Outcome::default());
        self.driver.open(&mut effects);
        self.perform(&mut effects, &mut outcome);
        outcome
    }

    fn step(&mut self, line: &str) -> Outcome {
        let step: Step = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        let (mut effects, mut outcome) = (Effects::default(), Outcome::default());
        if let Some(text) = step.record.as_deref().map(RawValue::get).or(step.line.as_deref()) {
            self.pass(Dir::In, text, &mut effects, &mut outcome);
        }
        if let Some(wanted) = step.cmd
            && let Err(refused) = self.driver.command(wanted.into(), &mut effects)
        {
            outcome.effects.push(json!({ "refused": refused.what }));
        }
        let ran_out = step.timer.map(|name| Signal::Timer(self.run_out(&name)));
        let stream = step.stream.map(|stream| match stream.as_str() {
            "opened" => Signal::StreamOpened,
            "ended" => Signal::StreamEnded,
            _ => Signal::StreamClosed,
        });
        for signal in ran_out.into_iter().chain(stream) {
            self.driver.signal(signal, &mut effects);
        }
        self.perform(&mut effects, &mut outcome);
        outcome
    }

    /// Does what the engine would, one after the other; what is sent or heard can cause more.
    fn perform(&mut self, effects: &mut Effects, outcome: &mut Outcome) {
        let mut waiting: VecDeque<Effect> = effects.drain().collect();
        while let Some(effect) = waiting.pop_front() {
            outcome.effects.push(shown(&effect));
            match &effect {
                Effect::Send(record) | Effect::Note(record) | Effect::SendMasked { kept: record, .. } => {
                    self.pass(Dir::Out, record.get(), effects, outcome);
                }
                Effect::Http(request) => {
                    self.pass(Dir::Out, switchboard_event::raw(request).get(), effects, outcome);
                }
                Effect::Hear(line) => self.pass(Dir::In, line, effects, outcome),
                Effect::Arm(timer, _) => self.armed.push(*timer),
                Effect::Disarm(timer) => self.armed.retain(|armed| armed != timer),
                _ => {}
            }
            waiting.extend(effects.drain());
        }
    }

    /// A record goes through the reader, and the driver sees it with its events.
    fn pass(&mut self, dir: Dir, text: &str, effects: &mut Effects, outcome: &mut Outcome) {
        let body = serde_json::from_str(text).map_or(RecordBody::Text(text), RecordBody::Json);
        let (record, mut events) = (Record { dir, at: None, body }, Vec::new());
        self.translator.record(&record, &mut events);
        outcome.events.extend(events.iter().map(|event| serde_json::to_value(event).unwrap()));
        self.driver.saw(&record, &events, effects);
    }

    fn run_out(&mut self, name: &str) -> Timer {
        let timer = self.armed.iter().find(|timer| timer.0 == name).copied();
        let timer = timer.unwrap_or_else(|| panic!("{name} is not armed"));
        self.armed.retain(|armed| *armed != timer);
        timer
    }
}

/// An effect as scripts have it.
fn shown(effect: &Effect) -> Value {
    match effect {
        Effect::Send(record) => json!({ "send": record }),
        Effect::Note(record) => json!({ "note": record }),
        Effect::SendMasked { record, kept } => json!({ "masked": record, "kept": kept }),
        Effect::Hear(line) => json!({ "hear": line }),
        Effect::Connect { url, authorization, anywhere } => {
            json!({ "connect": url, "authorization": authorization, "anywhere": anywhere })
        }
        Effect::Http(request) => json!({ "http": request }),
        Effect::Listen { path } => json!({ "listen": path }),
        Effect::Follow { feed, offset } => json!({ "follow": feed, "offset": offset }),
        Effect::CloseInput => json!("close_input"),
        Effect::Arm(timer, time) => json!({ "arm": timer.0, "seconds": time.as_secs_f64() }),
        Effect::Disarm(timer) => json!({ "disarm": timer.0 }),
        Effect::Ready => json!("ready"),
        Effect::Settled => json!("settled"),
        Effect::Done => json!("done"),
        Effect::GiveUp(fault) => json!({ "give_up": fault.message, "code": fault.code }),
    }
}

#[test]
fn a_play_that_goes_as_it_should() {
    let agent = crate::agent("echo").unwrap();
    let script = r#"
        > "ready"
        {"cmd":{"prompt":{"text":"hi"}}}
        > {"send":{"type":"task","text":"hi"}}
        > {"hear":"{\"type\":\"echo\",\"text\":\"hi\"}"}
        > "settled"
        = {"kind":"turn.started","data":{"prompt":"hi"}}
        = {"kind":"turn.completed"}
        {"cmd":{"set_model":"m"}}
        > {"refused":"echo has nothing to choose and asks nothing"}
        {"cmd":"close"}
        > "done"
    "#;
    Wish::default().check(agent, script);
}

#[test]
fn a_play_that_does_not() {
    let goes = |script: &str| played(Wish::default().launch(crate::agent("echo").unwrap()).unwrap(), script).is_ok();
    assert!(goes("> \"ready\""));
    assert!(!goes(""), "something was done that was not expected");
    assert!(!goes("> \"ready\"\n> \"settled\""), "something was not done");
    assert!(!goes("> \"ready\"\n= {\"kind\":\"turn.started\"}"), "an event is missing");
}
