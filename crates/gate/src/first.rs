//! The first bytes of a tunnel: they must not name another host than the one that was judged.
//!
//! A ClientHello names one in its SNI, a plain HTTP request in its `Host` and its target. An address that was
//! asked for agrees with no name: the name would say what is really reached. With encrypted ClientHello the
//! outer name is looked at, so it works only where both are the same. What is neither TLS nor HTTP says
//! nothing that could be looked at and passes.

use crate::destination::{Destination, Host};
use crate::place::Place;
use crate::wish::Refusal;
use rustls::server::Acceptor;

/// What the bytes so far come to.
#[derive(Debug)]
pub(crate) enum First {
    /// More of them are needed.
    More,
    /// They name nothing else.
    Pass,
    /// They do, or cannot be read.
    Refuse(Refusal),
}

/// Bytes that are looked at. A ClientHello has 2 KiB with keys of today, a request with cookies 8.
pub(crate) const LOOKED_AT: usize = 16 * 1024;

/// Headers of a request.
const HEADERS: usize = 128;

/// Judges the first bytes of a tunnel to `asked`. They are not empty.
pub(crate) fn inspect(bytes: &[u8], asked: &Destination, place: Place) -> First {
    let first = match bytes {
        // A handshake record of TLS or SSL 3.
        [0x16] => First::More,
        [0x16, 3, ..] => tls(bytes, asked),
        _ if PREFACE.starts_with(bytes) => First::More,
        _ if bytes.starts_with(PREFACE) => match place {
            // Many names share an address there. Elsewhere the address is what was judged.
            Place::Internet => First::Refuse(Refusal::PlainHttp2),
            Place::Private | Place::LinkLocal | Place::ThisMachine | Place::Metadata | Place::Unroutable => {
                First::Pass
            }
        },
        _ => http(bytes, asked),
    };
    match first {
        First::More if bytes.len() >= LOOKED_AT => First::Refuse(Refusal::Unreadable),
        first => first,
    }
}

/// How HTTP/2 without TLS begins (RFC 9113, section 3.4): the part that is read as a request.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

fn tls(mut bytes: &[u8], asked: &Destination) -> First {
    let mut acceptor = Acceptor::default();
    while !bytes.is_empty() {
        match acceptor.read_tls(&mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_) => return First::Refuse(Refusal::Unreadable),
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                return match accepted.client_hello().server_name() {
                    Some(name) if !is_asked(name, asked) => other(name),
                    Some(_) | None => First::Pass,
                };
            }
            Ok(None) => {}
            Err(_) => return First::Refuse(Refusal::Unreadable),
        }
    }
    First::More
}

fn is_asked(name: &str, asked: &Destination) -> bool {
    name.parse::<Host>().is_ok_and(|host| host == asked.host)
}

fn http(bytes: &[u8], asked: &Destination) -> First {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
    if !begins_with_method(&bytes[start..]) {
        return First::Pass;
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return First::More,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return First::Refuse(Refusal::Unreadable),
        // Servers read more as a request than the standard does. Redis has a GET too, and no
        // version behind it.
        Err(_) => {
            let line = bytes[start..].split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            return match line {
                [.., b'\n'] if line.windows(HTTP.len()).any(|word| word.eq_ignore_ascii_case(HTTP)) => {
                    First::Refuse(Refusal::Unreadable)
                }
                [.., b'\n'] => First::Pass,
                _ => First::More,
            };
        }
    }
    let target = request.path.unwrap_or_default();
    if !target.starts_with('/') && target != "*" {
        let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if !is_authority(authority, asked) {
            return other(authority);
        }
    }
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (None, _) => First::Pass,
        (Some(host), None) => match std::str::from_utf8(host.value) {
            Ok(host) if is_authority(host.trim(), asked) => First::Pass,
            Ok(host) => other(host),
            Err(_) => First::Refuse(Refusal::Unreadable),
        },
        (Some(_), Some(_)) => First::Refuse(Refusal::Unreadable),
    }
}

/// Whether a request's `Host` is what was asked for. Many clients leave out a port that is not the usual one.
fn is_authority(text: &str, asked: &Destination) -> bool {
    Destination::parse(text, Some(asked.port)).is_ok_and(|named| named == *asked)
}

/// Whether bytes are the beginning of a request, as far as they go. A message of one byte of another
/// protocol is not held.
fn begins_with_method(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| match bytes.strip_prefix(method.as_bytes()) {
        Some(rest) => rest.first().is_none_or(u8::is_ascii_whitespace),
        None => method.as_bytes().starts_with(bytes),
    })
}

/// What stands in front of a request's version.
const HTTP: &[u8] = b"HTTP/";

