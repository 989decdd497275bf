//! Joining a cluster: the servers and credentials on the command line, and the name of this node.

use std::{
    fs,
    net::{SocketAddr, ToSocketAddrs as _},
    path::{Path, PathBuf},
};

use clap::Args;
use switchboard_cluster::{ClusterOptions, NatsCredentials, NatsTls, NodeDescription};
use switchboard_engine::Engine;

use crate::{failure::Failure, host};

/// The environment variable with the servers.
const CLUSTER_VARIABLE: &str = "SWITCHBOARD_CLUSTER";

/// The port of NATS if a URL names none.
const NATS_PORT: u16 = 4222;

/// The maximum length of a node's name.
const MAX_NAME_CHARS: usize = 64;

/// The servers of a cluster, and the credentials for them.
#[derive(Args, Clone, Default)]
pub struct ClusterArgs {
    /// Share sessions with other nodes over these NATS servers, such as nats://n1:4222,nats://n2:4222 [env:
    /// SWITCHBOARD_CLUSTER]
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    cluster: Vec<String>,
    /// File with the user and password for NATS, as USER:PASSWORD
    #[arg(long, value_name = "FILE", group = "nats_credentials")]
    nats_login: Option<PathBuf>,
    /// File with the token for NATS
    #[arg(long, value_name = "FILE", group = "nats_credentials")]
    nats_token: Option<PathBuf>,
    /// File with the seed of an NKey for NATS
    #[arg(long, value_name = "FILE", group = "nats_credentials")]
    nats_nkey: Option<PathBuf>,
    /// Credentials file for NATS, with a JWT and a seed
    #[arg(long, value_name = "FILE", group = "nats_credentials")]
    nats_creds: Option<PathBuf>,
    /// Certificate authority of the NATS servers [default: the system's]
    #[arg(long, value_name = "FILE")]
    nats_ca: Option<PathBuf>,
    /// Client certificate for NATS
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    nats_cert: Option<PathBuf>,
    /// Key of the client certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    nats_key: Option<PathBuf>,
}

/// A cluster to join.
pub struct ClusterSetup {
    pub options: ClusterOptions,
    /// The passwords, tokens and keys, which no agent may learn.
    secrets: Vec<String>,
    /// The files with them.
    secret_files: Vec<PathBuf>,
}

impl ClusterArgs {
    /// Returns the cluster to join, if one is given. `node` describes this node; a name that is empty becomes the name
    /// that the data directory had before, or that of the machine.
    pub fn setup(&self, data_directory: &Path, node: NodeDescription) -> Result<Option<ClusterSetup>, Failure> {
        let servers = self.servers();
        if servers.is_empty() {
            return Ok(None);
        }
        let name = if node.name.is_empty() { node_name(data_directory) } else { node.name };
        let credentials = self.credentials()?;
        let mut secrets: Vec<String> = servers.iter().filter_map(|url| url_secret(url)).collect();
        secrets.extend(credential_secrets(&credentials)?);
        let client_certificate = self.nats_cert.clone().zip(self.nats_key.clone());
        let files = [&self.nats_login, &self.nats_token, &self.nats_nkey, &self.nats_creds, &self.nats_key];
        let options = ClusterOptions {
            servers,
            credentials,
            tls: NatsTls { required: false, ca_file: self.nats_ca.clone(), client_certificate },
            data_directory: data_directory.to_owned(),
            node: NodeDescription { name, ..node },
            ..ClusterOptions::default()
        };
        let secret_files = files.into_iter().flatten().map(|path| host::absolute_path(path)).collect();
        Ok(Some(ClusterSetup { options, secrets, secret_files }))
    }

    /// Returns whether the servers are on the command line.
    pub fn is_given(&self) -> bool {
        !self.cluster.is_empty()
    }

    fn servers(&self) -> Vec<String> {
        let given = match self.cluster.is_empty() {
            true => host::env_variable(CLUSTER_VARIABLE).unwrap_or_default(),
            false => self.cluster.join(","),
        };
        given.split(',').map(str::trim).filter(|url| !url.is_empty()).map(str::to_owned).collect()
    }

