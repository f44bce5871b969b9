//! Texts that make parsers slow: what never ends, what nests, what repeats.

/// Named texts of about this many bytes.
pub fn texts(size: usize) -> Vec<(&'static str, String)> {
    let fill = |unit: &str| unit.repeat(size / unit.len());
    let mut texts = Vec::new();
    for (name, unit) in REPEATED {
        texts.push((*name, fill(unit)));
    }
    for (name, before, unit, after) in WITHIN {
        texts.push((*name, [before, fill(unit).as_str(), after].concat()));
    }
    texts.push(("nested brackets", fill("[") + &fill("]")));
    texts.push(("nested emphases", fill("*a ") + &fill("a* ")));
    texts.push(("a deep list", (0..size / 64).map(|n| " ".repeat(n * 2 % 120) + "- a\n").collect()));
    texts.push(("runs of backticks", runs(size)));
    texts.push(("definitions", (0..size / 16).map(|n| format!("[a{n}]: /b\n\n")).collect()));
    texts
}

/// Runs of all lengths.
fn runs(size: usize) -> String {
    let mut text = String::new();
    let mut length = 1;
    while text.len() < size {
        text.push_str(&"`".repeat(length));
        text.push('a');
        length += 1;
    }
    text
}

const REPEATED: &[(&str, &str)] = &[
    ("one paragraph", "words and more words, "),
    ("one paragraph of lines", "words and more words,\n"),
    ("one word", "word"),
    ("a list", "- item\n"),
    ("a loose list", "- item\n\n"),
    ("quotes", "> "),
    ("bullets", "- "),
    ("quotes in lines", "> > > > > > > > > > > a\n"),
    ("stars", "*"),
    ("stars and letters", "*a"),
    ("stars and spaces", "*a "),
    ("closing stars", "a* "),
    ("stars both ways", "**a* "),
    ("low lines", "_a_ __b"),
    ("tildes", "~a~ "),
    ("opening brackets", "["),
    ("closing brackets", "]"),
    ("brackets", "[a]"),
    ("brackets and stars", "[a *b"),
    ("brackets with closing stars", "*a [b* "),
    ("links", "[a](b) "),
    ("half links", "[a]("),
    ("links in angle brackets", "[a](<b"),
    ("titles", "[a](b \""),
    ("titles of all kinds", "[a](b \" [a](b ' [a](b ("),
    ("pictures", "![a](b)"),
    ("half pictures", "!["),
    ("references", "[a][b] "),
    ("half references", "[a]["),
    ("backticks", "`"),
    ("backticks apart", "`a"),
    ("angles", "<"),
    ("half autolinks", "<https:a"),
    ("addresses", "https://a.b/c "),
    ("mail", "a@b.cd "),
    ("ats", "a@"),
    ("ands", "&a"),
    ("entities", "&copy;"),
    ("unknown entities", "&zzz;"),
    ("backslashes", "\\"),
    ("spaces", " "),
    ("line ends", "\n"),
    ("spaces and line ends", "a  \n"),
    ("dollars", "$a "),
    ("double dollars", "$$a"),
    ("round formulas", "\\(a"),
    ("pipes", "a | b "),
    ("pipes in lines", "a | b\n"),
    ("indented code", "    a\n\n"),
    ("tabs", "\t"),
    ("returns", "\r"),
];

const WITHIN: &[(&str, &str, &str, &str)] = &[
    ("an open emphasis", "*a ", "words ", ""),
    ("emphases in an open one", "*a ", "**b** ", ""),
    ("an open bracket", "[", "words ", ""),
    ("links in an open bracket", "![", "[a](b) ", ""),
    ("an open code span", "`", "words ", ""),
    ("an open link", "[a](", "words", ""),
    ("an open link with a title", "[a](b \"", "words\n", ""),
    ("an open definition", "[a]: /b \"", "words\n", ""),
    ("a fence", "```\n", "let a = b;\n", "```"),
    ("a fence in one line", "```\n", "words ", "\n```"),
    ("a long fence", "```", "a", ""),
    ("a table", "| a | b |\n|---|---|\n", "| c | *d* |\n", ""),
    ("a row", "| a | b |\n|---|---|\n| ", "words ", "|"),
    ("a head", "| ", "words | ", "\n|-|"),
    ("escaped pipes", "| a |\n|-|\n", "\\|", "|"),
    ("one address", "https://a.b/", "words", ""),
    ("one host", "a@b", "words", ""),
    ("spaces in a paragraph", "a", " ", "b"),
    ("equals", "a\n", "=", ""),
    ("number signs", "# a ", "#", ""),
    ("number signs apart", "# a ", "# ", ""),
    ("a formula", "$$\n", "words\n", "$$"),
];
