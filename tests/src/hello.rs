//! A server of this machine that says hello to whoever asks.

use std::io::{BufRead as _, BufReader, Result, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// Starts one on a free port of loopback. It answers one request after the other until the stories end.
pub fn hello() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = (&stream)
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello\n");
        }
    });
    Ok(address)
}

/// A program of Perl that answers so too, at the port that is its first argument, as often as the second says
/// or without end. It makes the file `up` when it can be asked.
pub const SERVER: &str = r#"use IO::Socket::IP;
my $server = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => shift, Listen => 5, ReuseAddr => 1) or die $@;
open my $up, '>', 'up' or die $!;
close $up;
$| = 1;
my $left = shift // -1;
print "ready\n";
while ($left-- and my $client = $server->accept) {
  while (defined(my $line = <$client>)) { last if $line eq "\r\n" }
  print $client "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello\n";
  close $client;
}
"#;
