//! The check of the whole record: each line against the one before it, both ends of each chain
//! against what was noted.

use super::anchor::Anchor;
use super::chain::{self, GENESIS, Link};
use super::files::{self, CHAINS, Forward, Line, Part};
use super::head::{self, Ends, Head, Mark, Places};
use super::read::read_error;
use super::{HistoryError, writer};
use countersign_protocol::history::{
    ChainBreak, ChainDamage, ChainName, ChainReport, HistoryEvent, RecordNote, RemovedLines,
};

/// Checks every line of both chains, across rotated files, and reports the first damage. Where the oldest
/// lines were removed by rotation, a later line says so.
///
/// Damage is only believed when it is still there while nobody writes; that can take as long as another
/// program holds the lock.
pub fn verify(places: &Places) -> Result<ChainReport, HistoryError> {
    Ok(walk(places, None)?.report)
}

/// The same, and whether the history still holds the lines that `anchor` names.
pub fn verify_with(places: &Places, anchor: &Anchor) -> Result<ChainReport, HistoryError> {
    Ok(walk(places, Some(anchor))?.report)
}

/// What a check found.
pub(super) struct Found {
    pub(super) report: ChainReport,
    /// The newest line of each chain, and the newest of all times.
    pub(super) lasts: [Option<Mark>; 2],
    pub(super) at_ms: i64,
}

pub(super) fn walk(places: &Places, anchor: Option<&Anchor>) -> Result<Found, HistoryError> {
    let found = look(places, anchor)?;
    if found.report.broken.is_none() {
        return Ok(found);
    }
    let _lock = writer::lock(&places.lines)?;
    look(places, anchor)
}

fn look(places: &Places, anchor: Option<&Anchor>) -> Result<Found, HistoryError> {
    // Read first: lines that are added meanwhile are no gap.
    let noted = places.read();
    let mut warnings = noted.problems;
    let mut chains = Vec::new();
    for chain in CHAINS {
        chains.push(Check::run(places, chain, noted.head.as_ref(), anchor)?);
    }
    let removals: Vec<_> = chains.iter().flat_map(|check| &check.removals).cloned().collect();
    let mut broken: Option<ChainBreak> = None;
    for check in &mut chains {
        let removed = removals.iter().rfind(|(chain, _)| *chain == check.chain).map(|(_, removed)| removed);
        let end = check.damage(noted.head.as_ref(), removed, anchor, &mut warnings);
        broken = broken.or(end);
    }
    // What the writer found earlier stays damage, though the lines after it fit.
    let broken = broken.or_else(|| chains.iter().find_map(|check| check.noted_damage.clone()));
    let lines: u64 = chains.iter().map(|check| check.lines).sum();
    if noted.head.is_none() && warnings.is_empty() && chains.iter().any(|check| check.is_of_this_form) {
        let text =
            "there is no note about where the chains end: newest lines that were cut off would not be missed";
        warnings.push(text.to_owned());
    }
    let at_ms = chains.iter().filter_map(|check| Some(check.last.as_ref()?.entry.at_ms)).max().unwrap_or(0);
    let lasts = [&chains[0], &chains[1]].map(|check| check.last.as_ref().map(mark_of));
    Ok(Found { report: ChainReport { lines, broken, warnings }, lasts, at_ms })
}

fn mark_of(link: &Link) -> Mark {
    Mark { seq: link.entry.seq, hash: link.hash.clone() }
}

/// One chain as it was read.
struct Check {
    chain: ChainName,
    lines: u64,
    files: usize,
    /// The first line, and the file that it is in.
    first: Option<(Link, String)>,
    last: Option<Link>,
    /// The first line that does not fit. Nothing after it is read.
    broken: Option<ChainBreak>,
    noted_damage: Option<ChainBreak>,
    removals: Vec<(ChainName, RemovedLines)>,
    /// Whether it has lines that no earlier version wrote.
    is_of_this_form: bool,
    /// Lines to be found, with what they are, and whether they were.
    wanted: Vec<(Mark, Wanted, bool)>,
    at: (String, u64),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    First,
    Last,
    Anchor,
}

