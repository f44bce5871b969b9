//! Emphasis and brackets: delimiters find each other from left to right, as soon as it
//! is certain that no link comes between.

use super::super::Node;
use super::Inline;
use super::item::{Mood, Run, Shape};

/// No more runs wait than this: more are text.
const MAX_WAITING: usize = 32;

/// Longer runs are text: nobody nests emphasis that deep.
const MAX_RUN: usize = 16;

/// No more brackets are open than this: more are text.
const MAX_BRACKETS: usize = 32;

/// An open bracket.
#[derive(Debug)]
pub(super) struct Bracket {
    pub(super) item: usize,
    /// Where its label begins in the source.
    pub(super) label: usize,
    pub(super) image: bool,
    /// Whether it may still begin a link or picture.
    pub(super) active: bool,
    /// Whether another bracket was opened in it.
    pub(super) nested: bool,
    /// How many runs waited when it was opened.
    base: usize,
    /// The first run in it that closes something outside, unless this becomes a link;
    /// it and those behind it wait for that.
    deferred: Option<usize>,
}

impl Inline {
    pub(super) fn push_run(&mut self, run: Run) {
        let long = run.length > MAX_RUN || (run.byte == b'~' && run.length > 2);
        if long || !(run.can_open || run.can_close) {
            for _ in 0..run.length {
                self.push_text(char::from(run.byte).encode_utf8(&mut [0; 4]));
            }
            return;
        }
        self.runs.push(self.items.len());
        self.push(Shape::Run(run));
        let outer = self.active();
        if outer.is_none_or(|bracket| bracket.deferred.is_none()) {
            let at = self.runs.len() - 1;
            self.resolve_in(at);
        }
        if self.runs.len() > MAX_WAITING {
            self.drop_run(self.runs.len() - 1);
        }
    }

    /// A bracket whose label begins at `label`.
    pub(super) fn push_bracket(&mut self, label: usize, image: bool) {
        if let Some(outer) = self.brackets.last_mut() {
            outer.nested = true;
        }
        if self.brackets.len() >= MAX_BRACKETS {
            return self.push_text(if image { "![" } else { "[" });
        }
        self.brackets.push(Bracket {
            item: self.items.len(),
            label,
            image,
            active: true,
            nested: false,
            base: self.runs.len(),
            deferred: None,
        });
        self.push(Shape::Bracket);
    }

    /// The innermost bracket begins nothing.
    pub(super) fn pop_bracket(&mut self) {
        let Some(bracket) = self.brackets.pop() else { return };
        if !bracket.active {
            return;
        }
        self.show_bracket(bracket.item, bracket.image);
        if let Some(at) = bracket.deferred {
            self.hand_on(at);
        }
    }

    /// The innermost bracket begins a link or picture, or with `None` just its label.
    pub(super) fn link_bracket(&mut self, node: Option<Node>) {
        let Some(bracket) = self.brackets.pop() else { return };
        if let Some(at) = bracket.deferred {
            self.resolve(at, bracket.base, false);
        }
        while self.runs.len() > bracket.base {
            self.drop_run(self.runs.len() - 1);
        }
        let close = if node.is_some() { Shape::Close } else { Shape::Nothing };
        self.set_shape(bracket.item, node.map_or(Shape::Nothing, Shape::Open));
        self.push(close);
        if !bracket.image {
            self.links_hold_no_links();
        }
    }

    /// Everything has come: what still waits is text.
    pub(super) fn settle_runs(&mut self) {
        while !self.brackets.is_empty() {
            self.pop_bracket();
        }
        while !self.runs.is_empty() {
            self.drop_run(self.runs.len() - 1);
        }
    }

    /// The innermost bracket that may still begin something.
    pub(super) fn active(&self) -> Option<&Bracket> {
        self.brackets.iter().rev().find(|bracket| bracket.active)
    }

