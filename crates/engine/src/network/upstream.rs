//! The HTTP proxy configured in the user's environment. The session's proxy connects through it.

use std::{io, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    Method, Request,
    client::conn::http1,
    header::{HOST, PROXY_AUTHORIZATION},
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use switchboard_agents::AgentEndpoint;
use tokio::{net::TcpStream, time::timeout};

use super::rules::bracket_host;

/// Variables that name a proxy. The first variable that is set is used.
const PROXY_VARIABLES: &[&str] = &["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// A proxy between this machine and the internet.
#[derive(Clone, Debug)]
pub struct UpstreamProxy {
    endpoint: AgentEndpoint,
    authorization: Option<String>,
    /// Hosts to which connections bypass the proxy; `*` for all.
    exceptions: Vec<String>,
}

impl UpstreamProxy {
    /// Reads the proxy variables. Only HTTP proxies without TLS are supported.
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let url = PROXY_VARIABLES.iter().find_map(|name| env(name).filter(|value| !value.is_empty()))?;
        let url = if url.contains("://") { url } else { format!("http://{url}") };
        let endpoint = AgentEndpoint::from_configured_url(&url).filter(|_| url.starts_with("http://"))?;
        let authority = url.strip_prefix("http://")?.split(['/', '?', '#', '\\']).next()?;
        let user_info = authority.rsplit_once('@').map(|(user_info, _)| user_info);
        let exceptions = env("NO_PROXY").or_else(|| env("no_proxy")).unwrap_or_default();
        let exceptions = exceptions.split(',').map(|host| host.trim().trim_start_matches('.').to_ascii_lowercase());
        Some(Self {
            endpoint,
            authorization: user_info.map(basic_authorization),
            exceptions: exceptions.filter(|host| !host.is_empty()).collect(),
        })
    }

    /// Returns whether connections to a host go through the proxy.
    pub fn is_used_for(&self, host: &str) -> bool {
        let is_exception = |exception: &String| {
            exception == "*"
                || host.strip_suffix(exception.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        !self.exceptions.iter().any(is_exception)
    }

    /// Returns the value of the header `Proxy-Authorization`, if the proxy needs one.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Connects to the proxy itself.
    pub async fn open(&self, limit: Duration) -> io::Result<TcpStream> {
        let stream = timeout(limit, TcpStream::connect((self.endpoint.host.as_str(), self.endpoint.port))).await??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Opens a tunnel to a host on a connection to the proxy.
    pub async fn open_tunnel(
        &self,
        stream: TcpStream,
        host: &str,
        port: u16,
        limit: Duration,
    ) -> io::Result<TokioIo<Upgraded>> {
        timeout(limit, self.request_tunnel(stream, host, port)).await?
    }

    async fn request_tunnel(&self, stream: TcpStream, host: &str, port: u16) -> io::Result<TokioIo<Upgraded>> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // The task ends when the tunnel closes, or when `sender` is dropped if no tunnel was opened.
        tokio::spawn(connection.with_upgrades());
        let target = format!("{}:{port}", bracket_host(host));
        let mut request = Request::builder().method(Method::CONNECT).uri(&target).header(HOST, &target);
        if let Some(authorization) = &self.authorization {
            request = request.header(PROXY_AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        if !response.status().is_success() {
            return Err(io::Error::other(format!("the upstream proxy responded with status {}", response.status())));
        }
        Ok(TokioIo::new(hyper::upgrade::on(response).await.map_err(io::Error::other)?))
    }
}

/// Returns the value of the header for the user and password of a URL, where both are percent-encoded.
fn basic_authorization(user_info: &str) -> String {
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let mut credentials: Vec<u8> = percent_decode_str(user).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(password));
    format!("Basic {}", STANDARD.encode(credentials))
}

#[cfg(test)]
mod tests {
    use super::UpstreamProxy;

    fn proxy(variables: &'static [(&str, &str)]) -> Option<UpstreamProxy> {
        let value =
            |name: &str| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned());
        UpstreamProxy::from_env(&value)
    }

    #[test]
    fn reads_the_proxy_from_the_environment() {
        let found =
            proxy(&[("HTTPS_PROXY", "http://u:p@proxy.corp:8080"), ("NO_PROXY", "corp, .local,10.0.0.1")]).unwrap();
        assert_eq!((found.endpoint.host.as_str(), found.endpoint.port), ("proxy.corp", 8080));
        assert_eq!(found.authorization.as_deref(), Some("Basic dTpw"));
        let encoded = proxy(&[("HTTPS_PROXY", "http://u:p%40q%3A@proxy:1")]).unwrap();
        assert_eq!(encoded.authorization.as_deref(), Some("Basic dTpwQHE6"));
        for direct in ["corp", "git.corp", "x.local", "10.0.0.1"] {
            assert!(!found.is_used_for(direct), "{direct}");
        }
        for other in ["example.com", "notcorp", "110.0.0.1"] {
            assert!(found.is_used_for(other), "{other}");
        }
        assert!(proxy(&[("http_proxy", "proxy:3128")]).unwrap().is_used_for("x"));
        assert!(!proxy(&[("http_proxy", "proxy:3128"), ("no_proxy", "*")]).unwrap().is_used_for("x"));
        assert!(proxy(&[]).is_none());
        assert!(proxy(&[("ALL_PROXY", "socks5://proxy:1080")]).is_none());
    }
}
