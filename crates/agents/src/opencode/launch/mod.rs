//! Launch of OpenCode: as a server of its own for each session, or for one prompt. Also detects its login and reads its
//! configuration.

mod config_content;
mod login;
pub mod rules;
mod settings;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use switchboard_event::ApprovalMode;

use super::driver::{OpenCodeDriver, OpenCodeSessionConfig, SessionOpening};
use crate::{
    Abilities, Agent, AgentLaunch, HostAccess, LaunchRequest, PromptImage, StateDirectory, StdinMode,
    UnsupportedOperation, Versions, WhileRunning,
};

/// The variable with the server's password.
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

/// User name for the server's password.
const USER: &str = "opencode";

/// The agent definition of OpenCode.
pub const AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    provider: "opencode",
    program: Some("opencode"),
    install: Some("npm install -g opencode-ai"),
    versions: Some(Versions { args: &["--version"], oldest: "1.18.0", tested: "1.18.33" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: false,
        questions: true,
        interrupt: true,
        while_running: WhileRunning::Steer,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        images: true,
        mcp: true,
        output_schema: true,
        one_shot: true,
        detailed_one_shot: false,
    },
    launch,
    login: login::login,
    config: settings::found,
    endpoints: login::endpoints,
    protected_paths: &[
        "opencode.json",
        "opencode.jsonc",
        ".opencode/opencode.json*",
        ".opencode/package.json",
        ".opencode/agent*/**",
        ".opencode/command*/**",
        ".opencode/mode*/**",
        ".opencode/plugin*/**",
        ".opencode/skill*/**",
        ".opencode/tool*/**",
        "~/.config/opencode/*.json*",
        "~/.config/opencode/agent*/**",
        "~/.config/opencode/command*/**",
        "~/.config/opencode/mode*/**",
        "~/.config/opencode/plugin*/**",
        "~/.config/opencode/skill*/**",
        "~/.config/opencode/tool*/**",
        "/etc/opencode/**",
    ],
};

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let model = order.config.model.as_deref().map(model).transpose()?;
    let mut launch =
        AgentLaunch { program: "opencode".to_owned(), state: discarded(order.host), ..AgentLaunch::default() };
    launch.writable.push(data(order.host));
    // OpenCode uses `PWD` as its working directory.
    launch.env.push(("PWD".to_owned(), order.cwd.display().to_string()));
    // An update would replace the program of the running session.
    launch.env.push(("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned()));
    config_content::add(order, &mut launch)?;
    if order.one_shot {
        finish(order, &mut launch)?;
    } else {
        serve(order, model, &mut launch);
    }
    Ok(launch)
}

/// Port 0 selects 4096 if it is free, otherwise any free port, so that several servers do not collide.
fn serve(order: &LaunchRequest<'_>, model: Option<ModelName>, launch: &mut AgentLaunch) {
    launch.args = ["serve", "--port", "0", "--hostname", "127.0.0.1"].map(str::to_owned).to_vec();
    launch.env.push(("OPENCODE_SERVER_USERNAME".to_owned(), USER.to_owned()));
    launch.env.push((PASSWORD.to_owned(), order.secret.to_owned()));
    keep_password(order, launch);
    launch.input = StdinMode::Closed;
    launch.source = "opencode";
    let conversation = match order.resume {
        None => SessionOpening::New,
        Some(resume) if resume.fork => SessionOpening::CopyOf(resume.session.to_owned()),
        Some(resume) => SessionOpening::Known(resume.session.to_owned()),
    };
    launch.driver = Some(Box::new(OpenCodeDriver::new(OpenCodeSessionConfig {
        user: USER,
        password: order.secret.to_owned(),
        conversation,
        config: order.config.clone(),
        data: data(order.host).display().to_string(),
        model,
        leisure: order.prompt.text.is_empty() && order.prompt.images.is_empty(),
    })));
}

/// Removes the password from the environment of commands, which inherit it from the server and might print it. Bash,
/// which OpenCode prefers, reads this file first. The password can still be found through the server's process.
fn keep_password(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) {
    const VARIABLE: &str = "BASH_ENV";
    let file = order.private.join("opencode-bash");
    let text = match order.host.env_var(VARIABLE).filter(|own| !own.is_empty()) {
        Some(own) => {
            let own = own.replace('\'', r"'\''");
            format!("unset {PASSWORD}\nexport {VARIABLE}='{own}'\n. \"${VARIABLE}\"\n")
        }
        None => format!("unset {PASSWORD} {VARIABLE}\n"),
    };
    launch.env.push((VARIABLE.to_owned(), file.display().to_string()));
    launch.files.push((file, text));
}

/// A model in OpenCode's notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    pub provider: String,
    /// The provider's name of the model, which may contain slashes.
    pub name: String,
}

