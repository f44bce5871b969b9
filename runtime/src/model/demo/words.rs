//! Text to words that can be compared.

/// Words that say nothing about which tool is meant.
const EMPTY: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from",
    "give", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "new", "of", "on",
    "one", "or", "our", "please", "so", "some", "that", "the", "their", "them", "then", "there", "this",
    "to", "tool", "use", "user", "was", "we", "what", "when", "which", "will", "with", "would", "you",
    "your",
];

/// The words of a text: lower case, split at everything that is no letter or
/// digit and where lower case turns into upper case.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.chars() {
        if !word.is_empty() && (!c.is_alphanumeric() || (was_lower && c.is_uppercase())) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The words that can tell one tool from another, in their plainest form.
pub(super) fn telling(text: &str) -> Vec<String> {
    let mut words: Vec<String> =
        words(text).into_iter().filter(|w| w.len() > 1 && !EMPTY.contains(&w.as_str())).map(stem).collect();
    words.sort();
    words.dedup();
    words
}

/// Takes a plural or third-person `s` off, so that `colors` meets `color`.
fn stem(mut word: String) -> String {
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}

/// Whether `phrase` stands in `text` as whole words, whatever the case.
pub(super) fn contains_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (words(text), words(phrase));
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

/// Cuts a text for quoting, at a character.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let start: String = text.chars().take(limit).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        assert_eq!(words("setColor of_the-Page, 3×!"), ["set", "color", "of", "the", "page", "3"]);
        assert_eq!(telling("Sets the colors of a page"), ["color", "page", "set"]);
        assert!(contains_phrase("Make it Dark Blue!", "dark-blue"));
        assert!(!contains_phrase("tealish", "teal"));
    }
}
