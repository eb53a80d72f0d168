//! How WebKit draws the pages, chosen before GTK starts.
//!
//! The pages are still text. On the processor the first prompt of a process is there in a third of the time
//! (no GL to set up, no shaders to compile), takes less memory, and does not depend on a driver: a prompt
//! that stays blank on some graphics card could not be answered.
//!
//! It has to be chosen for the process. A view whose settings turn acceleration off has begun with it
//! already, and its web process then gives up its compositor: when a compositor of Wayland sizes the window
//! at that moment, as tiling ones do with every new window, the web process (WebKitGTK 2.50) locks what is no
//! longer there and ends.

use gtk::glib;
use std::ffi::OsStr;

/// Belongs at the beginning of `main`, while this process has no other thread. Leaves alone what
/// the person chose.
pub(crate) fn choose() {
    if std::env::var_os(DRAWS_ON_PROCESSOR).is_some() {
        return;
    }
    if let Err(error) = glib::setenv(DRAWS_ON_PROCESSOR, OsStr::new("1"), false) {
        // Then pages are drawn as WebKit likes best, which is slower.
        tracing::warn!(%error, "the renderer could not be chosen");
    }
}

/// Read by WebKit when its first view is made.
const DRAWS_ON_PROCESSOR: &str = "WEBKIT_DISABLE_COMPOSITING_MODE";
