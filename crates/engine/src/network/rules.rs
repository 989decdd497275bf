//! Rules for the hosts that a session may reach, by name and port, and the hosts that a person has permanently allowed
//! for a project.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    net::{IpAddr, Ipv6Addr},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use switchboard_agents::AgentEndpoint;
use thiserror::Error;

use super::addresses::is_public;

const PACKAGE_GROUP: &str = "@packages";

/// The registries from which the package managers of common languages install by default.
#[rustfmt::skip]
const PACKAGE_HOSTS: &[&str] = &[
    "registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "jsr.io", "pypi.org", "files.pythonhosted.org",
    "crates.io", "index.crates.io", "static.crates.io", "proxy.golang.org", "sum.golang.org", "rubygems.org",
    "index.rubygems.org", "repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org",
    "repo.packagist.org", "packagist.org", "api.nuget.org", "hex.pm", "repo.hex.pm", "deb.debian.org",
    "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "dl-cdn.alpinelinux.org",
];

/// The reason why a text is not a valid rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error("`{0}` is not a host: use example.com, *.example.com, localhost:8080 or @packages")]
    NotAHost(String),
    #[error("`{0}` would allow every host: set networkAccess instead")]
    Everything(String),
    #[error("no host group `{0}`: use @packages for the package registries")]
    UnknownGroup(String),
    #[error("`{0}` is not on the public internet, so it needs a port, as in {0}:8080")]
    PortNeeded(String),
}

/// A host that a session may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// In lower case.
    host: String,
    /// Subdomains of the host, and not the host itself.
    is_subdomains: bool,
    /// `None` for any port.
    port: Option<u16>,
    private_access: PrivateAccess,
    source: RuleSource,
}

/// Whether a host may be on this machine or in a private network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrivateAccess {
    #[default]
    Denied,
    /// Only if its name leads there when the session starts: the operator of a remote server must not gain access to
    /// private networks by a change of its address.
    IfPrivateAtStart,
    /// The user named this host and port.
    Allowed,
}

/// The origin of a rule, in order of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleSource {
    /// A rule for all subdomains of a host, which names no host itself.
    Subdomains,
    /// A person allowed the host while the session runs.
    Approval,
    /// The settings, the agent, or a stored approval name the host.
    Settings,
}

/// Parses a host or a group of hosts, as written in settings.
pub fn parse_domain(text: &str) -> Result<Vec<HostRule>, RuleError> {
    if text == PACKAGE_GROUP {
        let rule = |host: &&str| HostRule::exact(host, None);
        return Ok(PACKAGE_HOSTS.iter().map(rule).collect());
    }
    if text.starts_with('@') {
        return Err(RuleError::UnknownGroup(text.to_owned()));
    }
    Ok(vec![HostRule::parse(text)?])
}

impl HostRule {
    /// Returns a rule for one host on the public internet.
    pub fn exact(host: &str, port: Option<u16>) -> Self {
        let (private_access, source) = (PrivateAccess::Denied, RuleSource::Settings);
        Self { host: host.to_owned(), is_subdomains: false, port, private_access, source }
    }

    /// Returns a rule for a host that a person has allowed for the rest of the session.
    pub fn approved(host: &str, port: u16) -> Self {
        Self { source: RuleSource::Approval, ..Self::exact(host, Some(port)) }
    }

    /// Returns a rule for a server that an agent needs.
    pub fn from_endpoint(endpoint: &AgentEndpoint) -> Self {
        let (host, is_subdomains) = match endpoint.host.strip_prefix("*.") {
            Some(host) => (host, true),
            None => (endpoint.host.as_str(), false),
        };
        let is_address = host == "localhost" || host.parse::<IpAddr>().is_ok();
        let private_access = match endpoint.is_configured && !is_subdomains {
            true if is_address => PrivateAccess::Allowed,
            true => PrivateAccess::IfPrivateAtStart,
            false => PrivateAccess::Denied,
        };
        Self { private_access, ..Self::exact(host, Some(endpoint.port)).with_subdomains(is_subdomains) }
    }

    fn with_subdomains(self, is_subdomains: bool) -> Self {
        let source = if is_subdomains { RuleSource::Subdomains } else { self.source };
        Self { is_subdomains, source, ..self }
    }

