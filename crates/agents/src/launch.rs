//! The contract for starting an agent: an [`LaunchRequest`] describes the wanted session, a [`AgentLaunch`] the process
//! to start, and [`AgentEndpoint`]s the hosts that it must reach. All are data: the agent's directory starts nothing
//! itself.

use std::path::{Path, PathBuf};

use switchboard_event::SessionConfig;

use crate::{AgentDriver, AgentPrompt};

/// The session that is wanted of an agent.
pub struct LaunchRequest<'a> {
    /// The settings of the session.
    pub config: &'a SessionConfig,
    /// The working directory: absolute, and it exists.
    pub cwd: &'a Path,
    /// The agent's own session to continue.
    pub resume: Option<ResumeRequest<'a>>,
    /// One prompt, one answer: the agent's simplest form, in which it cannot ask anyone.
    pub one_shot: bool,
    /// The first prompt. Only a one-shot needs it to start; otherwise it comes as a command.
    pub prompt: &'a AgentPrompt,
    /// The program and its arguments, for an agent that is given by its command.
    pub command: &'a [String],
    /// A directory of this session: it holds temporary files and is deleted with the session.
    pub private: &'a Path,
    /// Switchboard's sandbox confines the agent: its own is not needed, and may not work inside.
    pub confined: bool,
    /// Switchboard runs as root, which some agents refuse.
    pub root: bool,
    /// A fresh secret, for a server that the agent opens.
    pub secret: &'a str,
    /// The variables that direct programs to the proxy of the sandbox; empty if the network is not limited. The agent's
    /// process gets them, so only settings that would replace them must be overridden.
    pub proxy_env: &'a [(String, String)],
    pub host: &'a dyn HostAccess,
}

impl LaunchRequest<'_> {
    /// Returns the id of the session to continue, or a new one for an agent without ids of its own.
    pub(crate) fn resumed_or_new_session_id(&self, agent: &str) -> String {
        let fresh = || format!("{agent}-{}", self.secret.chars().take(12).collect::<String>());
        self.resume.filter(|resume| !resume.fork).map_or_else(fresh, |resume| resume.session.to_owned())
    }
}

/// The agent's own session to continue.
#[derive(Clone, Copy, Debug)]
pub struct ResumeRequest<'a> {
    pub session: &'a str,
    /// Continues a copy and leaves the original unchanged.
    pub fork: bool,
}

/// Read-only access to the host.
pub trait HostAccess {
    /// Returns a variable of the environment that the agent will see.
    fn env_var(&self, name: &str) -> Option<String>;
    /// Returns the user's home directory.
    fn home_dir(&self) -> PathBuf;
    /// Returns the text of a small file.
    fn read_file(&self, path: &Path) -> Option<String>;
    /// Returns the entries of a directory, sorted.
    fn list_dir(&self, folder: &Path) -> Vec<PathBuf>;
}

/// The process to start for an agent.
#[derive(Default)]
pub struct AgentLaunch {
    /// The program, to be found on the `PATH`; empty for a built-in agent.
    pub program: String,
    pub args: Vec<String>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Variables to remove.
    pub unset: Vec<&'static str>,
    pub input: StdinMode,
    /// The name of the source that reads its records.
    pub source: &'static str,
    /// The driver; `None` in a one-shot.
    pub driver: Option<Box<dyn AgentDriver>>,
    /// Files to write before the start, in the session's private directory.
    pub files: Vec<(PathBuf, String)>,
    /// Files to copy before the start: source and target.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// The agent's own directories, which it must be able to write in any sandbox.
    pub writable: Vec<PathBuf>,
    /// The agent's own directories of which a sandbox keeps only some changes.
    pub state: Vec<StateDirectory>,
    /// Guarantees that are weaker than requested.
    pub weaker: Vec<String>,
    /// The agent counts turns itself and stops at the limit.
    pub counts_turns: bool,
}

/// A directory that mixes data that an agent must write with settings and code that run later, outside of any sandbox.
/// A confined agent works on a layer over it, which is discarded, except for the entries that are named here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDirectory {
    pub path: PathBuf,
    /// Directories in it whose changes are kept: sessions, which are continued later.
    pub kept_directories: &'static [&'static str],
    /// Files in it whose changes are kept, if they exist: logins, whose tokens are replaced when they are used.
    pub kept_files: &'static [&'static str],
}

impl StateDirectory {
    /// A directory of which all changes are discarded.
    #[must_use]
    pub fn new_discarded(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }
}