impl Check {
    fn run(
        places: &Places,
        chain: ChainName,
        head: Option<&Head>,
        anchor: Option<&Anchor>,
    ) -> Result<Self, HistoryError> {
        let mut wanted = Vec::new();
        match head {
            Some(head) => {
                if let Some(Ends { first, last, .. }) = head.ends(chain) {
                    wanted.push((first.clone(), Wanted::First, false));
                    wanted.push((last.clone(), Wanted::Last, false));
                }
            }
            None if chain == ChainName::Decisions => {
                wanted.extend(head::earlier(&places.lines).map(|last| (last, Wanted::Last, false)));
            }
            None => {}
        }
        let kept = anchor.map(|anchor| anchor.mark(chain)).filter(|mark| mark.seq > 0);
        wanted.extend(kept.map(|mark| (mark.clone(), Wanted::Anchor, false)));
        let mut check = Self {
            chain,
            lines: 0,
            files: 0,
            first: None,
            last: None,
            broken: None,
            noted_damage: None,
            removals: Vec::new(),
            is_of_this_form: false,
            wanted,
            at: (files::current(chain).to_owned(), 0),
        };
        for part in files::parts(&places.lines, chain)? {
            let Some(file) = part.open()? else { continue };
            check.files += 1;
            check.at = (part.name(), 0);
            let mut lines = Forward::new(file);
            while let Some(line) = lines.next_line().map_err(|source| read_error(&part, source))? {
                check.at.1 += 1;
                check.lines += 1;
                if let Err((damage, problem)) = check.line(line, &part) {
                    check.broken = Some(check.here(damage, problem));
                    return Ok(check);
                }
            }
        }
        Ok(check)
    }

    fn line(&mut self, line: Line, part: &Part) -> Result<(), (ChainDamage, String)> {
        let changed = |problem: &str| (ChainDamage::Changed, problem.to_owned());
        let line = match line {
            Line::Whole(line) => line,
            Line::Torn(_) => return Err(changed("the line is incomplete")),
            Line::TooLong => return Err(changed("the line is too long")),
        };
        let link = chain::open(&line).map_err(|error| changed(&error.to_string()))?;
        let seq = link.entry.seq;
        match &self.last {
            Some(last) if seq <= last.entry.seq => {
                return Err(changed(&format!("position {seq} follows position {}", last.entry.seq)));
            }
            Some(last) if last.hash != link.prev && seq > last.entry.seq + 1 => {
                let problem =
                    format!("lines are missing between position {} and position {seq}", last.entry.seq);
                return Err((ChainDamage::CutInside, problem));
            }
            Some(last) if last.hash != link.prev => {
                return Err(changed("it does not follow the line before"));
            }
            None if seq == 1 && link.prev != GENESIS => {
                return Err(changed("the first line follows another"));
            }
            Some(_) | None => {}
        }
        if self.at.1 == 1 && part.first_seq.is_some_and(|first| first != seq) {
            return Err(changed(&format!("the file starts at position {seq}, not at the one in its name")));
        }
        for (mark, wanted, is_there) in &mut self.wanted {
            if mark.seq == seq {
                if mark.hash != link.hash {
                    let noted = match wanted {
                        Wanted::First | Wanted::Last => "it is not the line that was noted here",
                        Wanted::Anchor => "it is not the line that the anchor names",
                    };
                    return Err((ChainDamage::Replaced, noted.to_owned()));
                }
                *is_there = true;
            }
        }
        self.is_of_this_form |= self.chain == ChainName::Unasked;
        if let HistoryEvent::Record { note } = &link.entry.event {
            self.is_of_this_form = true;
            match note {
                RecordNote::Rotated { chain, removed: Some(removed) } => {
                    self.removals.push((*chain, removed.clone()));
                }
                RecordNote::Damaged { problem, .. } if self.noted_damage.is_none() => {
                    let problem = format!("it was noted that {problem}");
                    self.noted_damage = Some(self.here(ChainDamage::CutInside, problem));
                }
                _ => {}
            }
        }
        self.first.get_or_insert_with(|| (link.clone(), self.at.0.clone()));
        self.last = Some(link);
        Ok(())
    }

