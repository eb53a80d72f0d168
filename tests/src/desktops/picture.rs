//! What is on a screen, pixel by pixel, and finding in it what is told from anything else by its colour.

use anyhow::{Result, ensure};
use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Red, green, blue.
pub type Colour = [u8; 3];

/// A picture of a whole screen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Picture {
    width: usize,
    pixels: Vec<Colour>,
}

/// A rectangle of a picture, in its pixels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Area {
    /// First column.
    pub left: usize,
    /// First row.
    pub top: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Area {
    /// Its middle.
    pub fn middle(&self) -> (usize, usize) {
        (self.left + self.width / 2, self.top + self.height / 2)
    }

    /// Whether both have a pixel in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && self.top < other.top + other.height
            && other.top < self.top + self.height
    }

    /// The smallest one around both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let (left, top) = (self.left.min(other.left), self.top.min(other.top));
        Self {
            left,
            top,
            width: (self.left + self.width).max(other.left + other.width) - left,
            height: (self.top + self.height).max(other.top + other.height) - top,
        }
    }
}

impl Picture {
    /// A picture of rows of so many pixels, top to bottom.
    pub fn new(width: usize, pixels: Vec<Colour>) -> Result<Self> {
        ensure!(width > 0 && pixels.len().is_multiple_of(width), "a picture has whole rows");
        Ok(Self { width, pixels })
    }

    /// Its whole area.
    pub fn area(&self) -> Area {
        Area { left: 0, top: 0, width: self.width, height: self.pixels.len() / self.width }
    }

    /// The colour of one pixel; black outside.
    pub fn at(&self, left: usize, top: usize) -> Colour {
        let inside = left < self.width;
        inside.then(|| self.pixels.get(top * self.width + left)).flatten().copied().unwrap_or_default()
    }

    /// Everything of one colour that hangs together and is at least so wide and high, in reading order.
    /// Writing on it makes holes, which count as part of it.
    pub fn blocks(&self, colour: Colour, width: usize, height: usize) -> Vec<Area> {
        let mut seen = vec![false; self.pixels.len()];
        let mut found = Vec::new();
        // What is large enough has a pixel on a net this fine, whatever is written on it.
        let mesh = (width.min(height) / 4).max(1);
        let Area { width: columns, height: rows, .. } = self.area();
        for row in (0..rows).step_by(mesh) {
            for start in (row * columns..(row + 1) * columns).step_by(mesh) {
                if !seen[start] && alike(self.pixels[start], colour) {
                    let area = self.flood(start, colour, &mut seen);
                    if area.width >= width && area.height >= height {
                        found.push(area);
                    }
                }
            }
        }
        found
    }

    fn flood(&self, start: usize, colour: Colour, seen: &mut [bool]) -> Area {
        let one =
            |index: usize| Area { left: index % self.width, top: index / self.width, width: 1, height: 1 };
        let mut area = one(start);
        let mut todo = vec![start];
        seen[start] = true;
        while let Some(index) = todo.pop() {
            area = area.with(&one(index));
            let column = index % self.width;
            let neighbours = [
                (column > 0).then(|| index - 1),
                (column + 1 < self.width).then_some(index + 1),
                index.checked_sub(self.width),
                Some(index + self.width),
            ];
            for next in neighbours.into_iter().flatten() {
                if next < seen.len() && !seen[next] && alike(self.pixels[next], colour) {
                    seen[next] = true;
                    todo.push(next);
                }
            }
        }
        area
    }

    /// Pixels of an area that have a colour.
    pub fn count(&self, area: Area, colour: Colour) -> usize {
        self.each(area).filter(|pixel| alike(*pixel, colour)).count()
    }

    /// Pixels of an area that differ from a colour by at least this much in red, green or blue.
    pub fn contrasting(&self, area: Area, colour: Colour, by: u8) -> usize {
        let far = |pixel: &Colour| pixel.iter().zip(colour).any(|(one, other)| one.abs_diff(other) >= by);
        self.each(area).filter(far).count()
    }