/// The methods of HTTP and of what extends it, as IANA lists them. Servers answer others with an error.
const METHODS: [&str; 40] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

/// Bytes of a name that is told.
const TOLD: usize = 256;

fn other(name: &str) -> First {
    let said = name[..name.floor_char_boundary(TOLD)].to_owned();
    First::Refuse(Refusal::OtherName { said })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use rustls::pki_types::ServerName;
    use std::sync::Arc;

    fn asked(text: &str) -> Destination {
        Destination::parse(text, None).unwrap()
    }

    fn check(bytes: &[u8], to: &str, expected: &str) {
        let found = match inspect(bytes, &asked(to), Place::promised_by(&asked(to).host)) {
            First::More => "more".to_owned(),
            First::Pass => "pass".to_owned(),
            First::Refuse(Refusal::OtherName { said }) => format!("other {said}"),
            First::Refuse(Refusal::PlainHttp2) => "http2".to_owned(),
            First::Refuse(_) => "unreadable".to_owned(),
        };
        assert_eq!(found, expected, "{to} {:?}", String::from_utf8_lossy(bytes));
    }

    fn hello(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn t22_a_tls_name_must_be_the_name_that_was_asked_for() {
        for (name, to, expected) in [
            ("crates.io", "crates.io:443", "pass"),
            ("CRATES.io", "crates.io:443", "pass"),
            ("evil.example", "crates.io:443", "other evil.example"),
            ("evil.example", "1.1.1.1:443", "other evil.example"),
            ("1.1.1.1", "1.1.1.1:443", "pass"),
            ("1.1.1.1", "crates.io:443", "pass"),
        ] {
            check(&hello(name), to, expected);
        }
    }

    #[test]
    fn a_hello_in_pieces_is_waited_for() {
        let hello = hello("evil.example");
        for end in 1..hello.len() {
            check(&hello[..end], "crates.io:443", "more");
        }
    }

    #[test]
    fn t22_a_hello_that_cannot_be_read_or_never_ends_is_refused() {
        check(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", "crates.io:443", "unreadable");
        let mut hello = hello("crates.io");
        hello[5] = 2;
        check(&hello, "crates.io:443", "unreadable");
        check(&[b"GET /".as_slice(), &[b'a'; LOOKED_AT]].concat(), "crates.io:80", "unreadable");
    }

    #[test]
    fn t22_a_request_must_be_for_the_host_that_was_asked_for() {
        for (request, expected) in [
            ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "pass"),
            ("GET / HTTP/1.1\r\nhOST: A.example.:8080\r\n\r\n", "pass"),
            ("GET / HTTP/1.0\r\n\r\n", "pass"),
            ("GET / HTTP/1.1\r\nHost: a.example:80\r\n\r\n", "other a.example:80"),
            ("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "other b.example"),
            ("GET / HTTP/1.1\r\nHost: me@a.example\r\n\r\n", "other me@a.example"),
            ("GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n", "unreadable"),
            ("GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "other b.example"),
            ("CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", "other b.example:443"),
            ("GET / HTTP/1.1\r\nHost : a.example\r\n\r\n", "unreadable"),
            ("GET\t/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "unreadable"),
            ("\n GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "unreadable"),
            ("GET\t/ ", "more"),
            ("\r\n", "more"),
            ("GET / HTTP/1.1\r\nHo", "more"),
            ("PRI * HT", "more"),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"),
        ] {
            check(request.as_bytes(), "a.example:8080", expected);
        }
        check(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "127.0.0.1:50051", "pass");
        check(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "127.0.0.1:80", "other b.example");
    }

    #[test]
    fn what_is_no_http_and_no_tls_passes() {
        for bytes in [
            &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
            b"EHLO me\r\n",
            b"*1\r\n$4\r\nPING\r\n",
            b"PING\r\n",
            b"GET key\r\n",
            b"get key\r\n",
            b".",
            b"hello",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"\x16\x02",
            b"\x80\x2e\x01\x03\x01",
        ] {
            check(bytes, "a.example:22", "pass");
        }
    }

    proptest! {
        #[test]
        fn what_is_refused_early_stays_refused(bytes in proptest::collection::vec(any::<u8>(), 2..200)) {
            // A client that sends in pieces gets no other answer than one that sends all at once.
            let to = asked("a.example:80");
            let whole = inspect(&bytes, &to, Place::Internet);
            let early = (1..bytes.len()).map(|end| inspect(&bytes[..end], &to, Place::Internet));
            let decided = early.into_iter().find(|first| !matches!(first, First::More)).unwrap_or(First::More);
            if matches!(decided, First::Refuse(_)) {
                prop_assert!(matches!(whole, First::Refuse(_)), "{:?}", whole);
            }
        }
    }
}
