//! From what was typed to a server that listens.

use std::path::{Path, PathBuf};

use switchboard_engine::parse_domain;
use switchboard_serve::{
    Drain, Private,
    guard::{Guard, Rules, Token},
    listen::{Address, Limits, ListenError, Listener, Server},
};

use super::{Serve, browser, greeting, keep};
use crate::{
    data::{self, Bounds, Data},
    failure::Failure,
    host, token,
};

/// What is to be started. All that can be checked was checked.
pub struct Plan<'a> {
    args: &'a Serve,
    folder: PathBuf,
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    token: Option<Token>,
}

/// A server that listens.
pub struct Running {
    pub server: Server,
    /// The socket for other processes of ours.
    pub private: Option<Private>,
    pub data: Data,
    pub drain: Drain,
}

impl<'a> Plan<'a> {
    /// Checks what was typed.
    pub fn new(args: &'a Serve) -> Result<Self, Failure> {
        if args.no_auth
            && let Some(open) = args.listen.iter().find(|address| !address.is_local())
        {
            let cause = format!(
                "anybody who reaches {open} could run commands as you\nhint: leave it out, or listen on this machine \
                 only, at 127.0.0.1"
            );
            return Err(Failure::BadValue { option: "--no-auth", cause });
        }
        let folder = host::data_folder(args.data.clone())?;
        let token = if args.no_auth { None } else { Some(token::of_server(&folder, args.token_file.as_deref())?) };
        let cwd = folder_of("--cwd", args.cwd.as_deref().unwrap_or(Path::new(".")))?;
        let roots = args.root.iter().map(|root| folder_of("--root", root)).collect::<Result<_, _>>()?;
        Ok(Self { args, folder, cwd, roots, token })
    }

    fn rules(&self) -> Rules {
        Rules {
            token: self.token.clone(),
            hosts: self.args.allow_host.clone(),
            origins: self.args.allow_origin.clone(),
            rate: self.args.rate(),
            unseen: self.args.unseen(),
            ..Rules::default()
        }
    }

    fn listeners(&self) -> Result<Vec<Listener>, ListenError> {
        let bound: Result<Vec<_>, _> = self.args.listen.iter().map(Listener::bind).collect();
        Ok(bound?.into_iter().flatten().collect())
    }
}

fn folder_of(option: &'static str, folder: &Path) -> Result<PathBuf, Failure> {
    let bad = |cause: String| Failure::BadValue { option, cause: format!("{}: {cause}", folder.display()) };
    let real = std::fs::canonicalize(folder).map_err(|error| bad(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(bad("it is not a folder".to_owned())) }
}

/// Listens, opens the log, and serves. Clients that connect in between wait for a moment.
pub async fn start(plan: Plan<'_>) -> Result<Running, Failure> {
    let listeners = plan.listeners()?;
    let data = data::open(Some(plan.folder.clone()), plan.args.durable)?;
    if plan.args.sandbox_best_effort {
        data.engine.accept_weaker_sandbox();
    }
    let domains = plan.args.allow_domain.iter().filter_map(|domain| parse_domain(domain).ok());
    data.engine.allow_domains(domains.flatten());
    listeners.iter().filter_map(Listener::tcp_address).for_each(|address| data.engine.shield_listener(address));
    if let Some(file) = &plan.args.token_file {
        data.engine.hide_from_sessions(file.clone());
    }
    if let Some(token) = &plan.token {
        data.engine.mask_secret(token.expose().to_owned());
    }
    let (most_sessions, limits) = (plan.args.max_sessions, plan.args.timeouts.limits());
    let service = data.service(plan.cwd.clone(), Bounds { roots: plan.roots.clone(), most_sessions, limits })?;
    let (private, drain) = (data.private(&service), service.drain().clone());
    let router = Guard::new(plan.rules()).around(service.router());
    let limits = Limits { connections: plan.args.max_connections, ..Limits::default() };
    let mut server = Server::new(limits, drain.clone());
    let addresses: Vec<Address> = listeners.iter().map(Listener::address).collect();
    greeting::say(&addresses, plan.token.as_ref(), &data);
    greeting::say_agents(&data.engine);
    if plan.args.open {
        browser::open(&addresses, plan.token.as_ref(), &data);
    }
    // Only then can there be sessions: the browser must not be taken for one of their processes.
    data.adopt_orphans()?;
    for listener in listeners {
        server.listen(listener, router.clone());
    }
    if let Some(age) = plan.args.keep.filter(|_| data.owner.is_some()) {
        keep::keep(data.engine.log().clone(), age);
    }
    Ok(Running { server, private, data, drain })
}
