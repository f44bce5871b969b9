//! What a drawer is told: nodes of a closed vocabulary, and the program that makes them.

/// One step of the program that draws a message.
///
/// The drawer keeps a stack of open nodes; at its bottom, depth 0, is the message
/// itself, which is always open. Children are counted with texts: every text node is a
/// child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Ascend to the open node at `depth` and drop its children from number `keep` on.
    /// May drop nothing: then it only ends the text before it.
    Cut {
        /// Which open node; 0 is the message.
        depth: usize,
        /// How many of its children stay.
        keep: usize,
    },
    /// Append a node to the open one and descend into it.
    Open(Node),
    /// Append text to the open node: to the text node of the step before if that was a
    /// `Text` too (also the last step of the changes taken before), else as a new text
    /// node. A line break of the source that means a space arrives as `\n`.
    Text(String),
    /// The open node is finished: ascend to its parent.
    Close,
    /// The open node at `depth`, a list that was told as tight, is loose after all: its
    /// items' paragraphs stand apart. Nothing else of it changes.
    Loose {
        /// Which open node.
        depth: usize,
    },
    /// Remember the open node under this number: it names references that are not
    /// defined yet.
    Mark(u32),
    /// Only while finishing: one of its references was defined later. Drop all children
    /// of the node with this number and make it the open node; after its `Close` another
    /// `Return` may follow, and nothing else.
    Return(u32),
}

/// One node. Blocks hold blocks or, from [`Node::Paragraph`], [`Node::Heading`] and
/// [`Node::Cell`] on, texts and the nodes after [`Node::Cell`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Inline content. Items of lists hold paragraphs too, in a tight list without distance.
    Paragraph,
    /// Inline content; 1 to 6.
    Heading(u8),
    /// Blocks that are quoted.
    Quote,
    /// Holds items only.
    List {
        /// Number of the first item, `None` for bullets.
        start: Option<u32>,
        /// Whether its items' paragraphs stand without distance, as far as is known:
        /// always `true` here, [`Change::Loose`] takes it back.
        tight: bool,
    },
    /// Blocks.
    Item {
        /// A check box before the first paragraph, ticked or not.
        task: Option<bool>,
    },
    /// Code in lines; holds one text, without the newline at its end.
    Code {
        /// The first word behind the fence.
        language: Option<String>,
    },
    /// A line across; holds nothing.
    Rule,
    /// Holds rows: one head, then the body.
    Table {
        /// One for each column.
        align: Vec<Align>,
    },
    /// As many cells as the table has columns.
    Row {
        /// Whether it is the head.
        head: bool,
    },
    /// Inline content.
    Cell,
    /// `*so*`
    Emphasis,
    /// `**so**`
    Strong,
    /// `~~so~~`
    Strike,
    /// Code in a line; holds one text.
    CodeSpan,
    /// A link that a person may follow.
    Link {
        /// Judged as browsers do: `http`, `https`, `mailto`, or relative to the page.
        url: String,
        /// What it says of itself; empty for nothing.
        title: String,
        /// The host it leads to, as a browser would name it; `None` for the page's own
        /// and for mail.
        host: Option<String>,
    },
    /// A picture; holds its alternative text, as texts only.
    Image {
        /// Judged like a link's, and no mail.
        url: String,
        /// What it says of itself; empty for nothing.
        title: String,
    },
    /// A new line; holds nothing.
    Break,
    /// A formula; holds one text, its source without delimiters. As a block of its own
    /// or inside a paragraph.
    Math {
        /// On a line of its own.
        display: bool,
    },
}

/// How a column of a table stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// As the text runs.
    None,
    /// Left.
    Left,
    /// In the middle.
    Center,
    /// Right.
    Right,
}
