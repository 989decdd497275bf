//! HTTP requests of an agent, to measure what lies between it and a server.

use std::{
    env,
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Instant,
};

use anyhow::ensure;

use super::wire::FakeProtocol;

/// Makes requests in sequence and prints the duration of each.
pub fn run_fetches(wire: &mut dyn FakeProtocol, count: u32, server: &str) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "agents find their proxy in the environment")]
    let proxy = env::var("HTTP_PROXY").ok().map(|url| url.trim_start_matches("http://").to_owned());
    let (address, target) = match &proxy {
        Some(proxy) => (proxy.as_str(), format!("http://{server}/")),
        None => (server, "/".to_owned()),
    };
    let request = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    let mut times = Vec::new();
    for _ in 0..count {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        times.push(begin.elapsed().as_nanos());
        ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    wire.print_pieces(&mut times.iter().map(|time| format!("took {time}\n")));
    Ok(())
}
