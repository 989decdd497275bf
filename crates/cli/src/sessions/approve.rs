//! `switchboard sessions approve`: answers what an agent asks, from anywhere.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use switchboard_client::{Approval, ApprovalAnswer, ApprovalDecision};
use switchboard_event::{OptionKind, Question};

use super::{found, process, say};
use crate::{data, failure::Failure, host, view::clean};

/// Answer what an agent asks
///
/// Without options the answer is yes, this once. With one open request it need not be named; else they are listed.
#[derive(Args)]
pub struct Approve {
    /// The session: its id or the beginning of it, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// The request: its id or the beginning of it
    #[arg(value_name = "REQUEST")]
    request: Option<String>,
    /// No; the agent goes on
    #[arg(long, conflicts_with_all = ["cancel", "for_session", "answer"])]
    decline: bool,
    /// No, and stop the turn
    #[arg(long, conflicts_with_all = ["for_session", "answer"])]
    cancel: bool,
    /// Yes, and the like until the session ends
    #[arg(long)]
    for_session: bool,
    /// What the agent is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// An answer to a question, by its id, its number or its text; with one question the answer alone will do
    #[arg(long, value_name = "QUESTION=ANSWER")]
    answer: Vec<String>,
    /// One of the options that the agent offers, by its id
    #[arg(long, value_name = "ID")]
    option: Option<String>,
}

/// Runs the command.
pub fn run(args: &Approve, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_folder(data)?;
    let log = data::log(Some(folder.clone()))?;
    let session = found::find(&*log, &args.session)?;
    let remote = process::living(&folder, &session)?;
    host::runtime()?.block_on(async {
        let explained = |error| process::explained(&*log, &session, error);
        let open = remote.list_approvals(&session.id).await.map_err(explained)?;
        let request = args.chosen(&open)?;
        let answer = args.answered(request)?;
        remote.answer_approval(&session.id, &request.id, &answer).await.map_err(explained)?;
        say(&format!("{}: {}", word(answer.decision, request), line(request)));
        Ok(())
    })
}

impl Approve {
    /// The request that is meant.
    fn chosen<'a>(&self, open: &'a [Approval]) -> Result<&'a Approval, Failure> {
        let named = |request: &&Approval| self.request.as_ref().is_none_or(|id| request.id.starts_with(id.as_str()));
        let exact = open.iter().find(|request| self.request.as_deref() == Some(&*request.id));
        let mut meant = open.iter().filter(named);
        match (exact, meant.next(), meant.next()) {
            (Some(request), ..) | (None, Some(request), None) => Ok(request),
            (None, None, _) if open.is_empty() => Err(Failure::Refused("the agent asks nothing now".to_owned())),
            (None, None, _) => {
                Err(Failure::Refused(format!("there is no such request; these are open\n{}", list(open))))
            }
            (None, Some(_), Some(_)) => Err(Failure::Refused(format!("which request?\n{}", list(open)))),
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

    /// Yes or no; an option says it by itself.
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
            let (question, answer) = matched(typed, questions)?;
            answers.entry(question).or_default().push(answer);
        }
        Ok(answers)
    }
}

/// The question that an answer is to.
fn matched(typed: &str, questions: &[Question]) -> Result<(String, String), Failure> {
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
                if questions.is_empty() { "nothing is asked but yes or no".to_owned() } else { asked(questions) };
            Err(Failure::BadValue { option: "--answer", cause })
        }
    }
}

fn asked(questions: &[Question]) -> String {
    let lines = questions.iter().zip(1..).map(|(question, at)| format!("  {at}  {}", clean::line(&question.question)));
    format!("to which question? QUESTION=ANSWER\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// The open requests, a line each.
fn list(open: &[Approval]) -> String {
    let lines = open.iter().map(|request| format!("  {}  {}", clean::line(&request.id), line(request)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats a request in one line. Nothing is cut: the user must see all of it before agreeing.
fn line(request: &Approval) -> String {
    let questions = request.questions.iter().map(|question| question.question.clone()).collect::<Vec<_>>().join(" · ");
    let changes = request.changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>().join(" ");
    let what = match &request.command {
        Some(command) => format!("$ {command}"),
        None if !questions.is_empty() => questions,
        None if !changes.is_empty() => format!("→ edit {changes}"),
        None => request.title.clone(),
    };
    clean::exact(&what).replace('\n', " ⏎ ")
}

fn word(decision: ApprovalDecision, request: &Approval) -> &'static str {
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

    use super::matched;

    fn questions(ids: &[&str]) -> Vec<Question> {
        let question = |id: &&str| Question { id: (*id).to_owned(), question: format!("{id}?"), ..Question::default() };
        ids.iter().map(question).collect()
    }

    #[test]
    fn an_answer_finds_its_question() {
        let two = questions(&["colour", "size"]);
        let is = |typed: &str, id: &str, answer: &str| {
            assert_eq!(matched(typed, &two).unwrap(), (id.to_owned(), answer.to_owned()));
        };
        is("colour=red", "colour", "red");
        is("size?=a=b", "size", "a=b");
        is("2=small", "size", "small");
        assert!(matched("red", &two).is_err(), "nobody knows to which question that is");
        assert!(matched("shape=round", &two).is_err());
        let one = questions(&["colour"]);
        assert_eq!(matched("a=b", &one).unwrap(), ("colour".to_owned(), "a=b".to_owned()));
        assert!(matched("yes", &[]).is_err());
    }
}
