//! Decisions of requests: by a client, by the settings, or after a timeout. No answer never means approval.

use std::{collections::BTreeMap, time::Duration};

use switchboard_agents::{RequestAnswer, RequestDecision};
use switchboard_engine::{CommandError, RequestAudience, StartRequest};
use switchboard_event::{ApprovalMode, EventBody};

use crate::fixtures::{
    EngineFixture, answer, end_reason, remaining_events, resolutions, wait_for_event, wait_for_request,
};

#[tokio::test]
async fn the_first_answer_counts() {
    let fixture = EngineFixture::new();
    let session = fixture.start(fixture.script("approve rm x\napprove rm y")).await;
    let mut follower = session.follow();
    let first = wait_for_request(&mut follower).await;
    session.answer_request(answer(&first, RequestDecision::Allow)).await.unwrap();
    let again = session.answer_request(answer(&first, RequestDecision::Decline)).await;
    assert!(matches!(again, Err(CommandError::NotOpen)), "{again:?}");
    let second = wait_for_request(&mut follower).await;
    session.answer_request(answer(&second, RequestDecision::Decline)).await.unwrap();
    let events = remaining_events(&mut session.follow()).await;
    assert_eq!(resolutions(&events), ["Allowed by Client", "Declined by Client"]);
    assert_eq!(end_reason(&events), "Completed");
}

#[tokio::test]
async fn an_invalid_answer_leaves_the_request_open() {
    let fixture = EngineFixture::new();
    let session = fixture.start(fixture.script("ask Why? | A | B")).await;
    let mut follower = session.follow();
    let request = wait_for_request(&mut follower).await;
    for bad in [
        answer(&request, RequestDecision::Allow),
        RequestAnswer {
            answers: BTreeMap::from([("other".to_owned(), vec![])]),
            ..answer(&request, RequestDecision::Allow)
        },
        RequestAnswer { input: Some(switchboard_event::to_raw_json(&1)), ..answer(&request, RequestDecision::Allow) },
    ] {
        let refused = session.answer_request(bad).await;
        assert!(matches!(refused, Err(CommandError::BadAnswer(_))), "{refused:?}");
    }
    let answers = request.questions.iter().map(|question| (question.id.clone(), vec!["A".to_owned()])).collect();
    session.answer_request(RequestAnswer { answers, ..answer(&request, RequestDecision::Allow) }).await.unwrap();
    assert_eq!(resolutions(&remaining_events(&mut follower).await), ["Answered by Client"]);
}

#[tokio::test]
async fn without_a_client_requests_are_declined_and_reported() {
    let fixture = EngineFixture::new();
    let request = StartRequest { audience: RequestAudience::None, ..fixture.script("approve rm x\nask Why? | A") };
    let events = fixture.play(request).await;
    assert_eq!(resolutions(&events), ["Declined by Policy", "Declined by Policy"]);
    let notices = events.iter().filter(|event| match &event.body {
        EventBody::Notice(notice) => notice.text.as_deref().is_some_and(|text| text.contains("no client can answer")),
        _ => false,
    });
    assert_eq!(notices.count(), 2);
}

#[tokio::test]
async fn requests_without_an_answer_in_time_are_declined() {
    let fixture = EngineFixture::new();
    let mut request = fixture.script("approve rm x\ntext later");
    request.timeouts.approval = Duration::from_millis(50);
    let events = fixture.play(request).await;
    assert_eq!(
        (resolutions(&events), end_reason(&events)),
        (vec!["Expired by Timeout".to_owned()], "Completed".to_owned())
    );
    let expires = events.iter().find_map(|event| match &event.body {
        EventBody::RequestOpened(request) => request.expires_at.map(|at| at.millis_since(event.at)),
        _ => None,
    });
    assert_eq!(expires, Some(50));
}

#[tokio::test]
async fn the_settings_decide_first() {
    let fixture = EngineFixture::new();
    let list = |tool: &str| Some(vec![tool.to_owned()]);
    for (mode, allowed, blocked, expected) in [
        (ApprovalMode::Ask, list("command"), None, "Allowed by Policy"),
        (ApprovalMode::Ask, None, list("run"), "Declined by Policy"),
        (ApprovalMode::AutoEdit, None, list("command"), "Declined by Policy"),
    ] {
        let mut request = fixture.script("approve rm x");
        request.config.approval_mode = Some(mode);
        (request.config.allowed_tools, request.config.blocked_tools) = (allowed, blocked);
        assert_eq!(resolutions(&fixture.play(request).await), [expected], "{mode:?}");
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_by_an_answer_is_over() {
    let fixture = EngineFixture::new();
    let session = fixture.start(fixture.script("approve rm x\ntext never")).await;
    let mut follower = session.follow();
    let request = wait_for_request(&mut follower).await;
    session.answer_request(answer(&request, RequestDecision::Cancel)).await.unwrap();
    let status = wait_for_event(&mut follower, |body| match body {
        EventBody::TurnCompleted(turn) => Some(format!("{:?}", turn.status)),
        _ => None,
    })
    .await;
    assert_eq!(status, "Interrupted");
    assert_eq!(format!("{:?}", session.wait_for_outcome().await.reason), "Some(Cancelled)");
}
