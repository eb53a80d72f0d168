//! What holds of the files of the history, whatever is in them. For `tests/fuzz`.

use super::files::{Backward, Forward, Line};
use super::{Anchor, chain, head};
use std::io::Cursor;

/// Lines read the same in both directions, and one that counts says the same when it is sealed again.
pub fn lines(bytes: &[u8]) {
    let mut forward = Forward::new(bytes);
    let forward: Vec<Line> = std::iter::from_fn(|| forward.next_line().unwrap()).collect();
    let mut backward = Backward::new(Cursor::new(bytes)).unwrap();
    let mut backward: Vec<Line> = std::iter::from_fn(|| backward.next_line().unwrap()).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    for line in forward {
        let (Line::Whole(line) | Line::Torn(line)) = line else { continue };
        let Ok(link) = chain::open(&line) else { continue };
        let (sealed, hash) = chain::seal(&link.entry, &link.prev).unwrap();
        let again = chain::open(sealed.trim_end().as_bytes()).unwrap();
        assert_eq!((again.entry, again.prev, again.hash), (link.entry, link.prev, hash));
    }
}

/// A note about the chains, one slot of it.
pub fn note(bytes: &[u8]) {
    let Some(head) = head::decode(bytes) else { return };
    if let Ok(written) = head::encode(&head) {
        assert_eq!(head::decode(&written), Some(head));
    }
}

/// What a person kept elsewhere.
pub fn anchor(text: &str) {
    match text.parse::<Anchor>() {
        Ok(anchor) => assert_eq!(anchor.to_string().parse(), Ok(anchor)),
        Err(error) => assert!(!error.to_string().chars().any(char::is_control)),
    }
}
