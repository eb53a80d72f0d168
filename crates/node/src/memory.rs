//! Gives back memory that only starting needed.
//!
//! A program with windows is linked with a hundred libraries. Starting touches pages all over them, and the
//! kernel maps the neighbours of each: of the app's memory in the tray, two thirds are code that does not run
//! again before there is a window. Such pages are the same as in their files, so that nothing is lost by
//! unmapping them: whatever is needed again is mapped again, from the page cache.

use rustix::mm::{Advice, madvise};
use std::collections::HashSet;
use std::ffi::c_void;
use std::io;
use std::ptr;

/// What the loader mapped for this program before it began: its own code and constants, and those of the
/// libraries that it is linked with. None of this is unmapped for as long as the program runs.
#[derive(Debug)]
pub struct Code {
    mappings: HashSet<String>,
}

impl Code {
    /// Looks at what is mapped now. Belongs at the very beginning of `main`: a library that is loaded later
    /// may be unloaded again, and must not be in here.
    pub fn mapped_at_start() -> io::Result<Self> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        Ok(Self { mappings: maps.lines().filter(|line| is_constant(line)).map(str::to_owned).collect() })
    }

    /// Unmaps every page of it that is as in its file. Returns how many bytes were mapped. Whoever needs one
    /// of them pays for mapping it again, a fraction of a microsecond each.
    pub fn give_back(&self) -> io::Result<usize> {
        let smaps = std::fs::read_to_string("/proc/self/smaps")?;
        let mut mapped = 0;
        for Mapping { start, length, resident } in unchanged(&smaps, &self.mappings) {
            give_back(start, length)?;
            mapped += resident;
        }
        Ok(mapped)
    }
}

#[expect(
    unsafe_code,
    reason = "there is no other way to give back pages of a mapping that is not ours to unmap"
)]
fn give_back(start: usize, length: usize) -> io::Result<()> {
    let start: *mut c_void = ptr::with_exposed_provenance_mut(start);
    // SAFETY: the range is a whole mapping of the program itself or of a library that it is linked with. The
    // loader made it before `main` and never unmaps it, so the range cannot have become somebody else's since
    // it was read. The mapping is private, cannot be written, and has no page, in memory or swapped, that
    // differs from its file (madvise(2): a private file mapping is filled from the file again), so that every
    // byte reads the same before, during and after the call.
    unsafe { madvise(start, length, Advice::LinuxDontNeed)? };
    Ok(())
}

/// One mapping, in bytes.
#[derive(Debug, Eq, PartialEq)]
struct Mapping {
    start: usize,
    length: usize,
    /// How much of it is in memory.
    resident: usize,
}

/// Those of `wanted` of which no page was ever written, by the text of `/proc/PID/smaps` (proc(5)). The
/// loader writes addresses into some before it takes the right to write away, and a debugger writes
/// breakpoints. A page that was written is anonymous, and counts as swapped instead while it is out: given
/// back, it would be lost for good.
fn unchanged<'a>(smaps: &'a str, wanted: &'a HashSet<String>) -> impl Iterator<Item = Mapping> + 'a {
    let mut mapping: Option<Mapping> = None;
    // Said of the mapping before it is said what is swapped.
    let mut is_unwritten = false;
    smaps.lines().filter_map(move |line| {
        if let Some((start, length)) = range(line) {
            mapping = wanted.contains(line).then_some(Mapping { start, length, resident: 0 });
            is_unwritten = false;
        } else if let Some(resident) = bytes(line, "Rss:") {
            mapping = mapping.take().map(|mapping| Mapping { resident, ..mapping });
        } else if let Some(written) = bytes(line, "Anonymous:") {
            is_unwritten = written == 0;
        } else if let Some(swapped) = bytes(line, "Swap:") {
            return mapping.take().filter(|_| is_unwritten && swapped == 0);
        }
        None
    })
}

/// Whether a line of `/proc/PID/maps` is about a file that this process sees privately and cannot write.
fn is_constant(line: &str) -> bool {
    let mut fields = line.split_whitespace();
    let (permissions, inode) = (fields.nth(1).unwrap_or_default(), fields.nth(2).unwrap_or_default());
    matches!(permissions, "r--p" | "r-xp") && inode != "0" && range(line).is_some()
}

/// Start and length of the mapping that a line begins to tell of.
fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    Some((start, end.checked_sub(start)?))
}

