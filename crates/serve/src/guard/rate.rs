//! How often a client may ask. Anonymous clients are counted apart from those with the token: a flood without it does
//! not affect its owner, even from the same address (a proxy, a NAT, this machine). What is remembered of clients is bounded: where there are too many to keep apart, those
//! that are new share what is left.

use std::{num::NonZeroU32, time::Duration};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock as _};

use super::Refusal;
use crate::listen::Client;

/// So many clients are kept apart.
const CLIENTS: usize = 10_000;

/// Requests without a right token, a second and at once.
const FAILURES: (NonZeroU32, NonZeroU32) = (NonZeroU32::MIN.saturating_add(9), NonZeroU32::MIN.saturating_add(29));

/// How many times the requests of a second may come at once.
const BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// How many requests a client may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As many as it likes.
    Unlimited,
    /// So many a second, and four times as many at once.
    PerSecond(NonZeroU32),
}

impl Default for Rate {
    fn default() -> Self {
        Self::PerSecond(NonZeroU32::MIN.saturating_add(499))
    }
}

/// What clients have asked lately.
pub struct Meter {
    requests: Option<RequestLimiters>,
    failures: Limiter,
}

struct RequestLimiters {
    authenticated: Limiter,
    anonymous: Limiter,
}

type Limiter = DefaultKeyedRateLimiter<Client>;

impl Meter {
    pub fn new(rate: Rate) -> Self {
        let limiter = |(rate, burst)| RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst));
        let requests = match rate {
            Rate::Unlimited => None,
            Rate::PerSecond(rate) => Some((rate, rate.saturating_mul(BURST))),
        };
        let requests =
            requests.map(|quota| RequestLimiters { authenticated: limiter(quota), anonymous: limiter(quota) });
        Self { requests, failures: limiter(FAILURES) }
    }

    /// Counts a request of a client.
    pub fn request(&self, client: Client, is_authenticated: bool) -> Result<(), Refusal> {
        let Some(limiters) = &self.requests else { return Ok(()) };
        let limiter = if is_authenticated { &limiters.authenticated } else { &limiters.anonymous };
        check(limiter, client).map_err(Refusal::TooMany)
    }

    /// A client has asked without a right token.
    pub fn failure(&self, client: Client) -> Refusal {
        check(&self.failures, client).map_or_else(Refusal::TooManyFailures, |()| Refusal::Unauthorized)
    }
}

fn check(limiter: &Limiter, client: Client) -> Result<(), Duration> {
    if limiter.len() >= CLIENTS {
        // Those who have not asked for a while are as if they had never asked.
        limiter.retain_recent();
    }
    let client = if limiter.len() < CLIENTS { client } else { Client::Crowd };
    limiter.check_key(&client).map_err(|not_until| not_until.wait_time_from(limiter.clock().now()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::{CLIENTS, Meter, Rate, Refusal};
    use crate::listen::Client;

    #[test]
    fn who_asks_too_often_waits_and_others_do_not() {
        let meter = Meter::new(Rate::PerSecond(NonZeroU32::MIN));
        let ask = |user| meter.request(Client::User(user), true);
        assert_eq!((0..4).filter(|_| ask(1).is_ok()).count(), 4);
        assert!(matches!(ask(1), Err(Refusal::TooMany(_))));
        assert!(ask(2).is_ok());
        let open = Meter::new(Rate::Unlimited);
        assert!((0..100_000).all(|_| open.request(Client::User(1), true).is_ok()));
    }

    #[test]
    fn anonymous_requests_do_not_count_for_the_client_with_the_token() {
        let meter = Meter::new(Rate::PerSecond(NonZeroU32::MIN));
        assert!((0..1000).any(|_| meter.request(Client::User(1), false).is_err()), "anonymous clients have no limit");
        assert!(meter.request(Client::User(1), true).is_ok());
    }

    #[test]
    fn guessing_is_slow() {
        let meter = Meter::new(Rate::default());
        let told = (0..40).map(|_| meter.failure(Client::User(1)));
        assert_eq!(told.take_while(|refusal| *refusal == Refusal::Unauthorized).count(), 30);
    }

    #[test]
    fn a_crowd_takes_no_more_memory() {
        let meter = Meter::new(Rate::PerSecond(NonZeroU32::MIN));
        let users = u32::try_from(2 * CLIENTS).unwrap();
        let passed = (0..users).filter(|user| meter.request(Client::User(*user), true).is_ok()).count();
        assert!(passed < 2 * CLIENTS, "the crowd has no limit");
        assert!(meter.requests.as_ref().unwrap().authenticated.len() <= CLIENTS + 1);
    }
}
