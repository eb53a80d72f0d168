//! A socket whose file or lock goes while it serves.

use super::*;
use crate::socket::lock::Holder;
use countersign_protocol::history::{SocketDoor, SocketLoss};
use pretty_assertions::assert_eq;
use std::fs;
use tokio::net::UnixListener;

async fn is_asked(rig: &mut Rig) {
    let stream = is_reached(rig).await;
    answers(rig, stream).await;
}

async fn is_reached(rig: &Rig) -> UnixStream {
    within(async {
        loop {
            match UnixStream::connect(rig.path()).await {
                Ok(stream) => return stream,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await
}

async fn answers(rig: &mut Rig, mut stream: UnixStream) {
    stream.write_all(format!("{}\n", question("right")).as_bytes()).await.unwrap();
    rig.asked().await.reply.send(Some(Decision::Deny)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "deny"));
}

#[tokio::test]
async fn a_removed_socket_is_bound_again_and_withdraws_nothing() {
    let mut rig = Rig::start();
    let stream = rig.send(format!("{}\n", question("right"))).await;
    let asked = rig.asked().await;
    fs::remove_file(rig.path()).unwrap();
    is_asked(&mut rig).await;
    let told = within(rig.restored.recv()).await.unwrap();
    assert_eq!(told, Restored { door: SocketDoor::Approval, lost: SocketLoss::Removed });
    assert!(!asked.call.gone.is_cancelled());
    asked.reply.send(Some(Decision::AllowOnce)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "allow-once"));
    let path = rig.path();
    rig.finish().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn a_dead_socket_that_is_moved_into_the_place_at_any_moment_is_replaced() {
    let mut rig = Rig::start();
    let (path, dead) = (rig.path(), rig.folder.path().join("dead"));
    for _ in 0..200 {
        drop(UnixListener::bind(&dead).unwrap());
        drop(fs::remove_file(&path));
        fs::rename(&dead, &path).unwrap();
        // Nothing is asked each time: so many questions in a second are a flood.
        drop(is_reached(&rig).await);
    }
    is_asked(&mut rig).await;
    rig.finish().await;
}

#[tokio::test]
async fn t02_another_program_in_the_sockets_place_is_named_and_left_alone_until_it_goes() {
    let mut rig = Rig::start();
    fs::remove_file(rig.path()).unwrap();
    // Whichever is faster: the app binds again, or finds the other one.
    let other = loop {
        match UnixListener::bind(rig.path()) {
            Ok(other) => break other,
            Err(_) => drop(fs::remove_file(rig.path())),
        }
    };
    let lost = |state: &SocketState| matches!(state, SocketState::Retrying { .. });
    let state = within(rig.state.wait_for(lost)).await.unwrap().clone();
    let SocketState::Retrying { problem } = state else { panic!("{state:?}") };
    let own = std::process::id();
    assert!(problem.contains(&format!("another program (process {own}) listens")), "{problem}");
    let caller = UnixStream::connect(rig.path()).await.unwrap();
    within(other.accept()).await.unwrap();
    drop(caller);
    drop(other);
    fs::remove_file(rig.path()).unwrap();
    within(rig.state.wait_for(|state| *state == SocketState::Listening)).await.unwrap();
    is_asked(&mut rig).await;
}

#[tokio::test]
async fn t02_a_removed_lock_is_taken_again_so_that_nobody_takes_the_app_for_absent() {
    let rig = Rig::start();
    let lock = rig.folder.path().join("s.lifecycle.lock");
    fs::remove_file(&lock).unwrap();
    within(async {
        while !matches!(Holder::of(&rig.path()), Holder::Somebody { .. }) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(lock.exists());
    rig.finish().await;
}
