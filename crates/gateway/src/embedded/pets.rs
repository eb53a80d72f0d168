//! The pet channel's way in (docs/protocol/pet-channel.md, "Connection"). Everything is checked before the
//! upgrade, so that whoever is refused gets a status and a reason.

use super::door::noted;
use super::port::Arrival;
use super::{Backend, Serving, stranger};
use crate::READ_BYTES;
use crate::pet::server::{self, Unseated};
use crate::session::Locked;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{ConnectInfo, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use countersign_protocol::pet::{MAX_ACTION_BYTES, SESSION_PARAM, SessionId, TOKEN_PARAM};
use futures_util::StreamExt as _;
use zeroize::Zeroizing;

/// Longest frame that is read, in bytes: what is a little longer than allowed is told so before the
/// connection ends.
const MAX_READ_BYTES: usize = 4 * MAX_ACTION_BYTES;

/// Lets a client in that has the channel's token and names a session that no other connection has.
pub(super) async fn upgrade<B: Backend>(
    State(serving): State<Serving<B>>,
    ConnectInfo(Arrival(place)): ConnectInfo<Arrival>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if let Some(why) = stranger(place.address, &headers) {
        return refused(StatusCode::FORBIDDEN, why);
    }
    // Before the token is looked at: a page of a browser can send requests without an Origin, though none of
    // these, and must not lock the door with guesses.
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Serving { gateway, connections, stop } = serving;
    let Some(wanted) = gateway.pets.token() else { return unseated(Unseated::Closed) };
    let Query { session, token } = match Query::read(query.as_deref().unwrap_or_default()) {
        Ok(query) => query,
        Err(twice) => return refused(StatusCode::BAD_REQUEST, &twice.to_string()),
    };
    let given = bearer(&headers).or(token);
    let given = given.as_ref().map(|given| given.as_str());
    let checked = gateway.door().check(place.peer, None, given, wanted.expose());
    if let Err(locked) = checked {
        noted(&gateway.places, place.peer, locked);
        return locked_out(locked);
    }
    place.known();
    let id = match SessionId::parse(session.as_deref().unwrap_or_default()) {
        Ok(id) => id,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let seated = match gateway.pets.seat(id) {
        Ok(seated) => seated,
        Err(error) => return unseated(error),
    };
    upgrade
        .read_buffer_size(READ_BYTES)
        .max_message_size(MAX_READ_BYTES)
        .max_frame_size(MAX_READ_BYTES)
        .on_upgrade(move |socket| {
            let (outgoing, incoming) = socket.split();
            connections.track_future(server::run(seated, incoming, outgoing, stop))
        })
}

/// What the address says behind its question mark.
#[derive(Default)]
struct Query {
    session: Option<String>,
    token: Option<Zeroizing<String>>,
}

/// Something is there twice: which one was meant?
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}: expected it once")]
struct Twice(&'static str);

impl Query {
    fn read(query: &str) -> Result<Self, Twice> {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let was_there = match name.as_ref() {
                SESSION_PARAM => read.session.replace(value.into_owned()).map(|_| SESSION_PARAM),
                TOKEN_PARAM => read.token.replace(Zeroizing::new(value.into_owned())).map(|_| TOKEN_PARAM),
                _ => None,
            };
            if let Some(name) = was_there {
                return Err(Twice(name));
            }
        }
        Ok(read)
    }
}

/// The token of an `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<Zeroizing<String>> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Zeroizing::new(token.trim().to_owned()))
}

fn locked_out(locked: Locked) -> Response {
    match locked {
        Locked::Missing => refused(
            StatusCode::UNAUTHORIZED,
            "expected the token of the pet channel, as Authorization: Bearer or ?token=",
        ),
        Locked::Mismatch => refused(StatusCode::UNAUTHORIZED, "this is not the token of the pet channel"),
        Locked::RateLimited(after_ms) => {
            let mut response =
                refused(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens came; the door is locked");
            let after_s = HeaderValue::from(after_ms.div_ceil(1_000));
            response.headers_mut().insert(header::RETRY_AFTER, after_s);
            response
        }
    }
}

fn unseated(why: Unseated) -> Response {
    let status = match why {
        Unseated::Closed => StatusCode::NOT_FOUND,
        Unseated::Taken => StatusCode::CONFLICT,
        Unseated::Full => StatusCode::SERVICE_UNAVAILABLE,
    };
    refused(status, &why.to_string())
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_with_its_escapes_and_nothing_is_there_twice() {
        let check = |query: &str, session: Option<&str>, token: Option<&str>| {
            let read = Query::read(query).ok().unwrap();
            assert_eq!(read.session.as_deref(), session, "{query}");
            assert_eq!(read.token.as_ref().map(|token| token.as_str()), token, "{query}");
        };
        check("", None, None);
        check("sessionId=main", Some("main"), None);
        check("x=1&token=a%2Bb&sessionId=agent%3Amain+1&y", Some("agent:main 1"), Some("a+b"));
        check("sessionId", Some(""), None);
        check("SessionId=main", None, None);
        assert_eq!(Query::read("sessionId=a&sessionId=a").err(), Some(Twice("sessionId")));
        assert_eq!(Query::read("token=a&sessionId=a&token=").err(), Some(Twice("token")));
    }

    #[test]
    fn a_bearer_is_read_from_its_header_alone() {
        let check = |value: &str, expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            assert_eq!(bearer(&headers).as_ref().map(|token| token.as_str()), expected, "{value}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer  abc ", Some("abc"));
        check("Basic abc", None);
        check("Bearer", None);
        check("abc", None);
        assert!(bearer(&HeaderMap::new()).is_none());
    }
}