    fn parse(text: &str) -> Result<Self, RuleError> {
        let not_a_host = || RuleError::NotAHost(text.to_owned());
        let (host, port) = split_port(text).ok_or_else(not_a_host)?;
        let (name, is_subdomains) = match host.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (host, false),
        };
        if matches!(name, "*" | "**") || is_subdomains && !name.contains('.') {
            return Err(RuleError::Everything(text.to_owned()));
        }
        let name = normalize_host(name).ok_or_else(not_a_host)?;
        let rule = Self::exact(&name, port).with_subdomains(is_subdomains);
        let may_be_private = port.is_some() && !rule.is_subdomains;
        let is_local = rule.host == "localhost" || rule.host.parse::<IpAddr>().is_ok_and(|ip| !is_public(ip));
        if is_local && !may_be_private {
            return Err(RuleError::PortNeeded(text.to_owned()));
        }
        let private_access = if may_be_private { PrivateAccess::Allowed } else { PrivateAccess::Denied };
        Ok(Self { private_access, ..rule })
    }

    fn matches(&self, host: &str, port: u16) -> bool {
        let is_host = match host.strip_suffix(&self.host) {
            Some(before) if self.is_subdomains => before.len() > 1 && before.ends_with('.'),
            Some(before) => before.is_empty(),
            None => false,
        };
        is_host && self.port.is_none_or(|own| own == port)
    }

    /// Returns the host and port, if the rule names both and the host may be on this machine.
    pub fn exact_address(&self) -> Option<(&str, u16)> {
        let is_private = self.private_access == PrivateAccess::Allowed;
        self.port.filter(|_| is_private).map(|port| (self.host.as_str(), port))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPermission {
    pub private_access: PrivateAccess,
    pub source: RuleSource,
}

/// The rules of a session, which grow by approvals while it runs.
#[derive(Clone, Debug, Default)]
pub struct SharedRules(Arc<Mutex<Vec<HostRule>>>);

impl SharedRules {
    pub fn new(rules: Vec<HostRule>) -> Self {
        Self(Arc::new(Mutex::new(rules)))
    }

    pub fn add(&self, rule: HostRule) {
        self.0.lock().push(rule);
    }

    /// Returns how a host may be reached; `None` if no rule allows it.
    pub fn permission(&self, host: &str, port: u16) -> Option<HostPermission> {
        let rules = self.0.lock();
        let found = || rules.iter().filter(|rule| rule.matches(host, port));
        let source = found().map(|rule| rule.source).max()?;
        let private_access = found().map(|rule| rule.private_access).max().unwrap_or_default();
        Some(HostPermission { private_access, source })
    }

    /// Returns the names whose addresses at the start decide whether they may be private.
    pub fn names_to_resolve(&self) -> BTreeSet<String> {
        let rules = self.0.lock();
        let undecided = rules.iter().filter(|rule| rule.private_access == PrivateAccess::IfPrivateAtStart);
        undecided.map(|rule| rule.host.clone()).collect()
    }
}

/// Splits `HOST`, `HOST:PORT`, `[IPV6]:PORT`, `[IPV6]` and `IPV6`.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, None));
    }
    if let Some((host, port)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        host.parse::<Ipv6Addr>().ok()?;
        return match port.strip_prefix(':') {
            Some(port) => Some((host, Some(parse_port(port)?))),
            None => port.is_empty().then_some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, Some(parse_port(port)?))),
        None => Some((text, None)),
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

/// Returns a host for use before a port: IPv6 addresses are put in brackets.
pub fn bracket_host(host: &str) -> Cow<'_, str> {
    if host.contains(':') { Cow::Owned(format!("[{host}]")) } else { Cow::Borrowed(host) }
}

/// Returns a host name or address in the form that rules compare: in lower case and without the final dot. `None` if it
/// has characters that are not valid in a host name.
pub fn normalize_host(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Some(ip.to_canonical().to_string());
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    (host.len() <= 253 && host.split('.').all(is_label)).then_some(host)
}

const MAX_GRANT_FILE_BYTES: u64 = 4 << 20;

const MAX_HOSTS_PER_PROJECT: usize = 1000;

/// Writable for the user, and not readable.
const LOCK_FILE_MODE: u32 = 0o200;

const LOCK_ATTEMPTS: u32 = 100;

const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

/// The hosts that a person has permanently allowed for one project, in a file of the data directory.
#[derive(Clone, Debug)]
pub struct ProjectGrants {
    file: PathBuf,
    project: String,
}

