//! The first picture of a window that was kept warm, without a wait for GTK's next frame.
//!
//! GTK draws a window at most every 16.7 ms, and a window that is shown begins with a frame of what was in
//! it: blank. What the page paints a moment later would wait for the next one, and from a request to the
//! screen no other wait is as long. So in the first moments after a show, what the page painted is drawn as
//! soon as it is there.

use gtk::gdk::DrawingContext;
use gtk::glib::{ControlFlow, timeout_add_local};
use gtk::prelude::*;
use std::time::{Duration, Instant};
use tauri::WebviewWindow;
use webkit2gtk::WebView;

/// Belongs before the show, on the main thread. Does nothing under Wayland: a surface there takes its first
/// picture when its compositor asked for one.
pub(crate) fn draw_at_once(window: &WebviewWindow) -> tauri::Result<()> {
    window.with_webview(|webview| {
        let view = webview.inner();
        if !view.display().backend().is_x11() {
            return;
        }
        let started = Instant::now();
        timeout_add_local(GLANCE, move || {
            if view.is_mapped() {
                draw_what_waits(&view);
            }
            match started.elapsed() < FIRST_MOMENTS {
                true => ControlFlow::Continue,
                false => ControlFlow::Break,
            }
        });
    })
}

/// What GTK would do in its next frame, which then finds nothing left to do.
fn draw_what_waits(view: &WebView) {
    let Some(surface) = view.window() else { return };
    let Some(area) = surface.update_area() else { return };
    let frame = surface.begin_draw_frame(&area);
    match frame.as_ref().and_then(DrawingContext::cairo_context) {
        Some(cairo) => view.draw(&cairo),
        // Asking for the area took it from what is still to be drawn.
        None => surface.invalidate_region(&area, false),
    }
    if let Some(frame) = frame {
        surface.end_draw_frame(&frame);
        surface.display().flush();
    }
}

/// Between two looks at what waits.
const GLANCE: Duration = Duration::from_millis(1);

/// Some times what a page takes to paint; after that GTK's frames are soon enough.
const FIRST_MOMENTS: Duration = Duration::from_millis(100);
