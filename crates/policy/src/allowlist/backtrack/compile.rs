//! From a tree to instructions.

use super::parse::{Alternatives, Groups, Node};
use super::{Direction, Program, Set, Wanted};

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Takes one unit.
    Unit(Set, Direction),
    Start,
    End,
    Boundary(Wanted),
    /// Takes what a group took.
    Back(usize, Direction),
    Jump(usize),
    /// Tries one way, then the other.
    Split {
        first: usize,
        second: usize,
    },
    /// Notes the position.
    Save(usize),
    /// Groups of a repetition are forgotten before each round.
    Forget {
        from: usize,
        to: usize,
    },
    /// Goes on only when the position is no longer the noted one.
    Moved(usize),
    /// Runs the part behind it, up to its own `Match`, without taking anything, and goes on after it.
    Look {
        wanted: Wanted,
        after: usize,
    },
    Match,
}

pub(super) fn compile(expression: &Alternatives, groups: Groups) -> Option<Program> {
    let slots = (groups.count + 1) * 2;
    let mut compiler = Compiler { code: Vec::new(), groups, slots };
    compiler.alternatives(expression, Direction::Forward)?;
    compiler.code.push(Instruction::Match);
    Some(Program { code: compiler.code, slots: compiler.slots })
}

struct Compiler {
    code: Vec<Instruction>,
    groups: Groups,
    slots: usize,
}

impl Compiler {
    fn emit(&mut self, instruction: Instruction) -> Option<usize> {
        self.code.push(instruction);
        (self.code.len() <= INSTRUCTIONS).then(|| self.code.len() - 1)
    }

    fn patch(&mut self, at: usize, instruction: Instruction) {
        if let Some(place) = self.code.get_mut(at) {
            *place = instruction;
        }
    }

    fn alternatives(&mut self, all: &Alternatives, direction: Direction) -> Option<()> {
        let (last, others) = all.split_last()?;
        let mut ends = Vec::new();
        for alternative in others {
            let split = self.emit(Instruction::Match)?;
            self.sequence(alternative, direction)?;
            ends.push(self.emit(Instruction::Match)?);
            let second = self.code.len();
            self.patch(split, Instruction::Split { first: split + 1, second });
        }
        self.sequence(last, direction)?;
        let end = self.code.len();
        ends.into_iter().for_each(|at| self.patch(at, Instruction::Jump(end)));
        Some(())
    }

    fn sequence(&mut self, nodes: &[Node], direction: Direction) -> Option<()> {
        match direction {
            Direction::Forward => nodes.iter().try_for_each(|node| self.node(node, direction)),
            Direction::Backward => nodes.iter().rev().try_for_each(|node| self.node(node, direction)),
        }
    }

    fn node(&mut self, node: &Node, direction: Direction) -> Option<()> {
        match node {
            Node::Unit(set) => self.emit(Instruction::Unit(set.clone(), direction)).map(|_| ()),
            Node::Start => self.emit(Instruction::Start).map(|_| ()),
            Node::End => self.emit(Instruction::End).map(|_| ()),
            Node::Boundary(wanted) => self.emit(Instruction::Boundary(*wanted)).map(|_| ()),
            Node::Back(reference) => {
                let group = self.groups.find(reference)?;
                self.emit(Instruction::Back(group, direction)).map(|_| ())
            }
            Node::Group { index: None, inner } => self.alternatives(inner, direction),
            Node::Group { index: Some(index), inner } => {
                self.emit(Instruction::Save(index * 2))?;
                self.alternatives(inner, direction)?;
                self.emit(Instruction::Save(index * 2 + 1)).map(|_| ())
            }
            Node::Look { direction, wanted, inner } => {
                let look = self.emit(Instruction::Match)?;
                self.alternatives(inner, *direction)?;
                self.emit(Instruction::Match)?;
                let after = self.code.len();
                self.patch(look, Instruction::Look { wanted: *wanted, after });
                Some(())
            }
            Node::Repeat { inner, least, most, greedy, groups } => {
                for _ in 0..*least {
                    self.round(inner, *groups, direction)?;
                }
                match most {
                    None => self.endless(inner, *greedy, *groups, direction),
                    Some(most) => self.optional(inner, most - least, *greedy, *groups, direction),
                }
            }
        }
    }

    fn round(&mut self, inner: &Node, groups: (usize, usize), direction: Direction) -> Option<()> {
        // Also without groups, so that rounds of nothing count towards the limit.
        self.emit(Instruction::Forget { from: groups.0 * 2, to: groups.1 * 2 })?;
        self.node(inner, direction)
    }

    /// A round that takes nothing is not another one.
    fn endless(
        &mut self,
        inner: &Node,
        greedy: bool,
        groups: (usize, usize),
        direction: Direction,
    ) -> Option<()> {
        let slot = self.new_slot();
        let split = self.emit(Instruction::Match)?;
        self.emit(Instruction::Save(slot))?;
        self.round(inner, groups, direction)?;
        self.emit(Instruction::Moved(slot))?;
        self.emit(Instruction::Jump(split))?;
        let after = self.code.len();
        self.patch(split, choice(split + 1, after, greedy));
        Some(())
    }

    fn optional(
        &mut self,
        inner: &Node,
        rounds: usize,
        greedy: bool,
        groups: (usize, usize),
        direction: Direction,
    ) -> Option<()> {
        let mut splits = Vec::new();
        let slot = self.new_slot();
        for _ in 0..rounds {
            splits.push(self.emit(Instruction::Match)?);
            self.emit(Instruction::Save(slot))?;
            self.round(inner, groups, direction)?;
            self.emit(Instruction::Moved(slot))?;
        }
        let after = self.code.len();
        splits.into_iter().for_each(|at| self.patch(at, choice(at + 1, after, greedy)));
        Some(())
    }

    fn new_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }
}

fn choice(body: usize, after: usize, greedy: bool) -> Instruction {
    if greedy {
        Instruction::Split { first: body, second: after }
    } else {
        Instruction::Split { first: after, second: body }
    }
}

/// Most instructions of one expression; a counted repetition can ask for any number.
const INSTRUCTIONS: usize = 20_000;