#[derive(Default, Serialize, Deserialize)]
struct GrantFile {
    #[serde(default)]
    projects: BTreeMap<String, Vec<HostGrant>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct HostGrant {
    host: String,
    port: u16,
}

impl ProjectGrants {
    /// Returns the grants of the project that a directory belongs to: its git repository, or the directory itself.
    pub fn new(file: PathBuf, directory: &Path) -> Self {
        let repository = directory.ancestors().find(|ancestor| ancestor.join(".git").exists());
        Self { file, project: repository.unwrap_or(directory).to_string_lossy().into_owned() }
    }

    /// Returns the allowed hosts. A file that cannot be read allows nothing.
    pub fn rules(&self) -> Vec<HostRule> {
        let grants = read_grants(&self.file).unwrap_or_default();
        let hosts = grants.projects.get(&self.project).into_iter().flatten();
        hosts.map(|grant| HostRule::exact(&grant.host, Some(grant.port))).collect()
    }

    /// Adds a host. Waits for other processes that add one, for a limited time.
    pub fn add(&self, host: &str, port: u16) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut grants = read_grants(&self.file)?;
        let hosts = grants.projects.entry(self.project.clone()).or_default();
        let grant = HostGrant { host: host.to_owned(), port };
        if hosts.contains(&grant) {
            return Ok(());
        }
        if hosts.len() >= MAX_HOSTS_PER_PROJECT {
            return Err(io::Error::other(format!("a project can have at most {MAX_HOSTS_PER_PROJECT} hosts")));
        }
        hosts.push(grant);
        let new = self.file.with_extension("new");
        fs::write(&new, serde_json::to_vec_pretty(&grants)?)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
        fs::rename(new, &self.file)
    }

    /// Locks the file for writers. Agents in a sandbox can read the data directory, and any descriptor can hold a lock,
    /// so the lock file cannot be opened for reading.
    fn lock(&self) -> io::Result<File> {
        let path = self.file.with_extension("lock");
        let file = File::options().create(true).append(true).mode(LOCK_FILE_MODE).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(LOCK_FILE_MODE))?;
        for _ in 0..LOCK_ATTEMPTS {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_RETRY_DELAY),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps the file locked"))
    }
}

