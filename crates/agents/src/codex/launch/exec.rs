//! `codex exec`: one prompt, one answer. It never asks: what would need an answer is kept from happening.

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};

use super::{keys, rules::Rules, trust};
use crate::{Input, Launch, Order, Unsupported};

pub fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let mut rules = Rules::of(order)?;
    refuse(order, &rules)?;
    let sandbox = sandbox(order, &mut rules)?;
    let mut files = Vec::new();
    let mut args: Vec<String> = ["exec", "--json", "--skip-git-repo-check", "-s", sandbox].map(str::to_owned).into();
    args.extend(["-C".to_owned(), order.cwd.to_string_lossy().into_owned()]);
    if let Some(model) = &order.config.model {
        args.extend(["-m".to_owned(), model.clone()]);
    }
    if let Some(trust) = trust::withheld(order) {
        rules.config.insert("projects".to_owned(), trust);
    }
    for (key, value) in &rules.config {
        args.extend(["-c".to_owned(), format!("{key}={}", toml_of(value))]);
    }
    if let Some(schema) = &order.prompt.output_schema {
        let file = order.private.join("output-schema.json");
        args.extend(["--output-schema".to_owned(), file.to_string_lossy().into_owned()]);
        files.push((file, schema.get().to_owned()));
    }
    args.extend(images(order)?);
    // These take none of the flags above behind them.
    match order.resume {
        Some(resume) if resume.fork => args.extend(["fork".to_owned(), resume.session.to_owned()]),
        Some(resume) => args.extend(["resume".to_owned(), resume.session.to_owned()]),
        None => {}
    }
    // The prompt is standard input, which must end: an open one is waited for, whatever else is said (0.166).
    args.push("-".to_owned());
    let key = keys::given(order.host).map(|key| ("CODEX_API_KEY".to_owned(), key));
    Ok(Launch {
        args,
        files,
        input: Input::Text(order.prompt.text.clone()),
        source: "codex",
        env: rules.env.into_iter().chain(key).collect(),
        weaker: rules.weaker,
        ..Launch::default()
    })
}

fn refuse(order: &Order<'_>, rules: &Rules) -> Result<(), Unsupported> {
    const HINT: &str = "run it in the two-way form, without one-shot";
    let blocked = &rules.blocked;
    let what = if order.config.max_turns.is_some() {
        "`codex exec` does not show how often the model is called, so that its turns cannot be limited"
    } else if order.prompt.text.is_empty() {
        "`codex exec` needs a prompt"
    } else if blocked.edit && rules.is_free() {
        "`codex exec` does not ask before it changes files, so that this cannot be blocked"
    } else {
        return Ok(());
    };
    Err(Unsupported::new(what).with_hint(HINT))
}

/// How far Codex may go by itself. Where our sandbox is around it, its own would not work.
fn sandbox(order: &Order<'_>, rules: &mut Rules) -> Result<&'static str, Unsupported> {
    if rules.is_free() {
        return Ok("danger-full-access");
    }
    if rules.mode == ApprovalMode::AutoEdit {
        rules.without("shell_tool");
        rules.weaker.push("nobody can be asked in a one-shot, so commands are switched off".to_owned());
        return Ok(if order.confined { "danger-full-access" } else { "workspace-write" });
    }
    if order.config.sandbox_mode == Some(SandboxMode::WorkspaceWrite) {
        let what = "`codex exec` does not ask before it changes files, and here nothing else would stop it";
        return Err(Unsupported::new(what).with_hint("use approval mode autoEdit or autoAll, or sandbox mode readOnly"));
    }
    if order.confined {
        rules.without("shell_tool");
        rules.weaker.push("nobody can be asked in a one-shot, so commands are switched off".to_owned());
        return Ok("danger-full-access");
    }
    rules.weaker.push(
        "nobody can be asked in a one-shot, so nothing can be changed; a command that tries leaves no trace".to_owned(),
    );
    Ok("read-only")
}

/// `=`, because an image's flag takes all words that follow it.
fn images(order: &Order<'_>) -> Result<Vec<String>, Unsupported> {
    let flag = |image: &crate::Image| {
        let path = image.path.as_ref().map(|path| order.cwd.join(path).to_string_lossy().into_owned());
        path.filter(|path| !path.contains(',')).map(|path| format!("--image={path}")).ok_or_else(|| {
            Unsupported::new("`codex exec` takes images only as files, without a comma in their path")
                .with_hint("run it in the two-way form, without one-shot")
        })
    };
    order.prompt.images.iter().map(flag).collect()
}

/// A value as TOML, in one line. TOML's texts are JSON's, but for one character.
fn toml_of(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{}={}", toml_of(&json!(key)), toml_of(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(toml_of).collect::<Vec<_>>().join(",")),
        Value::Null => "\"\"".to_owned(),
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}
