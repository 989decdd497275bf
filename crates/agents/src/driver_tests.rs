//! A test harness that runs a script against an agent's reader and driver, without a process and without an engine, so
//! that tests of drivers are data. A script has one entry per line:
//!
//! ```text
//! {"cmd": "interrupt"}                     a command of a client (see [`ScriptedCommand`])
//! {"in": {…}}  {"line": "…"}               a record of the agent, or a line that is not JSON
//! {"timer": "name"}  {"stream": "opened"}  an armed timer expires; the stream opened, closed or ended
//! > {"send": {…}}                          an expected effect of the step above: all of them, in this order
//! = {"kind": "turn.completed"}             an event that the step must have caused, among others
//! # why                                    a comment
//! ```
//!
//! Expectations are patterns: of an object, only the named fields; an array, whole. Expectations before the first step
//! apply to the driver's opening. As in the engine, a sent record is read back before it takes effect.

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{Dir, Id, SessionConfig};

use crate::{
    Agent, AgentCommand, AgentDriver, AgentLaunch, AgentPrompt, DriverEffect, DriverEffects, DriverSignal, DriverTimer,
    HostAccess, LaunchRequest, PromptImage, Record, RecordBody, RecordTranslator, RequestAnswer, RequestDecision,
    ResumeRequest, TranslatorOptions, UnsupportedOperation, find_source,
};

/// A host with configurable variables and files.
#[derive(Default)]
pub struct FakeHost {
    pub env: BTreeMap<&'static str, String>,
    pub files: BTreeMap<PathBuf, String>,
}

impl FakeHost {
    pub fn with_env(mut self, name: &'static str, value: &str) -> Self {
        self.env.insert(name, value.to_owned());
        self
    }

    /// Adds a file; `~` is the home directory.
    pub fn with_file(mut self, path: &str, text: &str) -> Self {
        let path = path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| self.home_dir().join(rest));
        self.files.insert(path, text.to_owned());
        self
    }
}

impl HostAccess for FakeHost {
    fn env_var(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }

    fn home_dir(&self) -> PathBuf {
        PathBuf::from("/home/user")
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        self.files.get(path).cloned()
    }

    fn list_dir(&self, folder: &Path) -> Vec<PathBuf> {
        self.files.keys().filter(|file| file.parent() == Some(folder)).cloned().collect()
    }
}

/// The owned data of a launch request.
#[derive(Default)]
pub struct LaunchFixture {
    pub config: SessionConfig,
    /// The session to continue, and whether to fork it.
    pub resume: Option<(&'static str, bool)>,
    pub one_shot: bool,
    pub prompt: AgentPrompt,
    pub command: Vec<String>,
    pub confined: bool,
    pub root: bool,
    pub proxy_env: Vec<(String, String)>,
    pub machine: FakeHost,
}

impl LaunchFixture {
    /// Creates a fixture from settings in the JSON form that users write.
    pub fn from_config(config: &Value) -> Self {
        Self { config: serde_json::from_value(config.clone()).unwrap(), ..Self::default() }
    }

    /// Launches the agent.
    pub fn launch(&self, agent: &Agent) -> Result<AgentLaunch, UnsupportedOperation> {
        (agent.launch)(&LaunchRequest {
            config: &self.config,
            cwd: Path::new("/home/user/project"),
            resume: self.resume.map(|(session, fork)| ResumeRequest { session, fork }),
            one_shot: self.one_shot,
            prompt: &self.prompt,
            command: &self.command,
            private: Path::new("/tmp/private"),
            confined: self.confined,
            root: self.root,
            secret: "0123456789abcdef",
            proxy_env: &self.proxy_env,
            host: &self.machine,
        })
    }

    /// Launches the agent and checks a script against it.
    pub fn check_script(&self, agent: &Agent, script: &str) {
        check_launch_script(self.launch(agent).unwrap(), script);
    }
}

/// A command in a script.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScriptedCommand {
    Prompt(ScriptedPrompt),
    Answer(ScriptedAnswer),
    Interrupt,
    SetModel(String),
    SetMode(String),
    SetOption(String, String),
    Slash(String, String),
    Close,
}