fn read_grants(file: &Path) -> io::Result<GrantFile> {
    match fs::metadata(file) {
        Ok(found) if found.len() <= MAX_GRANT_FILE_BYTES => Ok(serde_json::from_slice(&fs::read(file)?)?),
        Ok(_) => Err(io::Error::other("the file is too large")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(GrantFile::default()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use switchboard_agents::AgentEndpoint;

    use super::{
        HostRule, PrivateAccess, ProjectGrants, RuleError, RuleSource, SharedRules, normalize_host, parse_domain,
    };
    use crate::test_tree::TestTree;

    #[test]
    fn hosts_are_allowed_by_name_and_port() {
        for (rules, host, port, may_be_private) in [
            (&["example.com"][..], "example.com", 443, Some(false)),
            (&["Example.COM."], "example.com", 8443, Some(false)),
            (&["example.com"], "www.example.com", 443, None),
            (&["example.com"], "badexample.com", 443, None),
            (&["*.example.com"], "www.example.com", 443, Some(false)),
            (&["*.example.com"], "a.b.example.com", 443, Some(false)),
            (&["*.example.com"], "example.com", 443, None),
            (&["*.example.com"], ".example.com", 443, None),
            (&["*.example.com"], "badexample.com", 443, None),
            (&["example.com:8080"], "example.com", 8080, Some(true)),
            (&["example.com:8080"], "example.com", 443, None),
            (&["example.com", "example.com:443"], "example.com", 443, Some(true)),
            (&["127.0.0.1:80", "[::1]:81"], "127.0.0.1", 80, Some(true)),
            (&["[::1]:81"], "::1", 81, Some(true)),
            (&["1.1.1.1"], "1.1.1.1", 53, Some(false)),
            (&["@packages"], "registry.npmjs.org", 443, Some(false)),
            (&["@packages"], "example.com", 443, None),
            (&[], "example.com", 443, None),
        ] {
            let parsed = SharedRules::new(rules.iter().flat_map(|rule| parse_domain(rule).unwrap()).collect());
            let permission = parsed.permission(host, port);
            let permission = permission.map(|permission| permission.private_access == PrivateAccess::Allowed);
            assert_eq!(permission, may_be_private, "{rules:?} {host}:{port}");
        }
    }

    #[test]
    fn rules_that_allow_everything_or_nothing_are_refused() {
        #[rustfmt::skip]
        let texts = [
            "", "a b", "http://example.com", "example.com/x", "example.com:", "example.com:x", "a:b:c", "exa*le.com",
            "*.*.com", "example..com", "example.com:0", "user@example.com", "[example.com]:80",
        ];
        for text in texts {
            assert_eq!(parse_domain(text), Err(RuleError::NotAHost(text.to_owned())), "{text}");
        }
        for text in ["*", "*:443", "*.com", "**"] {
            assert_eq!(parse_domain(text), Err(RuleError::Everything(text.to_owned())), "{text}");
        }
        for text in ["localhost", "127.0.0.1", "10.0.0.1", "::1", "[fd00::1]"] {
            assert_eq!(parse_domain(text), Err(RuleError::PortNeeded(text.to_owned())), "{text}");
        }
        assert_eq!(parse_domain("@all"), Err(RuleError::UnknownGroup("@all".to_owned())));
    }

    #[test]
    fn names_are_compared_in_one_form() {
        assert_eq!(normalize_host("API.Example.com.").as_deref(), Some("api.example.com"));
        assert_eq!(normalize_host("::FFFF:127.0.0.1").as_deref(), Some("127.0.0.1"));
        for wrong in ["", ".", "*.a", "*", "a..b", "a b", "a/b", "a%b", "a\u{e9}", "a:b", "-.\n"] {
            assert_eq!(normalize_host(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_project_is_its_repository_and_grants_are_kept() {
        let tree = TestTree::new(&["repository/.git", "repository/deep/er", "other"]);
        let file = tree.join("network.json");
        let grants = |directory: &str| ProjectGrants::new(file.clone(), &tree.join(directory));
        grants("repository/deep/er").add("example.com", 443).unwrap();
        grants("repository").add("example.com", 443).unwrap();
        grants("repository").add("example.org", 80).unwrap();
        assert_eq!(grants("repository/deep").rules().len(), 2);
        assert!(grants("other").rules().is_empty());
        tree.write("network.json", "damaged");
        assert!(grants("repository").rules().is_empty());
        assert!(grants("repository").add("example.com", 1).is_err(), "a damaged file is not overwritten");
    }

    #[test]
    fn a_lock_of_a_reader_does_not_stop_writers() {
        let tree = TestTree::new(&["project"]);
        let grants = ProjectGrants::new(tree.join("network.json"), &tree.join("project"));
        grants.add("example.com", 443).unwrap();
        // Only a process with write access can lock the file: agents in a sandbox have none.
        let mode = fs::metadata(tree.join("network.lock")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o200);
        // A lock that is never released is an error, and not waited for indefinitely.
        let _locked = grants.lock().unwrap();
        assert_eq!(grants.add("example.org", 443).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    }

    #[test]
    fn configured_names_may_be_private_only_if_they_are_at_the_start() {
        let rule = |url: &str| HostRule::from_endpoint(&AgentEndpoint::from_configured_url(url).unwrap());
        for (url, access) in [
            ("http://localhost:11434", PrivateAccess::Allowed),
            ("http://10.0.0.1/v1", PrivateAccess::Allowed),
            ("https://[fd00::1]/v1", PrivateAccess::Allowed),
            ("https://mcp.example.com/sse", PrivateAccess::IfPrivateAtStart),
        ] {
            assert_eq!(rule(url).private_access, access, "{url}");
        }
        let rules = SharedRules::new(vec![rule("https://mcp.example.com/sse"), rule("http://10.0.0.1/v1")]);
        assert!(rules.names_to_resolve().iter().eq(["mcp.example.com"]));
    }

    #[test]
    fn the_most_trusted_rule_counts() {
        let rules = SharedRules::new(parse_domain("*.example.com").unwrap());
        let source = |rules: &SharedRules| rules.permission("a.example.com", 443).unwrap().source;
        assert_eq!(source(&rules), RuleSource::Subdomains);
        rules.add(HostRule::approved("a.example.com", 443));
        assert_eq!(source(&rules), RuleSource::Approval);
        rules.add(HostRule::exact("a.example.com", None));
        assert_eq!(source(&rules), RuleSource::Settings);
    }
}