    /// The first damage of this chain, inside or at its ends.
    fn damage(
        &self,
        head: Option<&Head>,
        removed: Option<&RemovedLines>,
        anchor: Option<&Anchor>,
        warnings: &mut Vec<String>,
    ) -> Option<ChainBreak> {
        let start = self.cut_at_start(removed);
        if start.is_some() || self.broken.is_some() {
            return start.or_else(|| self.broken.clone());
        }
        let last_seq = self.last.as_ref().map_or(0, |last| last.entry.seq);
        let missing = self.wanted.iter().find(|(mark, wanted, is_there)| {
            !is_there && *wanted == Wanted::Last && mark.seq > 0 && !self.is_power_loss(head, mark, last_seq)
        });
        if let Some((mark, ..)) = missing {
            let damage = match (self.files, self.lines) {
                (0, _) => ChainDamage::Missing,
                (_, 0) => ChainDamage::Emptied,
                _ if last_seq > mark.seq => ChainDamage::Replaced,
                _ => ChainDamage::CutAtEnd,
            };
            let problem = match damage {
                ChainDamage::Missing => {
                    format!("the file is gone, with the lines up to position {}", mark.seq)
                }
                ChainDamage::Emptied => {
                    format!("the file was emptied of the lines up to position {}", mark.seq)
                }
                ChainDamage::Replaced => format!("the line at position {} is not in this chain", mark.seq),
                _ => format!("the newest lines, up to position {}, are missing", mark.seq),
            };
            return Some(self.behind(damage, problem));
        }
        let anchored = anchor.map(|anchor| anchor.mark(self.chain)).filter(|mark| mark.seq > 0)?;
        let is_there = self.wanted.iter().any(|(_, wanted, is_there)| *wanted == Wanted::Anchor && *is_there);
        if is_there {
            return None;
        }
        if removed.is_some_and(|removed| removed.last >= anchored.seq) {
            warnings.push(format!(
                "the line at position {} that the anchor names was removed for newer ones, as a line of the record says",
                anchored.seq
            ));
            return None;
        }
        let problem = format!("the line at position {} that the anchor names is missing", anchored.seq);
        Some(self.behind(ChainDamage::Replaced, problem))
    }

    /// Whether lines before the first one are gone that no rotation removed.
    fn cut_at_start(&self, removed: Option<&RemovedLines>) -> Option<ChainBreak> {
        let (first, file) = self.first.as_ref()?;
        let seq = first.entry.seq;
        let noted = self.wanted.iter().find(|(_, wanted, _)| *wanted == Wanted::First);
        let is_late = noted.is_some_and(|(mark, ..)| mark.seq > 0 && seq > mark.seq);
        // Without a head, the last removal that was recorded says what the first line follows.
        let is_unexplained = removed.is_some_and(|removed| seq > removed.last && first.prev != removed.hash);
        let noted_other = noted.is_some_and(|(mark, _, is_there)| {
            let last = self.last.as_ref().map_or(0, |last| last.entry.seq);
            !is_there && self.broken.is_none() && (seq..=last).contains(&mark.seq)
        });
        let (damage, problem) = if is_late || is_unexplained {
            (ChainDamage::CutAtStart, format!("the oldest lines, before position {seq}, are missing"))
        } else if noted_other {
            (ChainDamage::Replaced, "the first line that was noted is not in this chain".to_owned())
        } else {
            return None;
        };
        Some(ChainBreak { file: file.clone(), line: 1, damage, problem })
    }

    /// Whether the newest lines may have gone with the power: the machine was started again since they were
    /// noted, and what had reached the disk is there.
    fn is_power_loss(&self, head: Option<&Head>, mark: &Mark, last_seq: u64) -> bool {
        let Some(head) = head else { return false };
        let synced = head.ends(self.chain).map_or(0, |ends| ends.synced);
        head.boot != head::boot() && last_seq >= synced && last_seq < mark.seq
    }

    fn here(&self, damage: ChainDamage, problem: String) -> ChainBreak {
        ChainBreak { file: self.at.0.clone(), line: self.at.1, damage, problem }
    }

    fn behind(&self, damage: ChainDamage, problem: String) -> ChainBreak {
        ChainBreak { line: self.at.1 + 1, ..self.here(damage, problem) }
    }
}