/// The standard input of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StdinMode {
    /// Open, for the driver.
    #[default]
    Open,
    /// Closed from the start.
    Closed,
    /// This text, then closed.
    Text(String),
}

/// A server that an agent must reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEndpoint {
    /// A host name or an IP address, in lower case and without brackets. A leading `*.` matches any subdomain.
    pub host: String,
    pub port: u16,
    /// The user configured it, so it may also be on this machine or in a private network, within the limits of a sandbox.
    pub is_configured: bool,
}

impl AgentEndpoint {
    /// A public server that is reached over HTTPS.
    #[must_use]
    pub fn public_https(host: &str) -> Self {
        Self { host: host.to_owned(), port: 443, is_configured: false }
    }

    /// Parses a URL that the user has configured. `None` if the text is not an HTTP or WebSocket URL with a host.
    #[must_use]
    pub fn from_configured_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.trim().split_once("://")?;
        let default_port = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => 80,
            "https" | "wss" => 443,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
        let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
            None => address.split_once(':').unwrap_or((address, "")),
        };
        let port = if port.is_empty() { default_port } else { port.parse().ok()? };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        (!host.is_empty()).then_some(Self { host, port, is_configured: true })
    }

    /// Returns the servers of the variables that are set to URLs.
    pub(crate) fn from_env(host: &dyn HostAccess, variables: &[&str]) -> Vec<Self> {
        variables.iter().filter_map(|name| Self::from_configured_url(&host.env_var(name)?)).collect()
    }
}

/// Returns whether a variable names a proxy, or hosts that are reached without one.
pub(crate) fn is_proxy_variable(name: &str) -> bool {
    const NAMES: &[&str] = &["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Public servers that are reached over HTTPS.
pub(crate) fn public_endpoints(hosts: &[&str]) -> Vec<AgentEndpoint> {
    hosts.iter().map(|host| AgentEndpoint::public_https(host)).collect()
}

/// The endpoints of an agent without known hosts.
pub(crate) fn no_endpoints(_: &dyn HostAccess) -> Vec<AgentEndpoint> {
    Vec::new()
}

/// Amazon Bedrock, with the servers of its login.
pub(crate) fn bedrock_endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let region = host.env_var("AWS_REGION").or_else(|| host.env_var("AWS_DEFAULT_REGION"));
    let region = region.filter(|region| is_host_label(region)).unwrap_or_else(|| "us-east-1".to_owned());
    let services = ["bedrock-runtime", "bedrock", "sts", "oidc", "portal.sso"];
    services.iter().map(|service| AgentEndpoint::public_https(&format!("{service}.{region}.amazonaws.com"))).collect()
}

/// Google's Vertex AI in a region; global if none is set.
pub(crate) fn vertex_endpoints(host: &dyn HostAccess, region_variables: &[&str]) -> Vec<AgentEndpoint> {
    let region = region_variables.iter().find_map(|name| host.env_var(name)).filter(|region| is_host_label(region));
    let regional =
        region.filter(|region| region != "global").map(|region| format!("{region}-aiplatform.googleapis.com"));
    let mut endpoints = public_endpoints(&["aiplatform.googleapis.com", "oauth2.googleapis.com", "sts.googleapis.com"]);
    endpoints.extend(regional.iter().map(|name| AgentEndpoint::public_https(name)));
    endpoints
}

/// Returns whether the text can be part of a host name.
pub(crate) fn is_host_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {

    use super::AgentEndpoint;

    #[test]
    fn urls_of_servers_are_read() {
        let check = |url: &str, expected: Option<(&str, u16)>| {
            let endpoint = AgentEndpoint::from_configured_url(url);
            let read = endpoint.as_ref().map(|endpoint| (endpoint.host.as_str(), endpoint.port));
            assert_eq!(read, expected, "{url}");
        };
        check("https://api.example.com", Some(("api.example.com", 443)));
        check(" HTTP://Gateway.Corp.:8080/v1 ", Some(("gateway.corp", 8080)));
        check("http://user:pass@127.0.0.1:11434?x=1", Some(("127.0.0.1", 11434)));
        check("https://[::1]:9/v1", Some(("::1", 9)));
        check("https://[fd00::1]", Some(("fd00::1", 443)));
        check("wss://host#x", Some(("host", 443)));
        check("https://good.example\\@evil.example/", Some(("good.example", 443)));
        for wrong in ["", "host", "host:80", "ftp://host", "https://", "https://host:port", "https://host:99999"] {
            check(wrong, None);
        }
    }
}
