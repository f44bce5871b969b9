//! A drawer as strict as the contract: makes a tree of changes and refuses what no
//! drawer could carry out, or what would touch a finished block.
#![allow(dead_code, unreachable_pub, missing_debug_implementations)]

pub mod hard;

use mindset_core::markdown::{Change, Document, Node, Options};

/// A node of the drawing.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawn {
    Text(String),
    Node { node: Node, children: Vec<Drawn> },
}

struct Open {
    node: Option<Node>,
    children: Vec<Drawn>,
    mark: Option<u32>,
}

/// The drawing while it grows.
pub struct Drawer {
    open: Vec<Open>,
    in_text: bool,
    /// Where the marked nodes are, by child numbers.
    marks: Vec<(u32, Vec<usize>)>,
    back: Option<Vec<usize>>,
    /// How many steps there were, how many bytes of text, and how many nodes were dropped.
    pub steps: usize,
    pub written: usize,
    pub dropped: usize,
}

impl Default for Drawer {
    fn default() -> Self {
        let message = Open { node: None, children: Vec::new(), mark: None };
        Self {
            open: vec![message],
            in_text: false,
            marks: Vec::new(),
            back: None,
            steps: 0,
            written: 0,
            dropped: 0,
        }
    }
}

impl Drawer {
    pub fn draw(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.steps += 1;
            let in_text = std::mem::replace(&mut self.in_text, matches!(change, Change::Text(_)));
            match change {
                Change::Cut { depth, keep } => self.cut(depth, keep),
                Change::Open(node) => {
                    self.open.push(Open { node: Some(node), children: Vec::new(), mark: None })
                }
                Change::Text(text) => self.text(text, in_text),
                Change::Close => self.close(),
                Change::Loose { depth } => match &mut self.open[depth].node {
                    Some(Node::List { tight, .. }) => {
                        assert!(*tight, "loosened twice");
                        *tight = false;
                    }
                    other => panic!("{other:?} was loosened"),
                },
                Change::Mark(number) => self.open.last_mut().unwrap().mark = Some(number),
                Change::Return(number) => {
                    assert_eq!(self.open.len(), 1, "returned while a node is open");
                    let path = self.marks.iter().find(|mark| mark.0 == number).expect("a mark").1.clone();
                    let Drawn::Node { node, .. } = self.at(&path) else { panic!("a mark on a text") };
                    let node = node.clone();
                    self.open.push(Open { node: Some(node), children: Vec::new(), mark: None });
                    self.back = Some(path);
                }
            }
        }
    }

    fn at(&mut self, path: &[usize]) -> &mut Drawn {
        let (first, rest) = path.split_first().unwrap();
        let mut found = &mut self.open[0].children[*first];
        for step in rest {
            let Drawn::Node { children, .. } = found else { panic!("a text on the way") };
            found = &mut children[*step];
        }
        found
    }

    fn cut(&mut self, depth: usize, keep: usize) {
        assert!(depth < self.open.len(), "a cut at depth {depth} of {}", self.open.len());
        self.open.truncate(depth + 1);
        let children = &mut self.open[depth].children;
        assert!(keep <= children.len() + 1, "kept {keep} of {}", children.len());
        for child in children.drain(keep.min(children.len())..) {
            self.dropped += 1;
            if let Drawn::Node { node, .. } = &child {
                assert!(!is_block(node), "a finished {node:?} was dropped");
            }
        }
    }

    fn text(&mut self, text: String, goes_on: bool) {
        assert!(!text.is_empty(), "an empty text");
        self.written += text.len();
        let children = &mut self.open.last_mut().unwrap().children;
        match children.last_mut() {
            Some(Drawn::Text(last)) if goes_on => last.push_str(&text),
            _ => children.push(Drawn::Text(text)),
        }
    }

    fn close(&mut self) {
        assert!(self.open.len() > 1, "the message was closed");
        let closed = self.open.pop().unwrap();
        let drawn = Drawn::Node { node: closed.node.unwrap(), children: closed.children };
        if self.open.len() == 1
            && let Some(path) = self.back.take()
        {
            *self.at(&path) = drawn;
            return;
        }
        if let Some(number) = closed.mark {
            let path = self.open.iter().map(|open| open.children.len()).collect();
            self.marks.push((number, path));
        }
        self.open.last_mut().unwrap().children.push(drawn);
    }

    /// What is drawn now; adjacent texts are one.
    pub fn tree(&self) -> Vec<Drawn> {
        let mut tree = Vec::new();
        for open in self.open.iter().rev() {
            let mut children = open.children.clone();
            children.append(&mut tree);
            tree = match &open.node {
                Some(node) => vec![Drawn::Node { node: node.clone(), children }],
                None => children,
            };
        }
        merge(tree)
    }

    /// Nodes that are open.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }
}