    fn credentials(&self) -> Result<NatsCredentials, Failure> {
        if let Some(path) = &self.nats_login {
            let text = read_secret(path)?;
            let login = text.split_once(':');
            let (user, password) = login
                .ok_or_else(|| Failure::bad_value("--nats-login", format!("{}: not USER:PASSWORD", path.display())))?;
            return Ok(NatsCredentials::UserPassword(user.to_owned(), password.to_owned()));
        }
        if let Some(path) = &self.nats_token {
            return Ok(NatsCredentials::Token(read_secret(path)?));
        }
        if let Some(path) = &self.nats_nkey {
            return Ok(NatsCredentials::NkeySeed(read_secret(path)?));
        }
        Ok(self.nats_creds.clone().map_or(NatsCredentials::None, NatsCredentials::CredentialsFile))
    }
}

impl ClusterSetup {
    /// Keeps agents from the credentials and the servers: a client of the servers can run commands on every node.
    pub fn protect(&self, engine: &Engine) {
        self.secrets.iter().for_each(|secret| engine.mask_secret(secret.clone()));
        self.secret_files.iter().for_each(|path| engine.hide_from_sessions(path.clone()));
        server_addresses(&self.options.servers).for_each(|address| engine.shield_listener(address));
    }
}

/// Remembers the name of a node for other processes with its data directory.
pub fn remember_node_name(data_directory: &Path, name: &str) {
    // Without the file, they use the name of the machine.
    drop(fs::write(name_file(data_directory), name));
}

fn read_secret(path: &Path) -> Result<String, Failure> {
    Ok(host::read_text_file(path)?.trim().to_owned())
}

/// Returns the password or token in a URL.
fn url_secret(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (login, _) = rest.rsplit_once('@')?;
    Some(login.split_once(':').map_or(login, |(_, password)| password).to_owned()).filter(|secret| !secret.is_empty())
}

fn credential_secrets(credentials: &NatsCredentials) -> Result<Vec<String>, Failure> {
    Ok(match credentials {
        NatsCredentials::None => Vec::new(),
        NatsCredentials::UserPassword(_, secret)
        | NatsCredentials::Token(secret)
        | NatsCredentials::NkeySeed(secret) => {
            vec![secret.clone()]
        }
        // The JWT and the seed are lines of their own.
        NatsCredentials::CredentialsFile(path) => {
            let text = host::read_text_file(path)?;
            let is_secret = |line: &&str| !line.is_empty() && line.bytes().all(|byte| !b" -*".contains(&byte));
            text.lines().map(str::trim).filter(is_secret).map(str::to_owned).collect()
        }
    })
}

fn server_addresses(urls: &[String]) -> impl Iterator<Item = SocketAddr> {
    let resolve = |url: &String| {
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host).trim_end_matches('/').to_owned();
        // A name that cannot be resolved cannot be connected to either.
        let with_port =
            host.to_socket_addrs().or_else(|_| (host.trim_matches(['[', ']']), NATS_PORT).to_socket_addrs());
        with_port.map(Iterator::collect::<Vec<_>>).unwrap_or_default()
    };
    urls.iter().flat_map(resolve).collect::<Vec<_>>().into_iter()
}

fn name_file(data_directory: &Path) -> PathBuf {
    data_directory.join("cluster").join("node-name")
}

/// Returns the name of the node with a data directory: the last one that it had, or that of the machine.
fn node_name(data_directory: &Path) -> String {
    let known = fs::read_to_string(name_file(data_directory)).ok().map(|name| name.trim().to_owned());
    known.filter(|name| !name.is_empty()).unwrap_or_else(machine_name)
}

/// Returns the host name in the form of a node's name.
fn machine_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    host.chars().map(plain).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::{server_addresses, url_secret};

    #[test]
    fn secrets_of_urls_are_found() {
        for (url, secret) in [
            ("nats://user:pass@n1:4222", Some("pass")),
            ("token@n1", Some("token")),
            ("nats://n1:4222", None),
            ("nats://user:@n1", None),
        ] {
            assert_eq!(url_secret(url).as_deref(), secret, "{url}");
        }
    }

    #[test]
    fn addresses_of_servers_are_found() {
        let urls = ["nats://u:p@127.0.0.1:4333", "127.0.0.2", "tls://[::1]:4222/"].map(str::to_owned);
        let found: Vec<_> = server_addresses(&urls).map(|address| address.to_string()).collect();
        assert_eq!(found, ["127.0.0.1:4333", "127.0.0.2:4222", "[::1]:4222"]);
    }
}