/// What a line with that name says, which it does in kilobytes.
fn bytes(line: &str, name: &str) -> Option<usize> {
    let kilobytes: usize = line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok()?;
    kilobytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 08:01 77                         /usr/bin/a program
55d0c0001000-55d0c0009000 r-xp 00001000 08:01 77                         /usr/bin/a program
55d0c0009000-55d0c000a000 r--p 00009000 08:01 77                         /usr/bin/a program
55d0c000a000-55d0c000b000 rw-p 0000a000 08:01 77                         /usr/bin/a program
7f0000000000-7f0000001000 r--s 00000000 08:01 78                         /usr/share/shared
7f0000002000-7f0000003000 r--p 00000000 00:00 0 
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
";

    /// What `smaps` says of those lines, as resident, anonymous and swapped kilobytes.
    fn smaps(sizes: [(usize, usize, usize); 7]) -> String {
        let tell = |(line, (resident, anonymous, swapped))| {
            format!(
                "{line}\nSize: 4 kB\nRss:   {resident} kB\nAnonymous:  {anonymous} kB\nSwap:  {swapped} kB\nSwapPss: 0 kB\n"
            )
        };
        MAPS.lines().zip(sizes).map(tell).collect()
    }

    fn check(sizes: [(usize, usize, usize); 7], expected: &[(usize, usize, usize)]) {
        let wanted: HashSet<String> =
            MAPS.lines().filter(|line| is_constant(line)).map(str::to_owned).collect();
        let found: Vec<_> = unchanged(&smaps(sizes), &wanted)
            .map(|mapping| (mapping.start, mapping.length, mapping.resident))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_files_that_nobody_can_write_are_looked_at() {
        check(
            [(4, 0, 0); 7],
            &[
                (0x55d0_c000_0000, 0x1000, 4_096),
                (0x55d0_c000_1000, 0x8000, 4_096),
                (0x55d0_c000_9000, 0x1000, 4_096),
            ],
        );
    }

    #[test]
    fn a_mapping_with_a_page_that_was_written_is_left_alone_also_when_that_is_swapped_out() {
        for [second, third] in [[(32, 4, 0), (4, 4, 0)], [(28, 0, 4), (0, 0, 4)]] {
            let mut sizes = [(4, 0, 0); 7];
            (sizes[1], sizes[2]) = (second, third);
            check(sizes, &[(0x55d0_c000_0000, 0x1000, 4_096)]);
        }
    }

    #[test]
    fn a_kernel_that_does_not_tell_both_gives_nothing_back() {
        for missing in ["Anonymous:", "Swap:"] {
            let known = smaps([(4, 0, 0); 7]);
            let told: Vec<_> = known.lines().filter(|line| !line.starts_with(missing)).collect();
            let wanted = MAPS.lines().map(str::to_owned).collect();
            assert_eq!(unchanged(&told.join("\n"), &wanted).count(), 0, "{missing}");
        }
    }

    #[test]
    fn a_mapping_that_is_not_as_it_was_is_left_alone() {
        let known = MAPS.lines().filter(|line| is_constant(line));
        let wanted = known.map(|line| line.replace("r-xp", "r--p")).collect();
        let now = smaps([(4, 0, 0); 7]);
        let found: Vec<_> = unchanged(&now, &wanted).map(|mapping| mapping.start).collect();
        assert_eq!(found, [0x55d0_c000_0000, 0x55d0_c000_9000]);
    }

    #[test]
    fn what_is_not_understood_gives_nothing_back() {
        for text in [
            "",
            "\n",
            "garbage",
            "1-2",
            "zz-1 r-xp 0 0:0 7 /x",
            "Rss: 4 kB\nAnonymous: 0 kB\nSwap: 0 kB",
            "2-1 r-xp 0 0:0 7 /x",
        ] {
            let wanted = text.lines().map(str::to_owned).collect();
            assert_eq!(unchanged(text, &wanted).count(), 0, "{text:?}");
            assert!(text.lines().all(|line| !is_constant(line)), "{text:?}");
        }
    }

    /// Addresses in here are written by the loader, so these pages are not as in the file.
    static RELOCATED: [&str; 3] = ["one", "two", "three"];

    #[test]
    fn this_very_program_goes_on_with_everything_it_had() {
        let code = Code::mapped_at_start().unwrap();
        let before = RELOCATED.map(str::to_owned);
        for _ in 0..100 {
            // This function itself is in there.
            assert!(code.give_back().unwrap() > 0);
            assert_eq!(RELOCATED.map(str::to_owned), before);
        }
    }
}
