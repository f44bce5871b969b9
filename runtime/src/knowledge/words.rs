//! Text to what the index holds, and a question to what it is asked for.
//!
//! The index splits at what is no letter or digit, so it would take a line of
//! Chinese or Japanese for one word. There every character becomes a word of its own,
//! and a question asks for its pairs of neighbours, which finds words of any length
//! without a dictionary.

/// Characters of a question that count.
const QUESTION: usize = 1000;

/// Terms of a question that count.
const TERMS: usize = 40;

/// Words that tell nothing about what is looked for.
const EMPTY: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does",
    "for", "from", "get", "had", "has", "have", "he", "how", "i", "if", "in", "is", "it", "its", "many",
    "may", "me", "much", "my", "need", "not", "of", "on", "or", "our", "please", "she", "should", "so",
    "tell", "that", "the", "their", "them", "there", "they", "this", "to", "us", "was", "we", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "would", "you", "your", "aber", "als", "am",
    "an", "auch", "auf", "aus", "bei", "bin", "bis", "das", "dass", "dem", "den", "der", "des", "die", "ein",
    "eine", "einem", "einen", "einer", "eines", "er", "es", "fur", "gibt", "hat", "ich", "ihr", "im", "ist",
    "kann", "man", "mein", "meine", "mich", "mir", "mit", "muss", "nach", "nicht", "oder", "sein", "sich",
    "sie", "sind", "uber", "um", "und", "uns", "von", "vor", "wann", "was", "wer", "werden", "wie", "wir",
    "wird", "wo", "zu", "zum", "zur",
];

/// A text as the index takes it.
pub(crate) fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            'ß' | 'ẞ' => out.push_str("ss"),
            c if is_east_asian(c) => {
                out.push(' ');
                out.push(c);
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

/// A question as an expression of the index: any of its words, each in quotes, so that
/// nothing in it is a command. `None` if it has no words.
pub(crate) fn asked(question: &str) -> Option<String> {
    let words = words(question);
    let telling: Vec<&Word> = words.iter().filter(|word| word.tells()).collect();
    let chosen = if telling.is_empty() { words.iter().collect() } else { telling };
    let mut terms: Vec<String> = Vec::new();
    for term in chosen.into_iter().flat_map(Word::terms) {
        if !terms.contains(&term) && terms.len() < TERMS {
            terms.push(term);
        }
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

enum Word {
    /// Letters and digits.
    Plain(String),
    /// A run of Chinese, Japanese or Korean.
    EastAsian(Vec<char>),
}

impl Word {
    fn tells(&self) -> bool {
        match self {
            Word::Plain(word) => !EMPTY.contains(&word.as_str()),
            Word::EastAsian(_) => true,
        }
    }

    fn terms(&self) -> Vec<String> {
        match self {
            // The word, and longer ones that begin with it; the whole word counts twice.
            Word::Plain(word) if word.chars().count() >= 4 => {
                vec![format!("\"{word}\""), format!("\"{word}\"*")]
            }
            Word::Plain(word) => vec![format!("\"{word}\"")],
            Word::EastAsian(run) if run.len() == 1 => run.iter().map(|c| format!("\"{c}\"")).collect(),
            Word::EastAsian(run) => run
                .windows(2)
                .filter_map(|pair| Some(format!("\"{} {}\"", pair.first()?, pair.last()?)))
                .collect(),
        }
    }
}

fn words(question: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut plain, mut run) = (String::new(), Vec::new());
    let mut end = |plain: &mut String, run: &mut Vec<char>| {
        if !plain.is_empty() {
            words.push(Word::Plain(std::mem::take(plain)));
        }
        if !run.is_empty() {
            words.push(Word::EastAsian(std::mem::take(run)));
        }
    };
    for c in question.chars().take(QUESTION) {
        if is_east_asian(c) {
            if !plain.is_empty() {
                end(&mut plain, &mut run);
            }
            run.push(c);
        } else if c.is_alphanumeric() {
            if !run.is_empty() {
                end(&mut plain, &mut run);
            }
            match c {
                'ß' | 'ẞ' => plain.push_str("ss"),
                c => plain.extend(c.to_lowercase().map(bare)),
            }
        } else if !is_mark(c) {
            end(&mut plain, &mut run);
        }
    }
    end(&mut plain, &mut run);
    words
}

/// Accents that stand for themselves belong to the letter before them.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200c}' | '\u{200d}')
}

/// The umlauts as the index has them; it does the same to all other accents itself.
fn bare(c: char) -> char {
    match c {
        'ä' => 'a',
        'ö' => 'o',
        'ü' => 'u',
        c => c,
    }
}

/// Scripts that put no spaces between words, or endings to them that differ each time.
fn is_east_asian(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{312f}' | '\u{3130}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_data() {
        for (question, expected) in [
            ("How many days?", Some(r#""days" OR "days"*"#)),
            ("the of", Some(r#""the" OR "of""#)),
            (
                "\" OR title:* NEAR(a b) -x ^y {a}",
                Some(r#""title" OR "title"* OR "near" OR "near"* OR "b" OR "x" OR "y""#),
            ),
            ("Größe über Maß", Some(r#""grosse" OR "grosse"* OR "mass" OR "mass"*"#)),
            ("日本語 x", Some(r#""日 本" OR "本 語" OR "x""#)),
            ("猫", Some(r#""猫""#)),
            ("  !? \0 \u{1f600} ", None),
        ] {
            assert_eq!(asked(question).as_deref(), expected, "{question}");
        }
        assert!(asked(&"word1 ".repeat(100_000)).is_some_and(|q| q.len() < 100));
        let long: String = (0..100_000).map(|n| format!("w{n} ")).collect();
        assert!(asked(&long).is_some_and(|q| q.matches(" OR ").count() == TERMS - 1));
    }

    #[test]
    fn east_asian_characters_are_words() {
        assert_eq!(indexed("Größe 東京 x"), "Grösse  東  京  x");
    }
}