    fn links_hold_no_links(&mut self) {
        let mut shown = Vec::new();
        let mut first = None;
        for bracket in self.brackets.iter_mut().filter(|bracket| bracket.active && !bracket.image) {
            bracket.active = false;
            shown.push(bracket.item);
            first = first.or(bracket.deferred.take());
        }
        for item in shown {
            self.show_bracket(item, false);
        }
        if let Some(at) = first {
            self.hand_on(at);
        }
    }

    fn show_bracket(&mut self, item: usize, image: bool) {
        self.set_shape(item, Shape::Literal(if image { "![" } else { "[" }));
    }

    /// A bracket is none: the runs that waited for it go on, as far as the bracket
    /// around it lets them.
    fn hand_on(&mut self, at: usize) {
        if self.active().is_none_or(|outer| outer.deferred.is_none()) {
            self.resolve_in(at);
        }
    }

    /// Runs from `at` on close what they can inside the innermost active bracket.
    fn resolve_in(&mut self, at: usize) {
        let outer = self.brackets.iter().rposition(|bracket| bracket.active);
        let base = outer.and_then(|outer| self.brackets.get(outer)).map_or(0, |bracket| bracket.base);
        let deferred = self.resolve(at, base, outer.is_some());
        if let Some(bracket) = outer.and_then(|outer| self.brackets.get_mut(outer)) {
            bracket.deferred = deferred;
        }
    }

    /// Takes runs from `at` on as closers of those behind `base`. Gives the first that
    /// fits only one before it, if that is for later (`outside`).
    fn resolve(&mut self, mut at: usize, base: usize, outside: bool) -> Option<usize> {
        while let Some(closer) = self.run(at) {
            if !closer.can_close {
                at += 1;
                continue;
            }
            let fits = |&opener: &usize| self.run(opener).is_some_and(|opener| opener.matches(closer));
            if let Some(opener) = (base..at).rev().find(fits) {
                at = self.join(opener, at);
            } else if outside && (0..base).any(|opener| fits(&opener)) {
                return Some(at);
            } else if closer.can_open {
                at += 1;
            } else {
                self.drop_run(at);
            }
        }
        None
    }

    /// Two runs embrace what is between them. Gives the place of the next closer.
    fn join(&mut self, opener: usize, mut closer: usize) -> usize {
        while closer > opener + 1 {
            closer -= 1;
            self.drop_run(closer);
        }
        let Some(other) = self.run(closer) else { return closer };
        let Some(run) = self.run(opener) else { return closer };
        let (mood, used) = match (run.byte, run.left.min(other.left)) {
            (b'~', used) => (Mood::Strike, used),
            (_, 1) => (Mood::Emphasis, 1),
            _ => (Mood::Strong, 2),
        };
        self.change(closer, |run| {
            run.left -= used;
            run.closes += 1;
        });
        self.change(opener, |run| {
            run.left -= used;
            run.opens.push(mood);
        });
        let spent = |inline: &Self, at| inline.run(at).is_none_or(|run: &Run| run.left == 0);
        if spent(self, closer) {
            self.drop_run(closer);
        }
        if spent(self, opener) {
            self.drop_run(opener);
            closer -= 1;
        }
        closer
    }

    fn run(&self, at: usize) -> Option<&Run> {
        match &self.items.get(*self.runs.get(at)?)?.shape {
            Shape::Run(run) => Some(run),
            _ => None,
        }
    }

    /// A run waits no longer: what is left of it is text.
    fn drop_run(&mut self, at: usize) {
        self.change(at, |run| run.waits = false);
        if at < self.runs.len() {
            self.runs.remove(at);
        }
    }

    fn change(&mut self, at: usize, how: impl Fn(&mut Run)) {
        let Some(&number) = self.runs.get(at) else { return };
        let Some(Shape::Run(run)) = self.items.get_mut(number).map(|item| &mut item.shape) else { return };
        let before = run.clone();
        how(run);
        if !run.looks_like(&before) {
            self.touch(number);
        }
    }
}
