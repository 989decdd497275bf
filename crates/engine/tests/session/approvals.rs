//! Who decides, and that silence never says yes.

use std::{collections::BTreeMap, time::Duration};

use switchboard_agents::{Answer, Decision};
use switchboard_engine::{Audience, CommandError, StartRequest};
use switchboard_event::{ApprovalMode, Body};

use crate::rig::{Rig, answer, opened, reason, resolutions, rest, wait};

#[tokio::test]
async fn the_first_answer_counts() {
    let rig = Rig::new();
    let session = rig.start(rig.script("approve rm x\napprove rm y")).await;
    let mut follower = session.follow();
    let first = opened(&mut follower).await;
    session.answer(answer(&first, Decision::Allow)).await.unwrap();
    let again = session.answer(answer(&first, Decision::Decline)).await;
    assert!(matches!(again, Err(CommandError::NotOpen)), "{again:?}");
    let second = opened(&mut follower).await;
    session.answer(answer(&second, Decision::Decline)).await.unwrap();
    let events = rest(&mut session.follow()).await;
    assert_eq!(resolutions(&events), ["Allowed by Client", "Declined by Client"]);
    assert_eq!(reason(&events), "Completed");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_leaves_the_request_open() {
    let rig = Rig::new();
    let session = rig.start(rig.script("ask Why? | A | B")).await;
    let mut follower = session.follow();
    let request = opened(&mut follower).await;
    for bad in [
        answer(&request, Decision::Allow),
        Answer { answers: BTreeMap::from([("other".to_owned(), vec![])]), ..answer(&request, Decision::Allow) },
        Answer { input: Some(switchboard_event::raw(&1)), ..answer(&request, Decision::Allow) },
    ] {
        let refused = session.answer(bad).await;
        assert!(matches!(refused, Err(CommandError::BadAnswer(_))), "{refused:?}");
    }
    let answers = request.questions.iter().map(|question| (question.id.clone(), vec!["A".to_owned()])).collect();
    session.answer(Answer { answers, ..answer(&request, Decision::Allow) }).await.unwrap();
    assert_eq!(resolutions(&rest(&mut follower).await), ["Answered by Client"]);
}

#[tokio::test]
async fn nobody_there_means_no_and_it_is_said() {
    let rig = Rig::new();
    let request = StartRequest { audience: Audience::Nobody, ..rig.script("approve rm x\nask Why? | A") };
    let events = rig.play(request).await;
    assert_eq!(resolutions(&events), ["Declined by Policy", "Declined by Policy"]);
    let said = events.iter().filter(|event| match &event.body {
        Body::Notice(notice) => notice.text.as_deref().is_some_and(|text| text.contains("nobody is there to ask")),
        _ => false,
    });
    assert_eq!(said.count(), 2);
}

#[tokio::test]
async fn nobody_answers_in_time_means_no() {
    let rig = Rig::new();
    let mut request = rig.script("approve rm x\ntext later");
    request.limits.approval = Duration::from_millis(50);
    let events = rig.play(request).await;
    assert_eq!(
        (resolutions(&events), reason(&events)),
        (vec!["Expired by Timeout".to_owned()], "Completed".to_owned())
    );
    let expires = events.iter().find_map(|event| match &event.body {
        Body::RequestOpened(request) => request.expires_at.map(|at| at.millis_since(event.at)),
        _ => None,
    });
    assert_eq!(expires, Some(50));
}

#[tokio::test]
async fn the_settings_decide_first() {
    let rig = Rig::new();
    let list = |tool: &str| Some(vec![tool.to_owned()]);
    for (mode, allowed, blocked, expected) in [
        (ApprovalMode::Ask, list("command"), None, "Allowed by Policy"),
        (ApprovalMode::Ask, None, list("run"), "Declined by Policy"),
        (ApprovalMode::AutoEdit, None, list("command"), "Declined by Policy"),
    ] {
        let mut request = rig.script("approve rm x");
        request.config.approval_mode = Some(mode);
        (request.config.allowed_tools, request.config.blocked_tools) = (allowed, blocked);
        assert_eq!(resolutions(&rig.play(request).await), [expected], "{mode:?}");
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_by_an_answer_is_over() {
    let rig = Rig::new();
    let session = rig.start(rig.script("approve rm x\ntext never")).await;
    let mut follower = session.follow();
    let request = opened(&mut follower).await;
    session.answer(answer(&request, Decision::Cancel)).await.unwrap();
    let status = wait(&mut follower, |body| match body {
        Body::TurnCompleted(turn) => Some(format!("{:?}", turn.status)),
        _ => None,
    })
    .await;
    assert_eq!(status, "Interrupted");
    assert_eq!(format!("{:?}", session.outcome().await.reason), "Some(Cancelled)");
}
