//! What has to hold of what a box sends, whatever it is. Only there for `tests/fuzz`.

use crate::destination::{Destination, Host};
use crate::first::{First, LOOKED_AT, inspect};
use crate::groups::groups;
use crate::place::Place;
use crate::said::{Client, framed};

/// What the relay says is refused or within its bounds, and reads the same when it is said again.
pub fn said_of_a_client(json: &[u8]) {
    let Ok(client) = Client::parse(json) else { return };
    let again = framed(&client).unwrap();
    assert_eq!(Client::parse(&again[2..]).unwrap(), client);
}

/// A destination has one spelling, which is plain text, and is in one place.
pub fn destination(text: &str) {
    let Ok(destination) = Destination::parse(text, Some(443)) else { return };
    let shown = destination.to_string();
    assert!(shown.bytes().all(|byte| byte.is_ascii_graphic()), "{shown:?}");
    assert_eq!(Destination::parse(&shown, None).as_ref(), Ok(&destination), "{shown}");
    assert_eq!(shown, shown.to_ascii_lowercase());
    let covering = groups().iter().filter(|group| group.covers(&destination));
    for group in covering {
        assert!(matches!(destination.host, Host::Name(_)), "{} covers {shown}", group.id);
        assert_eq!(Place::promised_by(&destination.host), Place::Internet, "{shown}");
    }
}

/// The first bytes of a tunnel are waited for only so long, and a refusal of the beginning is
/// one of the whole.
pub fn first_bytes(bytes: &[u8]) {
    let Ok(asked) = Destination::parse("static.crates.io:443", None) else { return };
    if bytes.is_empty() {
        return;
    }
    let whole = inspect(bytes, &asked, Place::Internet);
    assert!(bytes.len() < LOOKED_AT || !matches!(whole, First::More));
    let half = inspect(&bytes[..bytes.len().div_ceil(2)], &asked, Place::Internet);
    if matches!(half, First::Refuse(_)) {
        assert!(matches!(whole, First::Refuse(_)), "{whole:?}");
    }
}