fn is_block(node: &Node) -> bool {
    use Node::{Cell, Code, Heading, Item, List, Paragraph, Quote, Row, Rule, Table};
    matches!(
        node,
        Cell | Code { .. }
            | Heading(_)
            | Item { .. }
            | List { .. }
            | Paragraph
            | Quote
            | Row { .. }
            | Rule
            | Table { .. }
    )
}

fn merge(children: Vec<Drawn>) -> Vec<Drawn> {
    let mut merged: Vec<Drawn> = Vec::new();
    for child in children {
        match (merged.last_mut(), child) {
            (Some(Drawn::Text(last)), Drawn::Text(text)) => last.push_str(&text),
            (_, Drawn::Text(text)) => merged.push(Drawn::Text(text)),
            (_, Drawn::Node { node, children }) => {
                merged.push(Drawn::Node { node, children: merge(children) })
            }
        }
    }
    merged
}

/// All text of a drawing.
pub fn plain(tree: &[Drawn]) -> String {
    tree.iter()
        .map(|drawn| match drawn {
            Drawn::Text(text) => text.clone(),
            Drawn::Node { children, .. } => plain(children),
        })
        .collect()
}

/// Draws pieces, with a look after each of them.
pub fn draw<'a>(
    options: Options,
    pieces: impl IntoIterator<Item = &'a str>,
    mut look: impl FnMut(&Drawer),
) -> Drawer {
    let mut document = Document::new(options);
    let mut drawer = Drawer::default();
    for piece in pieces {
        document.push(piece);
        drawer.draw(document.take_changes());
        look(&drawer);
    }
    document.finish();
    drawer.draw(document.take_changes());
    assert_eq!(drawer.depth(), 0, "everything is closed in the end");
    drawer
}

/// The tree of a whole text.
pub fn tree(text: &str) -> Vec<Drawn> {
    draw(Options::default(), [text], |_| {}).tree()
}

/// The drawing as HTML-like text, for people and for comparing.
pub fn html(tree: &[Drawn]) -> String {
    let mut out = String::new();
    write(tree, false, &mut out);
    out
}

fn write(tree: &[Drawn], tight: bool, out: &mut String) {
    for drawn in tree {
        let (node, children) = match drawn {
            Drawn::Text(text) => {
                out.push_str(&escape(text));
                continue;
            }
            Drawn::Node { node, children } => (node, children),
        };
        let (open, close) = tags(node, children, tight);
        out.push_str(&open);
        if !matches!(node, Node::Image { .. }) {
            let tight = match node {
                Node::List { tight, .. } => *tight,
                Node::Item { .. } => tight,
                _ => false,
            };
            write(children, tight, out);
        }
        if matches!(node, Node::Code { .. }) && !children.is_empty() {
            out.push('\n');
        }
        out.push_str(&close);
    }
}

fn tags(node: &Node, children: &[Drawn], tight: bool) -> (String, String) {
    let pair = |name: &str| (format!("<{name}>"), format!("</{name}>"));
    match node {
        Node::Paragraph if tight => ("\n".to_owned(), "\n".to_owned()),
        Node::Paragraph => pair("p"),
        Node::Heading(level) => pair(&format!("h{level}")),
        Node::Quote => pair("blockquote"),
        Node::List { start: None, .. } => pair("ul"),
        Node::List { start: Some(1), .. } => pair("ol"),
        Node::List { start: Some(n), .. } => (format!("<ol start=\"{n}\">"), "</ol>".to_owned()),
        Node::Item { task: None } => pair("li"),
        Node::Item { task: Some(true) } => ("<li><input checked=\"\">".to_owned(), "</li>".to_owned()),
        Node::Item { task: Some(false) } => ("<li><input>".to_owned(), "</li>".to_owned()),
        Node::Code { language: None } => ("<pre><code>".to_owned(), "</code></pre>".to_owned()),
        Node::Code { language: Some(language) } => {
            (format!("<pre><code class=\"language-{}\">", escape(language)), "</code></pre>".to_owned())
        }
        Node::Rule => ("<hr />".to_owned(), String::new()),
        Node::Table { align } => (format!("<table align=\"{align:?}\">"), "</table>".to_owned()),
        Node::Row { head } => (format!("<tr head=\"{head}\">"), "</tr>".to_owned()),
        Node::Cell => pair("td"),
        Node::Emphasis => pair("em"),
        Node::Strong => pair("strong"),
        Node::Strike => pair("del"),
        Node::CodeSpan => pair("code"),
        Node::Break => ("<br />".to_owned(), String::new()),
        Node::Math { display } => (format!("<math display=\"{display}\">"), "</math>".to_owned()),
        Node::Link { url, title, .. } => {
            (format!("<a href=\"{}\"{}>", escape(url), title_of(title)), "</a>".to_owned())
        }
        Node::Image { url, title } => {
            let alt = escape(&plain(children));
            (format!("<img src=\"{}\" alt=\"{alt}\"{} />", escape(url), title_of(title)), String::new())
        }
    }
}

fn title_of(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(title)) }
}

/// The escapes of HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
