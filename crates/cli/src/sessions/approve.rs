//! `switchboard sessions approve`: answers an agent's request, from any terminal.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use switchboard_client::{AgentError, Approval, ApprovalAnswer, ApprovalDecision, RemoteServer};
use switchboard_event::{Id, OptionKind, Question};

use super::{find_session, remote};
use crate::{
    data,
    failure::Failure,
    host,
    remote::{ServerClient, server_failure},
    terminal::print_note,
    view::sanitize::{reveal_hidden, sanitize_line},
};

/// Answer an agent's request
///
/// Without options, the request is approved once. If only one request is open, its ID may be omitted; otherwise the
/// open requests are listed.
#[derive(Args)]
pub struct ApproveArgs {
    /// Session: an ID or its beginning, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// Request: its ID or the beginning of it
    #[arg(value_name = "REQUEST")]
    request: Option<String>,
    /// Decline; the agent continues
    #[arg(long, conflicts_with_all = ["cancel", "for_session", "answer"])]
    decline: bool,
    /// Decline and stop the turn
    #[arg(long, conflicts_with_all = ["for_session", "answer"])]
    cancel: bool,
    /// Approve this and similar requests until the session ends
    #[arg(long)]
    for_session: bool,
    /// Message for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Answer to a question, by its ID, number or text; for a single question, the answer alone suffices
    #[arg(long, value_name = "QUESTION=ANSWER")]
    answer: Vec<String>,
    /// ID of one of the options that the agent offers
    #[arg(long, value_name = "ID")]
    option: Option<String>,
}

pub fn run(args: &ApproveArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_directory(data)?;
    let log = data::open_log(Some(folder.clone()))?;
    let session = find_session(&*log, &args.session)?;
    let remote = remote::connect_running(&folder, &session)?;
    host::build_runtime()?.block_on(async {
        let explained = |error| remote::explain_remote_error(&*log, &session, error);
        args.answer_request(&remote, &session.id, explained).await
    })
}

pub fn run_on_server(args: &ApproveArgs, server: &ServerClient) -> Result<(), Failure> {
    let session = server.find_session(&args.session)?;
    if session.state.is_final() {
        return Err(remote::ended_error(&session.id, session.state.name()));
    }
    server.runtime.block_on(args.answer_request(&server.server, &session.id, server_failure))
}

impl ApproveArgs {
    async fn answer_request(
        &self,
        server: &RemoteServer,
        session: &Id,
        explain: impl Fn(AgentError) -> Failure,
    ) -> Result<(), Failure> {
        let open = server.list_approvals(session).await.map_err(&explain)?;
        let request = self.chosen(&open)?;
        let answer = self.answered(request)?;
        server.answer_approval(session, &request.id, &answer).await.map_err(&explain)?;
        print_note(&format!("{}: {}", decision_word(answer.decision, request), request_line(request)));
        Ok(())
    }

    fn chosen<'a>(&self, open: &'a [Approval]) -> Result<&'a Approval, Failure> {
        let named = |request: &&Approval| self.request.as_ref().is_none_or(|id| request.id.starts_with(id.as_str()));
        let exact = open.iter().find(|request| self.request.as_deref() == Some(&*request.id));
        let mut meant = open.iter().filter(named);
        match (exact, meant.next(), meant.next()) {
            (Some(request), ..) | (None, Some(request), None) => Ok(request),
            (None, None, _) if open.is_empty() => Err(Failure::Refused("the agent has no open request".to_owned())),
            (None, None, _) => {
                Err(Failure::Refused(format!("no such request; open requests:\n{}", request_list(open))))
            }
            (None, Some(_), Some(_)) => Err(Failure::Refused(format!("which request?\n{}", request_list(open)))),
        }
    }

    fn answered(&self, request: &Approval) -> Result<ApprovalAnswer, Failure> {
        Ok(ApprovalAnswer {
            decision: self.decision(request),
            option: self.option.clone(),
            reason: self.reason.clone(),
            input: None,
            answers: self.answers(&request.questions)?,
        })
    }

    /// Returns the decision; an option implies one.
    fn decision(&self, request: &Approval) -> ApprovalDecision {
        let option = request.options.iter().find(|option| Some(&option.id) == self.option.as_ref());
        match (option.map(|option| option.kind), self) {
            (_, Self { decline: true, .. }) | (Some(OptionKind::Reject), _) => ApprovalDecision::Decline,
            (_, Self { cancel: true, .. }) | (Some(OptionKind::Cancel), _) => ApprovalDecision::Cancel,
            (_, Self { for_session: true, .. }) => ApprovalDecision::AcceptForSession,
            (Some(OptionKind::AllowSession | OptionKind::AllowAlways), _) => ApprovalDecision::AcceptForSession,
            (Some(OptionKind::AllowOnce) | None, _) => ApprovalDecision::Accept,
        }
    }

    fn answers(&self, questions: &[Question]) -> Result<BTreeMap<String, Vec<String>>, Failure> {
        let mut answers = BTreeMap::<String, Vec<String>>::new();
        for typed in &self.answer {
            let (question, answer) = match_question(typed, questions)?;
            answers.entry(question).or_default().push(answer);
        }
        Ok(answers)
    }
}