/// Parses `provider/model`.
pub fn model(text: &str) -> Result<ModelName, UnsupportedOperation> {
    match text.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
            Ok(ModelName { provider: provider.to_owned(), name: name.to_owned() })
        }
        _ => Err(UnsupportedOperation::new(format!("OpenCode has no model `{text}`"))
            .with_hint("name it with its provider, as in `openai/gpt-5`; `opencode models` lists them")),
    }
}

/// Completes a launch. The prompt is passed on standard input, because `opencode run` would quote it as an argument.
pub fn finish(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    if order.prompt.output_schema.is_some() {
        return Err(UnsupportedOperation::new("`opencode run` cannot give its answer a schema")
            .with_hint("leave out --one-shot"));
    }
    let mut args = vec!["run", "--format", "json", "--thinking"];
    if rules::is_free(order.config) {
        args.push("--auto");
    }
    if let Some(model) = &order.config.model {
        args.extend(["--model", model]);
    }
    if let Some(resume) = order.resume {
        args.extend(["--session", resume.session]);
        if resume.fork {
            args.push("--fork");
        }
    }
    launch.args = args.into_iter().map(str::to_owned).collect();
    for image in &order.prompt.images {
        launch.args.extend(["--file".to_owned(), path_of(image)?]);
    }
    if order.config.approval_mode == Some(ApprovalMode::AskDangerous) {
        launch
            .weaker
            .push("a one-shot cannot tell dangerous calls from others, so all but looking is refused".to_owned());
    }
    launch.source = "opencode:run";
    launch.input = StdinMode::Text(order.prompt.text.clone());
    Ok(())
}

fn path_of(image: &PromptImage) -> Result<String, UnsupportedOperation> {
    let path = image.path.as_ref().map(|path| path.display().to_string());
    path.ok_or_else(|| {
        UnsupportedOperation::new("`opencode run` takes images only as files").with_hint("leave out --one-shot")
    })
}

/// Returns one of OpenCode's directories: below the variable's value, or below a default in the home directory.
fn folder(host: &dyn HostAccess, variable: &str, default: &str) -> PathBuf {
    let base = host.env_var(variable).filter(|base| !base.is_empty()).map(PathBuf::from);
    base.unwrap_or_else(|| host.home_dir().join(default)).join("opencode")
}

/// Returns the directory for sessions, logins, logs and long output.
pub fn data(host: &dyn HostAccess) -> PathBuf {
    folder(host, "XDG_DATA_HOME", ".local/share")
}

pub fn config(host: &dyn HostAccess) -> PathBuf {
    folder(host, "XDG_CONFIG_HOME", ".config")
}

/// Returns the directories that OpenCode writes to and whose content runs later: plugins, language servers, git
/// directories. The database is in the data directory itself, next to temporary files.
pub fn discarded(host: &dyn HostAccess) -> Vec<StateDirectory> {
    let state = folder(host, "XDG_STATE_HOME", ".local/state");
    let cache = folder(host, "XDG_CACHE_HOME", ".cache");
    let [snapshot, bin, repos] = ["snapshot", "bin", "repos"].map(|name| data(host).join(name));
    [snapshot, bin, repos, state, cache, config(host)].into_iter().map(StateDirectory::new_discarded).collect()
}
