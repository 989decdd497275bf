//! The gate that every request passes: asks each part of the guard in turn.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};

use super::{
    Caller, Rate, Refusal, Token, Unseen,
    auth::{self, Way},
    body::{Bodies, Cut},
    headers,
    origin::{self, From, Names},
    page::{self, Person},
    rate,
};
use crate::{
    listen::{Peer, SlotHandle},
    request_log::log_request,
};

/// The longest address of a request.
const LONGEST_ADDRESS: usize = 8 << 10;

/// What a guard is made of.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What lets in. Without it, everybody is in.
    pub token: Option<Token>,
    /// Names that we answer to beside our own addresses, with or without a port.
    pub hosts: Vec<String>,
    /// Origins whose pages may ask, besides our own.
    pub origins: Vec<String>,
    /// How often a client may ask.
    pub rate: Rate,
    /// What becomes of callers on this machine whose process cannot be seen.
    pub unseen: Unseen,
    /// What bodies may be.
    pub bodies: Bodies,
}

/// Stands before a router.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    token: Option<Token>,
    names: Names,
    meter: rate::Meter,
    unseen: Unseen,
    bodies: Bodies,
}

/// Where a request comes from.
struct RequestOrigin {
    peer: Peer,
    /// How the right token came; nothing for an anonymous client.
    way: Option<Way>,
    from: From,
}

/// What comes of looking at a request.
enum Passed {
    /// It goes on, with an eye on its body.
    On(Request, Cut),
    /// It is answered here.
    Answered(Response),
}

impl Guard {
    /// A guard that keeps these rules.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        let Rules { token, hosts, origins, rate, unseen, bodies } = rules;
        let names = Names { hosts, origins };
        Self(Arc::new(Inner { token, names, meter: rate::Meter::new(rate), unseen, bodies }))
    }

    /// Puts itself before a router. Who opens the page without the token sees how to get in, and nothing of the router.
    pub fn around(&self, router: Router) -> Router {
        let guarded = router.layer(DefaultBodyLimit::disable()).layer(from_fn_with_state(self.clone(), pass));
        guarded.layer(from_fn(log_request))
    }

    /// Where a request comes from, if it is meant for us at all. The token is looked at before anything is counted:
    /// requests without it, from the same address, must not use up what its owner may ask.
    fn whence(&self, request: &Request) -> Result<RequestOrigin, Refusal> {
        let peer = request.extensions().get::<Peer>().copied().ok_or(Refusal::NoHost)?;
        if request.uri().path_and_query().is_some_and(|address| address.as_str().len() > LONGEST_ADDRESS) {
            return Err(Refusal::LongAddress);
        }
        let way = self.0.token.as_ref().map_or(Some(Way::Open), |token| auth::way(token, request));
        self.0.meter.request(peer.client(), way.is_some())?;
        // No browser gets to a socket in the file system.
        let Peer::Tcp { ours, .. } = peer else { return Ok(RequestOrigin { peer, way, from: From::Nowhere }) };
        let host = self.0.names.check_host(request, ours)?;
        Ok(RequestOrigin { peer, way, from: self.0.names.check_origin(request.headers(), host)? })
    }

    async fn admit(&self, mut request: Request, origin: &RequestOrigin) -> Result<Passed, Refusal> {
        let answer = origin::preflight(&request).filter(|_| matches!(origin.from, From::Friend(_)));
        if let Some(answer) = answer.or_else(|| self.link(&request, origin.way)) {
            return Ok(Passed::Answered(answer));
        }
        self.authenticate(&mut request, origin)?;
        if origin.way.is_none() && auth::is_page(&request) {
            return Ok(Passed::Answered(page::outside()));
        }
        if let Some(slot) = request.extensions().get::<SlotHandle>().filter(|_| origin.way.is_some()) {
            slot.mark_authenticated();
        }
        let caller = request.extensions_mut().get_mut::<Caller>().ok_or(Refusal::Unseen)?;
        caller.if_unseen(self.0.unseen);
        let caller = caller.clone();
        if !auth::is_safe(request.method()) {
            caller.may_command().await?;
        }
        let (request, cut) = self.0.bodies.watch(request)?;
        Ok(Passed::On(request, cut))
    }

    /// The printed link: the token moves from the address into a cookie. Who is in anyhow may have come by an old one.
    fn link(&self, request: &Request, way: Option<Way>) -> Option<Response> {
        let token = self.0.token.as_ref()?;
        let said = auth::is_page(request).then(|| auth::in_query(request.uri())).flatten()?;
        let cookie = auth::cookie(token).filter(|_| token.is(&said));
        if cookie.is_none() && way.is_none() {
            return None;
        }
        let address = auth::without_token(request.uri());
        let mut response = StatusCode::SEE_OTHER.into_response();
        response.headers_mut().insert(header::LOCATION, HeaderValue::try_from(address).ok()?);
        if let Some(cookie) = cookie {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        Some(response)
    }

    /// Refuses a request that needs the token and has none, or that a foreign page made a browser send.
    fn authenticate(&self, request: &mut Request, origin: &RequestOrigin) -> Result<(), Refusal> {
        let is_open = auth::is_open(request) && auth::in_query(request.uri()).is_none();
        if origin.way.is_none() && !is_open {
            return Err(self.0.meter.failure(origin.peer.client()));
        }
        let is_change = !auth::is_safe(request.method()) || auth::is_upgrade(request);
        if is_change && origin.way.is_some_and(|way| is_forged(way, request, &origin.from)) {
            return Err(Refusal::Forged);
        }
        auth::forget(request.uri_mut());
        Ok(())
    }
}

/// A browser was made to ask by somebody else, as far as can be told: what it sends by itself is no proof of anything.
fn is_forged(way: Way, request: &Request, from: &From) -> bool {
    let site = request.headers().get("sec-fetch-site").map(|site| site == "same-origin" || site == "none");
    match way {
        Way::Said => false,
        Way::Cookie => *from != From::Here && site != Some(true),
        // Programs say neither.
        Way::Open => *from == From::Nowhere && site == Some(false),
    }
}

async fn pass(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let person = Person::asks(&request);
    let (passed, from) = match guard.whence(&request) {
        Ok(origin) => (guard.admit(request, &origin).await, origin.from),
        Err(refusal) => (Err(refusal), From::Nowhere),
    };
    let mut response = match passed {
        Ok(Passed::On(request, cut)) => {
            let response = next.run(request).await;
            // Whoever read the body knows only that it could not be read.
            cut.why().map_or(response, Refusal::into_response)
        }
        Ok(Passed::Answered(response)) => response,
        Err(refusal) => person.map_or_else(|| refusal.into_response(), |person| person.refuse(refusal)),
    };
    headers::secure(&mut response);
    if let From::Friend(friend) = from {
        origin::share(&mut response, friend);
    }
    response
}
