//! The order that goes to `__exec`, and its answers. Strings end with a zero byte, as they do for the kernel: they need
//! not be UTF-8, and nothing has to be escaped.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

use super::{
    sandbox::{SandboxFeature, SandboxReport},
    spec::{Confinement, DirectoryView, SESSION_VARIABLE, Spec},
};

/// What `__exec` becomes. Its standard input is sent separately.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The directory to start in.
    pub cwd: PathBuf,
    /// The device and inode number of that directory.
    pub cwd_identity: Option<(u64, u64)>,
    /// The sandbox around it.
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
    if let Some((device, inode)) = spec.cwd_identity {
        put(b'i', "", &[OsStr::new(&format!("{device} {inode}"))])?;
    }
    if let Some(confine) = &spec.confine {
        put(if confine.best_effort { b'b' } else { b'h' }, "", &[])?;
        let paths = [(b'w', &confine.writable), (b'p', &confine.protected), (b'x', &confine.hidden)];
        for (tag, path) in paths.into_iter().flat_map(|(tag, paths)| paths.iter().map(move |path| (tag, path))) {
            put(tag, "a path of the sandbox", &[path.as_os_str()])?;
        }
        for view in &confine.views {
            put(b'v', "a directory of the agent", &[view.path.as_os_str()])?;
            view.kept.iter().try_for_each(|name| put(b'n', "a file of the agent", &[name]))?;
        }
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
            b'i' => {
                let (device, inode) = std::str::from_utf8(value).ok()?.split_once(' ')?;
                order.cwd_identity = Some((device.parse().ok()?, inode.parse().ok()?));
            }
            b'b' | b'h' => order.confine.get_or_insert_default().best_effort = *tag == b'b',
            _ => decode_confinement(order.confine.get_or_insert_default(), *tag, text(value))?,
        }
    }
    Some(order)
}

fn decode_confinement(confine: &mut Confinement, tag: u8, value: OsString) -> Option<()> {
    match tag {
        b'w' => confine.writable.push(value.into()),
        b'p' => confine.protected.push(value.into()),
        b'x' => confine.hidden.push(value.into()),
        b'v' => confine.views.push(DirectoryView { path: value.into(), ..DirectoryView::default() }),
        b'n' => confine.views.last_mut()?.kept.push(value),
        _ => return None,
    }
    Some(())
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

/// An answer of `__exec` or `__init`, one per line. The channel closes when the agent runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A feature of the sandbox is in force.
    Enforced(SandboxFeature),
    /// A feature of the sandbox is missing, and the reason.
    Missing(SandboxFeature, String),
    /// The next step is the agent itself.
    Ready,
    /// It will not be: the stage, the system's error number or 0, and what else there is to say.
    Failed(Stage, i32, String),
}

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
    /// The answers that a report means.
    pub fn of_report(report: &SandboxReport) -> impl Iterator<Item = Self> {
        let missing = report.missing.iter().map(|(feature, reason)| Self::Missing(*feature, reason.clone()));
        report.enforced.iter().copied().map(Self::Enforced).chain(missing)
    }

    /// A failure that the system explains.
    pub fn failed(stage: Stage, error: &io::Error) -> Self {
        Self::Failed(stage, error.raw_os_error().unwrap_or_default(), error.to_string())
    }

    /// As a line.
    pub fn line(&self) -> String {
        match self {
            Self::Enforced(feature) => format!("enforced {feature}\n"),
            Self::Missing(feature, reason) => format!("missing {feature} {}\n", reason.replace('\n', " ")),
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
            Some(("enforced", feature)) => SandboxFeature::from_name(feature).map(Self::Enforced),
            Some(("missing", rest)) => {
                let (feature, reason) = rest.split_once(' ')?;
                Some(Self::Missing(SandboxFeature::from_name(feature)?, reason.to_owned()))
            }
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

    use super::{Answer, Order, STAGES, SandboxFeature, Unsayable, decode, encode};
    use crate::supervise::{Confinement, DirectoryView, Input, Spec};

    fn spec() -> Spec {
        let strange = OsStr::from_bytes(b"\xff=\n\"").to_owned();
        Spec {
            argv: vec!["agent".into(), "".into(), strange.clone()],
            env: vec![("EMPTY".into(), "".into()), ("ODD".into(), strange.clone())],
            cwd: strange.into(),
            cwd_identity: Some((7, u64::MAX)),
            stdin: Input::Closed,
            confine: Some(Confinement {
                writable: vec!["/a b".into()],
                protected: vec!["/a b/.git/hooks".into()],
                hidden: vec!["/run/user".into(), "/token".into()],
                views: vec![DirectoryView { path: "/home/.agent".into(), kept: vec!["sessions".into()] }],
                best_effort: true,
            }),
            session: "s-1".to_owned(),
        }
    }

    #[test]
    fn an_order_arrives_as_it_was_given_with_the_mark() {
        let spec = spec();
        let mark = (OsString::from("SWITCHBOARD_SESSION"), OsString::from("s-1"));
        let env = spec.env.iter().cloned().chain([mark]).collect();
        let (argv, cwd, cwd_identity) = (spec.argv.clone(), spec.cwd.clone(), spec.cwd_identity);
        let order = Order { argv, env, cwd, cwd_identity, confine: spec.confine.clone() };
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
        let enforced = SandboxFeature::ALL.iter().map(|feature| Answer::Enforced(*feature));
        let missing = SandboxFeature::ALL.iter().map(|feature| Answer::Missing(*feature, "not allowed".to_owned()));
        let failed = STAGES.iter().map(|(_, stage)| Answer::Failed(*stage, 2, "no such file".to_owned()));
        for answer in enforced.chain(missing).chain(failed).chain([Answer::Ready]) {
            assert_eq!(Answer::parse(answer.line().trim_end()), Some(answer));
        }
        assert_eq!(Answer::parse("failed program 2"), None);
    }
}