    /// How many colours an area has.
    pub fn colours(&self, area: Area) -> usize {
        self.each(area).collect::<HashSet<_>>().len()
    }

    /// The smallest area that holds everything that differs from another picture of the same screen.
    pub fn difference(&self, before: &Self) -> Option<Area> {
        let differs = |index: &usize| before.pixels.get(*index) != self.pixels.get(*index);
        let one =
            |index: usize| Area { left: index % self.width, top: index / self.width, width: 1, height: 1 };
        (0..self.pixels.len()).filter(differs).map(one).reduce(|area, pixel| area.with(&pixel))
    }

    /// One area of it.
    #[must_use]
    pub fn crop(&self, area: Area) -> Self {
        Self { width: area.width.max(1), pixels: self.each(area).collect() }
    }

    /// Half as wide and as high.
    #[must_use]
    pub fn halved(&self) -> Self {
        let Area { width, height, .. } = self.area();
        let mean = |left: usize, top: usize| {
            let four =
                [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(right, down)| self.at(left + right, top + down));
            [0, 1, 2].map(|part| {
                let sum: u16 = four.iter().map(|pixel| u16::from(pixel[part])).sum();
                u8::try_from(sum / 4).unwrap_or(u8::MAX)
            })
        };
        let rows = (0..height / 2).flat_map(|row| (0..width / 2).map(move |column| (column * 2, row * 2)));
        Self { width: (width / 2).max(1), pixels: rows.map(|(left, top)| mean(left, top)).collect() }
    }

    /// Writes it as a PNG.
    pub fn save(&self, path: &Path) -> Result<()> {
        let Area { width, height, .. } = self.area();
        let mut encoder = png::Encoder::new(
            BufWriter::new(File::create(path)?),
            u32::try_from(width)?,
            u32::try_from(height)?,
        );
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        encoder.write_header()?.write_image_data(self.pixels.as_flattened())?;
        Ok(())
    }

    fn each(&self, area: Area) -> impl Iterator<Item = Colour> + '_ {
        let end = (area.left + area.width).min(self.width);
        let rows = area.top..area.top + area.height;
        rows.flat_map(move |row| (area.left..end).map(move |column| self.at(column, row)))
    }
}

/// Whether two colours are the same but for rounding.
fn alike(one: Colour, other: Colour) -> bool {
    one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= ROUNDING)
}

/// Compositors that draw with floating point are off by one.
const ROUNDING: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const INK: Colour = [31, 39, 50];

    fn picture(rows: &[&str]) -> Picture {
        let pixels = rows.iter().flat_map(|row| row.bytes());
        let pixels = pixels.map(|byte| if byte == b'#' { INK } else { [255; 3] }).collect();
        Picture::new(rows[0].len(), pixels).unwrap()
    }

    #[test]
    fn a_block_is_found_with_writing_on_it_and_beside_smaller_ones() {
        let found = picture(&["#......", "..#####", "..#.#.#", "..#####"]).blocks(INK, 3, 3);
        assert_eq!(found, [Area { left: 2, top: 1, width: 5, height: 3 }]);
    }

    #[test]
    fn the_end_of_a_row_does_not_touch_the_next_one() {
        assert_eq!(picture(&["..#", "#.."]).blocks(INK, 1, 1).len(), 2);
    }

    #[test]
    fn what_changed_is_found() {
        let (before, after) = (picture(&["....", "....", "...."]), picture(&["....", ".#..", "..#."]));
        assert_eq!(after.difference(&before), Some(Area { left: 1, top: 1, width: 2, height: 2 }));
        assert_eq!(before.difference(&before), None);
        assert_eq!(after.colours(after.area()), 2);
    }

    #[test]
    fn a_halved_picture_has_the_mean_of_four_pixels() {
        let half = picture(&["##..", "##.."]).halved();
        assert_eq!((half.area().width, half.at(0, 0), half.at(1, 0)), (2, INK, [255; 3]));
    }
}
