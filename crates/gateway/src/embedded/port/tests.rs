//! Who gets a place.

use super::*;
use pretty_assertions::assert_eq;
use std::net::{IpAddr, Ipv4Addr};

const OWN: Peer = Peer::User(1_000);

fn from(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn places() -> Arc<Places> {
    Arc::new(Places::new(1_000, || 0))
}

/// Takes as many as there are, and keeps them.
fn flood(places: &Arc<Places>, peer: Peer) -> Vec<Arc<Admission>> {
    std::iter::from_fn(|| places.take(peer, from(1))).collect()
}

#[test]
fn who_floods_takes_no_place_from_the_person_or_from_other_users() {
    let places = places();
    let unknown = Peer::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut held = Vec::new();
    for peer in [Peer::User(1_001), Peer::User(0), unknown] {
        let taken = flood(&places, peer);
        assert_eq!(taken.len(), MAX_UNKNOWN, "{peer}");
        held.extend(taken);
    }
    // Another user's agent still comes in, and again when it is known.
    let agent = Peer::User(1_002);
    for _ in 0..MAX_UNKNOWN {
        let place = places.take(agent, from(2)).expect("a place for an agent");
        place.known();
        held.push(place);
    }
    held.extend(flood(&places, agent));
    assert_eq!(places.taken().by[&agent].all, MAX_OF_OTHER);
    // However many users there are, the person's programs come in, and can be as many as ever.
    for uid in 2_000..2_100 {
        held.extend(flood(&places, Peer::User(uid)));
    }
    assert_eq!(places.taken().others, MAX_OTHERS);
    let mut own = 0;
    while let Some(place) = places.take(OWN, from(3)) {
        place.known();
        held.push(place);
        own += 1;
    }
    assert_eq!(own, MAX_CONNECTIONS - MAX_OTHERS);
    assert!(places.turned_away().iter().any(|one| one.peer == unknown && one.cause == Cause::Connections));
    drop(held);
    assert_eq!(places.taken().all, 0);
    assert_eq!(places.taken().others, 0);
    assert!(places.taken().by.is_empty());
}

#[test]
fn programs_of_the_person_that_say_nothing_are_bounded_too() {
    let places = places();
    let mut held = flood(&places, OWN);
    assert_eq!(held.len(), MAX_OWN_UNKNOWN);
    held.pop().unwrap().known();
    assert!(places.take(OWN, from(1)).is_some(), "the end of one makes room");
}

#[tokio::test(start_paused = true)]
async fn what_is_read_grows_with_what_is_known_of_who_sends_it() {
    let places = places();
    let place = places.take(OWN, from(1)).unwrap();
    let allowance = Limits::allowance(&place);
    assert_eq!(allowance.bytes, MAX_UNKNOWN_BYTES);
    assert_eq!(allowance.until, Some(Instant::now() + HEAD_WAIT));
    place.took(MAX_UNKNOWN_BYTES - 1);
    assert_eq!(Limits::allowance(&place).bytes, 1);
    place.upgraded();
    let allowance = Limits::allowance(&place);
    assert_eq!((allowance.bytes, allowance.until), (MAX_UNKNOWN_BYTES, None));
    place.known();
    place.took(MAX_UNKNOWN_BYTES);
    assert_eq!(Limits::allowance(&place).bytes, usize::MAX);
}

#[test]
fn the_answer_without_a_place_says_how_long_it_is() {
    let text = String::from_utf8(NO_PLACE.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
}
