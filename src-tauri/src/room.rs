//! The size of the prompt, as its page asks for it: more for the sheet of a lasting answer, then
//! what it was before.

use tauri::{LogicalSize, PhysicalPosition, PhysicalSize, WebviewWindow};

/// A span of the screen in one direction: where it begins and how long it is.
#[derive(Clone, Copy)]
struct Span {
    from: i32,
    length: u32,
}

/// Gives the window this size in CSS pixels, or as much of it as its screen has beside panels. Its middle
/// stays where it is, as far as the window is whole then. A compositor that places windows by itself
/// does as it pleases.
pub(crate) fn fit(window: &WebviewWindow, wanted: LogicalSize<f64>) -> tauri::Result<()> {
    if window.is_maximized()? || window.is_fullscreen()? {
        return Ok(());
    }
    let Some(monitor) = window.current_monitor()? else { return Ok(()) };
    let wanted: PhysicalSize<u32> = wanted.to_physical(monitor.scale_factor());
    let (inner, outer, at) = (window.inner_size()?, window.outer_size()?, window.outer_position()?);
    let area = monitor.work_area();
    let (width, left) = within(
        Span { from: area.position.x, length: area.size.width },
        Span { from: at.x, length: outer.width },
        wanted.width.saturating_add(outer.width.saturating_sub(inner.width)),
    );
    let (height, top) = within(
        Span { from: area.position.y, length: area.size.height },
        Span { from: at.y, length: outer.height },
        wanted.height.saturating_add(outer.height.saturating_sub(inner.height)),
    );
    window.set_size(PhysicalSize::new(
        width.saturating_sub(outer.width.saturating_sub(inner.width)),
        height.saturating_sub(outer.height.saturating_sub(inner.height)),
    ))?;
    window.set_position(PhysicalPosition::new(left, top))
}

/// How long what is at `now` may become of `wanted` inside of `area`, and where it begins then.
fn within(area: Span, now: Span, wanted: u32) -> (u32, i32) {
    let length = wanted.min(area.length);
    let half = |span: Span| i64::from(span.from) + i64::from(span.length) / 2;
    let first = i64::from(area.from);
    let last = first + i64::from(area.length) - i64::from(length);
    let from = (half(now) - i64::from(length) / 2).clamp(first, last);
    (length, i32::try_from(from).unwrap_or(area.from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_around_its_middle_and_stays_on_its_screen() {
        let check = |area: (i32, u32), now: (i32, u32), wanted: u32, expected: (u32, i32)| {
            let span = |(from, length)| Span { from, length };
            assert_eq!(within(span(area), span(now), wanted), expected, "{area:?} {now:?} {wanted}");
        };
        check((0, 1920), (680, 560), 680, (680, 620));
        check((0, 1920), (620, 680), 560, (560, 680));
        // At the edges, below a panel, and on a screen beside the first one.
        check((0, 1920), (0, 560), 680, (680, 0));
        check((0, 1920), (1360, 560), 680, (680, 1240));
        check((32, 736), (100, 600), 830, (736, 32));
        check((1920, 1280), (2640, 560), 680, (680, 2520));
        check((-1280, 1280), (-1280, 560), 680, (680, -1280));
    }
}
