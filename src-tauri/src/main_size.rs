//! How large the main window may be on the screen that there is.

use tauri::{AppHandle, LogicalSize};

/// The size that the main window opens with: what it needs, or what the screen has beside frame and panel.
pub(crate) fn for_main(app: &AppHandle) -> tauri::Result<LogicalSize<f64>> {
    let Some(monitor) = app.primary_monitor()?.or(app.available_monitors()?.into_iter().next()) else {
        return Ok(WANTED);
    };
    Ok(within(monitor.work_area().size.to_logical(monitor.scale_factor())))
}

fn within(screen: LogicalSize<f64>) -> LogicalSize<f64> {
    let fit = |wanted: f64, screen: f64, around: f64, least: f64| wanted.min(screen - around).max(least);
    LogicalSize {
        width: fit(WANTED.width, screen.width, AROUND.width, LEAST.width),
        height: fit(WANTED.height, screen.height, AROUND.height, LEAST.height),
    }
}

/// Pages at this size need no folding.
const WANTED: LogicalSize<f64> = LogicalSize { width: 1160.0, height: 800.0 };

/// Below this, pages cannot be used.
pub(crate) const LEAST: LogicalSize<f64> = LogicalSize { width: 720.0, height: 480.0 };

/// A frame with its title bar, and a panel: under Wayland nobody says how large they are.
const AROUND: LogicalSize<f64> = LogicalSize { width: 32.0, height: 96.0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_window_stays_on_its_screen_and_is_never_too_small_to_use() {
        for (screen, expected) in [
            ((2560.0, 1440.0), (1160.0, 800.0)),
            ((1280.0, 800.0), (1160.0, 704.0)),
            ((1024.0, 768.0), (992.0, 672.0)),
            ((640.0, 400.0), (720.0, 480.0)),
        ] {
            let size = within(LogicalSize::from(screen));
            assert_eq!((size.width, size.height), expected, "{screen:?}");
        }
    }
}