#[derive(Deserialize)]
struct ScriptedPrompt {
    text: String,
    #[serde(default)]
    images: Vec<ScriptedImage>,
    #[serde(default)]
    schema: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ScriptedImage {
    media_type: String,
    data: String,
    #[serde(default)]
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct ScriptedAnswer {
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

impl From<ScriptedCommand> for AgentCommand {
    fn from(wanted: ScriptedCommand) -> Self {
        match wanted {
            ScriptedCommand::Prompt(said) => Self::Prompt(said.into()),
            ScriptedCommand::Answer(answered) => Self::Answer(answered.into()),
            ScriptedCommand::Interrupt => Self::Interrupt,
            ScriptedCommand::SetModel(model) => Self::SetModel(model),
            ScriptedCommand::SetMode(mode) => Self::SetMode(mode),
            ScriptedCommand::SetOption(id, value) => Self::SetOption { id, value },
            ScriptedCommand::Slash(name, arguments) => Self::Slash { name, arguments },
            ScriptedCommand::Close => Self::Close,
        }
    }
}

impl From<ScriptedPrompt> for AgentPrompt {
    fn from(said: ScriptedPrompt) -> Self {
        let image =
            |image: ScriptedImage| PromptImage { media_type: image.media_type, data: image.data, path: image.path };
        Self { text: said.text, images: said.images.into_iter().map(image).collect(), output_schema: said.schema }
    }
}

impl From<ScriptedAnswer> for RequestAnswer {
    fn from(answered: ScriptedAnswer) -> Self {
        let decision = match answered.decision.as_str() {
            "allow" => RequestDecision::Allow,
            "allow_session" => RequestDecision::AllowSession,
            "decline" => RequestDecision::Decline,
            "cancel" => RequestDecision::Cancel,
            other => panic!("{other} is no decision"),
        };
        let ScriptedAnswer { option, input, answers, message, .. } = answered;
        Self { request: Id::from(answered.request), decision, option, input, answers, message }
    }
}

/// A script line that triggers something.
#[derive(Deserialize)]
struct ScriptStep {
    cmd: Option<ScriptedCommand>,
    #[serde(rename = "in")]
    record: Option<Box<RawValue>>,
    line: Option<String>,
    timer: Option<String>,
    stream: Option<String>,
}

/// The effects and events of a step.
#[derive(Default)]
struct StepOutcome {
    effects: Vec<Value>,
    events: Vec<Value>,
}

/// The reader and the driver under test.
struct DriverHarness {
    translator: RecordTranslator,
    driver: Box<dyn AgentDriver>,
    armed: Vec<DriverTimer>,
}

/// Checks a script; panics with the whole transcript if it differs.
pub fn check_launch_script(launch: AgentLaunch, script: &str) {
    if let Err(play) = play_script(launch, script) {
        panic!("the play, as it went:\n{play}");
    }
}

fn play_script(launch: AgentLaunch, script: &str) -> Result<(), String> {
    let mut play = DriverHarness::new(launch);
    let (mut told, mut expected, mut failed) = (String::new(), StepOutcome::default(), false);
    let mut actual = play.open();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(effect) = line.strip_prefix('>') {
            expected.effects.push(parse_json_value(effect));
        } else if let Some(event) = line.strip_prefix('=') {
            expected.events.push(parse_json_value(event));
        } else {
            failed |= compare_outcome(&mut told, &expected, &actual);
            told.push_str(&format!("{line}\n"));
            (expected, actual) = (StepOutcome::default(), play.run_step(line));
        }
    }
    failed |= compare_outcome(&mut told, &expected, &actual);
    if failed { Err(told) } else { Ok(()) }
}

/// Feeds the incoming records of a transcript to a driver and returns all its effects.
pub fn replay_transcript(launch: AgentLaunch, transcript: &str) -> Vec<Value> {
    let mut play = DriverHarness::new(launch);
    let mut effects = play.open().effects;
    for line in transcript.lines().map(parse_json_value).filter(|line| line["dir"] == "in") {
        effects.extend(play.run_step(&json!({ "in": line["msg"] }).to_string()).effects);
    }
    effects
}

fn parse_json_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Writes what happened to the transcript; returns true if it differs from the expectation.
fn compare_outcome(told: &mut String, expected: &StepOutcome, actual: &StepOutcome) -> bool {
    for effect in &actual.effects {
        told.push_str(&format!("> {effect}\n"));
    }
    let mut events = actual.events.iter();
    let missed = expected.events.iter().find(|event| !events.any(|actual| matches_pattern(event, actual)));
    let alike = expected.effects.len() == actual.effects.len()
        && expected.effects.iter().zip(&actual.effects).all(|(expected, actual)| matches_pattern(expected, actual));
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

/// Returns whether the pattern matches: of objects, only the fields of the pattern are compared.
fn matches_pattern(pattern: &Value, actual: &Value) -> bool {
    match (pattern, actual) {
        (Value::Object(pattern), Value::Object(actual)) => {
            pattern.iter().all(|(key, value)| matches_pattern(value, actual.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(pattern), Value::Array(actual)) => {
            pattern.len() == actual.len()
                && pattern.iter().zip(actual).all(|(pattern, actual)| matches_pattern(pattern, actual))
        }
        _ => pattern == actual,
    }
}

impl DriverHarness {
    fn new(launch: AgentLaunch) -> Self {
        let session = Id::from("s");
        let options = TranslatorOptions {
            session: Some(session.clone()),
            hold: true,
            made_up: session,
            ..TranslatorOptions::default()
        };
        let translator = RecordTranslator::new(find_source(launch.source).unwrap(), options);
        Self { translator, driver: launch.driver.unwrap(), armed: Vec::new() }
    }

    fn open(&mut self) -> StepOutcome {
        let (mut effects, mut outcome) = (DriverEffects::default(), StepOutcome::default());
        self.driver.open(&mut effects);
        self.perform_effects(&mut effects, &mut outcome);
        outcome
    }

    fn run_step(&mut self, line: &str) -> StepOutcome {
        let step: ScriptStep = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        let (mut effects, mut outcome) = (DriverEffects::default(), StepOutcome::default());
        if let Some(text) = step.record.as_deref().map(RawValue::get).or(step.line.as_deref()) {
            self.pass_record(Dir::In, text, &mut effects, &mut outcome);
        }
        if let Some(wanted) = step.cmd
            && let Err(refused) = self.driver.handle_command(wanted.into(), &mut effects)
        {
            outcome.effects.push(json!({ "refused": refused.what }));
        }
        let ran_out = step.timer.map(|name| DriverSignal::Timer(self.expire_timer(&name)));
        let stream = step.stream.map(|stream| match stream.as_str() {
            "opened" => DriverSignal::StreamOpened,
            "ended" => DriverSignal::StreamEnded,
            _ => DriverSignal::StreamClosed,
        });
        for signal in ran_out.into_iter().chain(stream) {
            self.driver.handle_signal(signal, &mut effects);
        }
        self.perform_effects(&mut effects, &mut outcome);
        outcome
    }

    /// Performs effects in order as the engine would; sent or received records can cause more.
    fn perform_effects(&mut self, effects: &mut DriverEffects, outcome: &mut StepOutcome) {
        let mut waiting: VecDeque<DriverEffect> = effects.drain().collect();
        while let Some(effect) = waiting.pop_front() {
            outcome.effects.push(effect_to_json(&effect));
            match &effect {
                DriverEffect::Send(record)
                | DriverEffect::Note(record)
                | DriverEffect::SendMasked { kept: record, .. } => {
                    self.pass_record(Dir::Out, record.get(), effects, outcome);
                }
                DriverEffect::Http(request) => {
                    self.pass_record(Dir::Out, switchboard_event::to_raw_json(request).get(), effects, outcome);
                }
                DriverEffect::Hear(line) => self.pass_record(Dir::In, line, effects, outcome),
                DriverEffect::Arm(timer, _) => self.armed.push(*timer),
                DriverEffect::Disarm(timer) => self.armed.retain(|armed| armed != timer),
                _ => {}
            }
            waiting.extend(effects.drain());
        }
    }

    /// Passes a record through the reader, and then to the driver with its events.
    fn pass_record(&mut self, dir: Dir, text: &str, effects: &mut DriverEffects, outcome: &mut StepOutcome) {
        let body = serde_json::from_str(text).map_or(RecordBody::Text(text), RecordBody::Json);
        let (record, mut events) = (Record { dir, at: None, body }, Vec::new());
        self.translator.translate_record(&record, &mut events);
        outcome.events.extend(events.iter().map(|event| serde_json::to_value(event).unwrap()));
        self.driver.observe_record(&record, &events, effects);
    }

    fn expire_timer(&mut self, name: &str) -> DriverTimer {
        let timer = self.armed.iter().find(|timer| timer.0 == name).copied();
        let timer = timer.unwrap_or_else(|| panic!("{name} is not armed"));
        self.armed.retain(|armed| *armed != timer);
        timer
    }
}

/// Converts an effect to its form in scripts.
fn effect_to_json(effect: &DriverEffect) -> Value {
    match effect {
        DriverEffect::Send(record) => json!({ "send": record }),
        DriverEffect::Note(record) => json!({ "note": record }),
        DriverEffect::SendMasked { record, kept } => json!({ "masked": record, "kept": kept }),
        DriverEffect::Hear(line) => json!({ "hear": line }),
        DriverEffect::Connect { url, authorization, anywhere } => {
            json!({ "connect": url, "authorization": authorization, "anywhere": anywhere })
        }
        DriverEffect::Http(request) => json!({ "http": request }),
        DriverEffect::Listen { path } => json!({ "listen": path }),
        DriverEffect::Follow { feed, offset } => json!({ "follow": feed, "offset": offset }),
        DriverEffect::CloseInput => json!("close_input"),
        DriverEffect::Arm(timer, time) => json!({ "arm": timer.0, "seconds": time.as_secs_f64() }),
        DriverEffect::Disarm(timer) => json!({ "disarm": timer.0 }),
        DriverEffect::Ready => json!("ready"),
        DriverEffect::Settled => json!("settled"),
        DriverEffect::Done => json!("done"),
        DriverEffect::GiveUp(fault) => json!({ "give_up": fault.message, "code": fault.code }),
    }
}

#[test]
fn a_play_that_goes_as_it_should() {
    let agent = crate::find_agent("echo").unwrap();
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
    LaunchFixture::default().check_script(agent, script);
}

#[test]
fn a_play_that_does_not() {
    let goes = |script: &str| {
        play_script(LaunchFixture::default().launch(crate::find_agent("echo").unwrap()).unwrap(), script).is_ok()
    };
    assert!(goes("> \"ready\""));
    assert!(!goes(""), "something was done that was not expected");
    assert!(!goes("> \"ready\"\n> \"settled\""), "something was not done");
    assert!(!goes("> \"ready\"\n= {\"kind\":\"turn.started\"}"), "an event is missing");
}
