//! Leaves the keyboard where it is when a prompt comes up. What asks for it on purpose still gets it.
//!
//! X11 knows a wish for that. Wayland knows none, and compositors differ: Sway gives every new window the
//! keyboard unless it was told not to, which any program may tell it. Where one cannot be told, the page
//! takes no key that the person did not mean for it.

use gtk::prelude::GtkWindowExt;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use tauri::WebviewWindow;

/// The window leaves the keyboard where it is whenever it is shown from now on. Belongs on the main thread.
pub(crate) fn leave(window: &WebviewWindow) -> tauri::Result<()> {
    window.gtk_window()?.set_focus_on_map(false);
    Ok(())
}

/// The person opens the window: it takes the keyboard when it is shown. Belongs on the main thread.
pub(crate) fn take(window: &WebviewWindow) -> tauri::Result<()> {
    window.gtk_window()?.set_focus_on_map(true);
    Ok(())
}

/// Belongs before a prompt is shown, each time: Sway forgets it when its configuration is read again, and
/// keeps it only once.
pub(crate) fn tell_compositor() {
    let Some(socket) = std::env::var_os("SWAYSOCK").filter(|path| !path.is_empty()) else { return };
    let told = run_in_sway(Path::new(&socket), &no_focus(std::process::id()));
    if let Err(error) = told {
        tracing::debug!(%error, "sway could not be told to leave the keyboard where it is");
    }
}

/// For this process's prompts, by their titles, see `first_title`.
fn no_focus(pid: u32) -> String {
    format!("no_focus [pid={pid} title=\" – Countersign$\"]")
}

/// One command over sway-ipc(7): a magic word, length and type of the message in the machine's order, the
/// command; the same comes back with what became of it.
fn run_in_sway(socket: &Path, command: &str) -> std::io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER_WAIT))?;
    stream.set_write_timeout(Some(ANSWER_WAIT))?;
    let length = u32::try_from(command.len()).unwrap_or(u32::MAX);
    let head = [MAGIC, &length.to_ne_bytes(), &RUN_COMMAND.to_ne_bytes()].concat();
    stream.write_all(&head)?;
    stream.write_all(command.as_bytes())?;
    // Once it answers it holds.
    let mut answer = [0; HEAD_BYTES];
    stream.read_exact(&mut answer)
}

const MAGIC: &[u8] = b"i3-ipc";

const RUN_COMMAND: u32 = 0;

/// Magic word, length, type.
const HEAD_BYTES: usize = 14;

/// A compositor answers within a frame. A prompt must not wait for one that does not.
const ANSWER_WAIT: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn sway_is_told_in_its_own_frames_and_is_not_waited_for_long() {
        let folder = std::env::temp_dir().join(format!("countersign-sway-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("sway.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let compositor = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut told = vec![0; HEAD_BYTES + no_focus(7).len()];
            stream.read_exact(&mut told).unwrap();
            stream.write_all(&told[..HEAD_BYTES]).unwrap();
            let (silent, _) = listener.accept().unwrap();
            (told, silent)
        });
        run_in_sway(&socket, &no_focus(7)).unwrap();
        assert!(run_in_sway(&socket, &no_focus(7)).is_err(), "it did not answer");
        let (told, _silent) = compositor.join().unwrap();
        assert_eq!(&told[..6], b"i3-ipc");
        assert_eq!(told[HEAD_BYTES..], *no_focus(7).as_bytes());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
