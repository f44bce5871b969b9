//! Blocks of lines that are kept as they are: code and formulas.

use super::super::Node;
use super::super::draw::Draw;

/// What ends a block of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Fence {
    /// Lines without its indentation.
    Indent,
    /// A run at least as long; its lines lose its indentation.
    Run { byte: u8, length: usize, indent: usize },
    /// A line with just this.
    Formula(&'static str),
}

#[derive(Debug)]
pub(in super::super) struct Lines {
    pub(in super::super) fence: Fence,
    /// Line ends that are drawn when something follows them.
    waits: String,
    /// Whether the current line is the fence, and none of the lines.
    at_fence: bool,
}

impl Lines {
    pub(in super::super) fn open(fence: Fence, language: Option<String>, draw: &mut Draw) -> Self {
        draw.open(match fence {
            Fence::Formula(_) => Node::Math { display: true },
            _ => Node::Code { language },
        });
        let at_fence = fence != Fence::Indent;
        Self { fence, waits: String::new(), at_fence }
    }

    /// A line begins. `blank`: its text is white space and counts only between lines.
    pub(in super::super) fn line(&mut self, pad: usize, blank: Option<&str>, draw: &mut Draw) {
        let spaces = " ".repeat(pad);
        match blank {
            Some(text) if self.fence == Fence::Indent => {
                self.waits.push_str(&spaces);
                self.waits.push_str(text);
            }
            _ => {
                draw.text(&std::mem::take(&mut self.waits));
                draw.text(&spaces);
                draw.text(blank.unwrap_or_default());
            }
        }
    }

    pub(in super::super) fn end_line(&mut self) {
        if !std::mem::take(&mut self.at_fence) {
            self.waits.push('\n');
        }
    }
}
