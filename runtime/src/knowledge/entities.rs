//! Character references of HTML, such as `&auml;` and `&#228;`.

/// Text with its entities read; one that is not known stays as it is.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // No name is longer than this.
        let name = after.split_once(';').filter(|(name, _)| name.len() <= 10);
        match name.and_then(|(name, left)| Some((entity(name)?, left))) {
            Some((c, left)) => {
                out.push(c);
                rest = left;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.retain(|c| c != '\u{ad}' && c != '\0');
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
        return char::from_u32(code?);
    }
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, c)| *c)
}

/// The usual ones by name.
#[rustfmt::skip]
const KNOWN: &[(&str, char)] = &[
    ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", ' '),
    ("shy", '\u{ad}'), ("auml", 'ä'), ("ouml", 'ö'), ("uuml", 'ü'), ("Auml", 'Ä'), ("Ouml", 'Ö'),
    ("Uuml", 'Ü'), ("szlig", 'ß'), ("eacute", 'é'), ("egrave", 'è'), ("ecirc", 'ê'), ("agrave", 'à'),
    ("acirc", 'â'), ("ccedil", 'ç'), ("ntilde", 'ñ'), ("oacute", 'ó'), ("iacute", 'í'), ("aacute", 'á'),
    ("uacute", 'ú'), ("oslash", 'ø'), ("aring", 'å'), ("aelig", 'æ'), ("copy", '©'), ("reg", '®'),
    ("trade", '™'), ("euro", '€'), ("pound", '£'), ("sect", '§'), ("deg", '°'), ("middot", '·'),
    ("bull", '•'), ("hellip", '…'), ("ndash", '–'), ("mdash", '—'), ("lsquo", '‘'), ("rsquo", '’'),
    ("ldquo", '“'), ("rdquo", '”'), ("bdquo", '„'), ("sbquo", '‚'), ("laquo", '«'), ("raquo", '»'),
    ("times", '×'), ("rarr", '→'), ("larr", '←'), ("plusmn", '±'), ("frac12", '½'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name_and_by_number() {
        for (text, expected) in [
            ("a &amp;&lt; b &AMP; &nope; & &;", "a &< b &AMP; &nope; & &;"),
            ("&#228;&#xE4;&auml; co&shy;op", "äää coop"),
            ("&#x110000; &#; &#x; &#99999999999;", "&#x110000; &#; &#x; &#99999999999;"),
        ] {
            assert_eq!(decoded(text), expected);
        }
    }
}