/// Returns the question and the answer to it.
fn match_question(typed: &str, questions: &[Question]) -> Result<(String, String), Failure> {
    let named = typed.split_once('=').and_then(|(name, answer)| {
        let number: Option<usize> = name.parse().ok();
        let mut all = questions.iter().zip(1..);
        let is_meant = |question: &Question, at| question.id == name || question.question == name || number == Some(at);
        let (question, _) = all.find(|(question, at)| is_meant(question, *at))?;
        Some((question.id.clone(), answer.to_owned()))
    });
    match (named, questions) {
        (Some(named), _) => Ok(named),
        (None, [only]) => Ok((only.id.clone(), typed.to_owned())),
        (None, _) => {
            let cause =
                if questions.is_empty() { "the request has no questions".to_owned() } else { question_list(questions) };
            Err(Failure::BadValue { option: "--answer", cause })
        }
    }
}

fn question_list(questions: &[Question]) -> String {
    let lines =
        questions.iter().zip(1..).map(|(question, at)| format!("  {at}  {}", sanitize_line(&question.question)));
    format!("which question? use QUESTION=ANSWER\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn request_list(open: &[Approval]) -> String {
    let lines = open.iter().map(|request| format!("  {}  {}", sanitize_line(&request.id), request_line(request)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats a request in one line. Nothing is cut: the user must see all of it before agreeing.
fn request_line(request: &Approval) -> String {
    let questions = request.questions.iter().map(|question| question.question.clone()).collect::<Vec<_>>().join(" · ");
    let changes = request.changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>().join(" ");
    let what = match &request.command {
        Some(command) => format!("$ {command}"),
        None if !questions.is_empty() => questions,
        None if !changes.is_empty() => format!("→ edit {changes}"),
        None => request.title.clone(),
    };
    reveal_hidden(&what).replace('\n', " ⏎ ")
}

fn decision_word(decision: ApprovalDecision, request: &Approval) -> &'static str {
    match decision {
        ApprovalDecision::Accept if request.questions.is_empty() => "allowed",
        ApprovalDecision::Accept => "answered",
        ApprovalDecision::AcceptForSession => "allowed for the session",
        ApprovalDecision::Decline => "declined",
        ApprovalDecision::Cancel => "declined, and the turn stops",
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::Question;

    use super::match_question;

    fn questions(ids: &[&str]) -> Vec<Question> {
        let question = |id: &&str| Question { id: (*id).to_owned(), question: format!("{id}?"), ..Question::default() };
        ids.iter().map(question).collect()
    }

    #[test]
    fn an_answer_finds_its_question() {
        let two = questions(&["color", "size"]);
        let is = |typed: &str, id: &str, answer: &str| {
            assert_eq!(match_question(typed, &two).unwrap(), (id.to_owned(), answer.to_owned()));
        };
        is("color=red", "color", "red");
        is("size?=a=b", "size", "a=b");
        is("2=small", "size", "small");
        assert!(match_question("red", &two).is_err(), "the question is ambiguous");
        assert!(match_question("shape=round", &two).is_err());
        let one = questions(&["color"]);
        assert_eq!(match_question("a=b", &one).unwrap(), ("color".to_owned(), "a=b".to_owned()));
        assert!(match_question("yes", &[]).is_err());
    }
}
