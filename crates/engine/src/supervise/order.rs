//! The order that goes to `__exec`, and what it answers. Strings end with a zero byte, as they do for the kernel: they
//! need not be UTF-8, and nothing has to be escaped.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

use super::spec::{Confinement, SESSION_VARIABLE, Spec};

/// What `__exec` is to become. Its standard input comes apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The folder to start in.
    pub cwd: PathBuf,
    /// Where it may write.
    pub confine: Option<Confinement>,
}

/// Says what no process can be given.
#[derive(Debug, PartialEq, Eq)]
pub struct Unsayable(pub &'static str);

/// The bytes of the order that a spec means.
pub fn encode(spec: &Spec) -> Result<Vec<u8>, Unsayable> {
    let mut bytes = Vec::new();
    let mut put = |tag: u8, what, value: &[&OsStr]| {
        bytes.push(tag);
        for part in value.iter().map(|part| part.as_bytes()) {
            if part.contains(&0) {
                return Err(Unsayable(what));
            }
            bytes.extend_from_slice(part);
        }
        bytes.push(0);
        Ok(())
    };
    spec.argv.iter().try_for_each(|arg| put(b'a', "an argument", &[arg]))?;
    let session = (OsString::from(SESSION_VARIABLE), OsString::from(&spec.session));
    for (name, value) in spec.env.iter().chain([&session]) {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(Unsayable("a variable's name"));
        }
        put(b'e', "a variable", &[name, OsStr::new("="), value])?;
    }
    put(b'c', "the working directory", &[spec.cwd.as_os_str()])?;
    if let Some(confine) = &spec.confine {
        put(if confine.best_effort { b'b' } else { b'h' }, "", &[])?;
        confine.writable.iter().try_for_each(|path| put(b'w', "a writable folder", &[path.as_os_str()]))?;
    }
    Ok(bytes)
}

/// The order that some bytes say; nothing if they are cut off.
pub fn decode(bytes: &[u8]) -> Option<Order> {
    let mut order = Order::default();
    for field in bytes.strip_suffix(&[0])?.split(|byte| *byte == 0) {
        let (tag, value) = field.split_first()?;
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        match tag {
            b'a' => order.argv.push(text(value)),
            b'e' => {
                let (name, value) = value.split_at(value.iter().position(|byte| *byte == b'=')?);
                order.env.push((text(name), text(value.get(1..)?)));
            }
            b'c' => order.cwd = text(value).into(),
            b'b' | b'h' => order.confine.get_or_insert_default().best_effort = *tag == b'b',
            b'w' => order.confine.get_or_insert_default().writable.push(text(value).into()),
            _ => return None,
        }
    }
    Some(order)
}

/// What came of a confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confined {
    /// None was asked for.
    Free,
    /// All of it is enforced.
    Full,
    /// Best effort on an old kernel: files can be truncated, or nothing can be moved between folders.
    Partial,
    /// Best effort on a kernel without Landlock: nothing is enforced.
    Unavailable,
}

/// Where a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The order could not be read, or our own preparations failed.
    Order,
    /// The working directory.
    Directory,
    /// The confinement.
    Confine,
    /// The program itself.
    Program,
}

/// What `__exec` answers, a line each. The channel closes when the agent runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The confinement stands.
    Confined(Confined),
    /// The next step is the agent itself.
    Ready,
    /// It will not be: the stage, the system's error number or 0, and what else there is to say.
    Failed(Stage, i32, String),
}

const CONFINED: &[(&str, Confined)] = &[
    ("free", Confined::Free),
    ("full", Confined::Full),
    ("partial", Confined::Partial),
    ("unavailable", Confined::Unavailable),
];

const STAGES: &[(&str, Stage)] = &[
    ("order", Stage::Order),
    ("directory", Stage::Directory),
    ("confine", Stage::Confine),
    ("program", Stage::Program),
];

fn name<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

fn value<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Answer {
    /// A failure that the system explains.
    pub fn failed(stage: Stage, error: &io::Error) -> Self {
        Self::Failed(stage, error.raw_os_error().unwrap_or_default(), error.to_string())
    }

    /// As a line.
    pub fn line(&self) -> String {
        match self {
            Self::Confined(confined) => format!("confined {}\n", name(CONFINED, confined)),
            Self::Ready => "ready\n".to_owned(),
            Self::Failed(stage, errno, text) => {
                format!("failed {} {errno} {}\n", name(STAGES, stage), text.replace('\n', " "))
            }
        }
    }

    /// From a line without its end.
    pub fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            None => (line == "ready").then_some(Self::Ready),
            Some(("confined", confined)) => value(CONFINED, confined).map(Self::Confined),
            Some(("failed", rest)) => {
                let mut parts = rest.splitn(3, ' ');
                let (stage, errno) = (value(STAGES, parts.next()?)?, parts.next()?.parse().ok()?);
                Some(Self::Failed(stage, errno, parts.next()?.to_owned()))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::{OsStr, OsString},
        os::unix::ffi::OsStrExt as _,
    };

    use super::{Answer, CONFINED, Order, STAGES, Unsayable, decode, encode};
    use crate::supervise::{Confinement, Input, Spec};

    fn spec() -> Spec {
        let strange = OsStr::from_bytes(b"\xff=\n\"").to_owned();
        Spec {
            argv: vec!["agent".into(), "".into(), strange.clone()],
            env: vec![("EMPTY".into(), "".into()), ("ODD".into(), strange.clone())],
            cwd: strange.into(),
            stdin: Input::Closed,
            confine: Some(Confinement { writable: vec!["/a b".into()], best_effort: true }),
            session: "s-1".to_owned(),
        }
    }

    #[test]
    fn an_order_arrives_as_it_was_given_with_the_mark() {
        let spec = spec();
        let mark = (OsString::from("SWITCHBOARD_SESSION"), OsString::from("s-1"));
        let env = spec.env.iter().cloned().chain([mark]).collect();
        let order = Order { argv: spec.argv.clone(), env, cwd: spec.cwd.clone(), confine: spec.confine.clone() };
        let bytes = encode(&spec).unwrap();
        assert_eq!(decode(&bytes), Some(order));
        assert_eq!(decode(bytes.get(..bytes.len() - 1).unwrap()), None);
    }

    #[test]
    fn what_the_kernel_cannot_take_is_refused() {
        let zero = Spec { argv: vec!["a\0b".into()], ..spec() };
        assert_eq!(encode(&zero), Err(Unsayable("an argument")));
        let name = Spec { env: vec![("A=B".into(), "".into())], ..spec() };
        assert_eq!(encode(&name), Err(Unsayable("a variable's name")));
    }

    #[test]
    fn answers_are_understood() {
        let confined = CONFINED.iter().map(|(_, confined)| Answer::Confined(*confined));
        let failed = STAGES.iter().map(|(_, stage)| Answer::Failed(*stage, 2, "no such file".to_owned()));
        for answer in confined.chain(failed).chain([Answer::Ready]) {
            assert_eq!(Answer::parse(answer.line().trim_end()), Some(answer));
        }
        assert_eq!(Answer::parse("failed program 2"), None);
    }
}
