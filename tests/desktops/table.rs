//! `docs/desktops.md`: what every desktop keeps, with pictures.

use crate::checks::{Check, Report, Verdict};
use anyhow::Result;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes the page and its pictures into a folder of documents.
pub(crate) fn write(reports: &[Report], pictures: &Path, docs: &Path) -> Result<()> {
    let shown = docs.join("desktops");
    fs::create_dir_all(&shown)?;
    for report in reports {
        for name in PICTURES {
            let file = format!("{}-{name}.png", report.kind);
            let kept = pictures.join(&file);
            if kept.is_file() {
                fs::copy(kept, shown.join(file))?;
            }
        }
    }
    Ok(fs::write(docs.join("desktops.md"), page(reports, &shown)?)?)
}

fn page(reports: &[Report], shown: &Path) -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    let numbers: Vec<String> = (1..=Check::ALL.len()).map(|number| number.to_string()).collect();
    writeln!(page, "| Desktop | {} |", numbers.join(" | "))?;
    writeln!(page, "|---|{}", ":-:|".repeat(numbers.len()))?;
    let mut notes: Vec<String> = Vec::new();
    for report in reports {
        write!(page, "| {} |", report.kind.title())?;
        for check in Check::ALL {
            let (sign, note) = match report.verdict(check) {
                Some(Verdict::Kept) => ("✓", None),
                Some(Verdict::NotThere(why)) => ("–", Some((*why).to_owned())),
                Some(Verdict::Broken(why)) => ("✗", why.lines().last().map(str::to_owned)),
                None => ("✗", None),
            };
            match note {
                None => write!(page, " {sign} |")?,
                Some(note) => write!(page, " {sign} {} |", letter(number_of(&mut notes, note)))?,
            }
        }
        page.push('\n');
    }
    page.push('\n');
    for (number, check) in (1..).zip(Check::ALL) {
        writeln!(page, "{number}. {}", capitalised(check.promise()))?;
    }
    page.push('\n');
    for (index, note) in notes.iter().enumerate() {
        writeln!(page, "- {} {}.", letter(index), capitalised(note))?;
    }
    for report in reports {
        writeln!(page, "\n## {}\n", capitalised(report.kind.title()))?;
        for (name, what) in PICTURES.into_iter().zip(["the prompt", "dark", "the main window"]) {
            let file = format!("{}-{name}.png", report.kind);
            if shown.join(&file).is_file() {
                writeln!(page, "![{}: {what}](desktops/{file})", report.kind.title())?;
            }
        }
    }
    Ok(page)
}

fn number_of(notes: &mut Vec<String>, note: String) -> usize {
    notes.iter().position(|known| *known == note).unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    })
}

/// The sign of a note: a, b, …
fn letter(index: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(index % 26).unwrap_or_default());
    format!("({letter})")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Pictures of each desktop that the page shows.
const PICTURES: [&str; 3] = ["prompt", "dark", "main"];

const INTRODUCTION: &str = "\
# Desktops

`cargo xtask test --desktops` starts the app on each of these desktops and looks at it as a person does: by the pixels of the
screen, with keys and clicks from outside. The desktops run without hardware, nested in Xvfb where they draw themselves. This page
is written by `cargo xtask test --desktops --write-docs`. ✓ is kept, ✗ is not, – cannot be asked there.

";
