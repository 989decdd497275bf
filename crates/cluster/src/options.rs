//! How a node joins the cluster: the servers, its credentials, and its own description.

use std::{net::IpAddr, path::PathBuf};

use async_nats::ConnectOptions;
use switchboard_store::StoreError;

/// The credentials for the servers.
#[derive(Clone, Default)]
pub enum NatsCredentials {
    /// None, or the user and password in the URL.
    #[default]
    None,
    /// A user and a password.
    UserPassword(String, String),
    /// A token.
    Token(String),
    /// The seed of an NKey.
    NkeySeed(String),
    /// A file with a JWT and the seed of its key.
    CredentialsFile(PathBuf),
}

/// The settings of TLS.
#[derive(Clone, Debug, Default)]
pub struct NatsTls {
    /// Refuse connections without TLS.
    pub required: bool,
    /// The file of the certificate authority, if it is not one of the system's.
    pub ca_file: Option<PathBuf>,
    /// The files of the client's certificate and key.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
}

/// The options of [`ClusterLog::open`](crate::ClusterLog::open).
#[derive(Clone, Default)]
pub struct ClusterOptions {
    /// The URLs of the NATS servers.
    pub servers: Vec<String>,
    /// The credentials.
    pub credentials: NatsCredentials,
    /// The settings of TLS.
    pub tls: NatsTls,
    /// The prefix of streams, buckets and subjects; `SWITCHBOARD` if empty.
    pub prefix: String,
    /// The number of replicas of new streams; three if the servers form a cluster, otherwise one.
    pub replicas: Option<usize>,
    /// The directory for the node's ID and its index.
    pub data_directory: PathBuf,
    /// The description of this node.
    pub node: NodeDescription,
}

/// The description of a node that other nodes see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeDescription {
    /// The name, unique in the cluster.
    pub name: String,
    /// The labels.
    pub labels: Vec<String>,
    /// The installed agents.
    pub agents: Vec<String>,
    /// The number of sessions that it runs.
    pub sessions: usize,
    /// Whether it accepts no new sessions.
    pub is_draining: bool,
    /// The address for requests of other nodes.
    pub address: Option<String>,
}

impl ClusterOptions {
    pub(crate) fn prefix(&self) -> &str {
        if self.prefix.is_empty() { "SWITCHBOARD" } else { &self.prefix }
    }

    /// Returns the URLs without user and password, for messages.
    pub(crate) fn public_urls(&self) -> String {
        let without_secrets = |url: &String| match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            (None, Some((_, host))) => host.to_owned(),
            (_, None) => url.clone(),
        };
        self.servers.iter().map(without_secrets).collect::<Vec<_>>().join(", ")
    }

    /// Checks the names and that servers beyond loopback require authentication: a client that may publish to them can run
    /// commands on every node.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let refused = |message: String| Err(StoreError::Cluster(message));
        if self.servers.is_empty() {
            return refused("no NATS server given".to_owned());
        }
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 64
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if !is_name(self.prefix()) {
            return refused(format!("the prefix {:?} is not made of letters, digits, '-' and '_'", self.prefix()));
        }
        if !is_name(&self.node.name) {
            return refused(format!(
                "the node name {:?} is not made of up to 64 letters, digits, '-' and '_'",
                self.node.name
            ));
        }
        let is_authenticated =
            !matches!(self.credentials, NatsCredentials::None) || self.tls.client_certificate.is_some();
        let open = self.servers.iter().find(|url| !is_authenticated && !url.contains('@') && !is_loopback(url));
        match open {
            Some(url) => refused(format!(
                "NATS at {url} is beyond loopback and no credentials are given: everyone who can publish there could run \
                 commands on every node; use a user and password, a token, an NKey, a credentials file or a client \
                 certificate"
            )),
            None => Ok(()),
        }
    }

    /// Returns the options of the connection.
    pub(crate) async fn connect_options(&self) -> Result<ConnectOptions, StoreError> {
        let options = ConnectOptions::new().name(format!("switchboard {}", self.node.name));
        let mut options = match &self.credentials {
            NatsCredentials::None => options,
            NatsCredentials::UserPassword(user, password) => options.user_and_password(user.clone(), password.clone()),
            NatsCredentials::Token(token) => options.token(token.clone()),
            NatsCredentials::NkeySeed(seed) => options.nkey(seed.trim().to_owned()),
            NatsCredentials::CredentialsFile(path) => {
                options.credentials_file(path).await.map_err(|error| StoreError::Folder(path.clone(), error))?
            }
        };
        if let Some(path) = &self.tls.ca_file {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.tls.client_certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        let requires_tls = self.tls.required || self.tls.ca_file.is_some() || self.tls.client_certificate.is_some();
        Ok(if requires_tls { options.require_tls(true) } else { options })
    }
}

/// Returns whether the host of a URL is this machine.
fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{ClusterOptions, NatsCredentials, NodeDescription, is_loopback};

    fn options(server: &str) -> ClusterOptions {
        let node = NodeDescription { name: "a".to_owned(), ..NodeDescription::default() };
        ClusterOptions { servers: vec![server.to_owned()], node, ..ClusterOptions::default() }
    }

    #[test]
    fn loopback_is_recognized() {
        for url in ["nats://127.0.0.1:4222", "localhost", "nats://localhost:4222", "tls://[::1]:4222", "127.1.2.3:1"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["nats://10.0.0.1:4222", "nats://localhost.example.com", "[2001:db8::1]:4222", "127.0.0.1.nip.io"] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn servers_beyond_loopback_require_authentication() {
        assert!(options("nats://127.0.0.1:4222").check().is_ok());
        let error = options("nats://n1:4222").check().unwrap_err().to_string();
        assert!(error.contains("nats://n1:4222") && error.contains("credentials"), "{error}");
        assert!(options("nats://u:p@n1:4222").check().is_ok());
        let token = ClusterOptions { credentials: NatsCredentials::Token("t".to_owned()), ..options("nats://n1:4222") };
        assert!(token.check().is_ok());
    }

    #[test]
    fn messages_contain_no_secrets() {
        assert_eq!(options("nats://user:secret@n1:4222").public_urls(), "nats://n1:4222");
        assert_eq!(options("n1:4222").public_urls(), "n1:4222");
    }
}
