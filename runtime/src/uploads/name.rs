//! Names that people's files come with, made fit for lists, headers and any disk.

use super::Kind;

/// Characters of a name.
const LONGEST: usize = 100;

/// Devices of Windows: no file there can be called so.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// What a file is called: the last part of its path, without what cannot be seen or turns text
/// around, with an ending that belongs to its kind. It is never a place: files are stored by id.
pub(super) fn safe(name: &str, kind: Kind) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or("");
    let shown: String = name.chars().filter(|c| !is_hidden(*c)).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = shown.chars().map(|c| if r#"<>:"|?*"#.contains(c) { '_' } else { c }).collect();
    let ending = kind.endings.first().copied().unwrap_or("bin");
    let shown = shown.trim_matches(['.', ' ']);
    let (stem, own) = match shown.rsplit_once('.') {
        Some((stem, own)) if kind.endings.contains(&own.to_ascii_lowercase().as_str()) => (stem, own),
        _ => (shown, ending),
    };
    let room = LONGEST.saturating_sub(own.len() + 1);
    let stem: String = stem.chars().take(room).collect();
    let stem = stem.trim_end_matches(['.', ' ']);
    let stem = if stem.is_empty() { "file" } else { stem };
    let device = stem.split('.').next().is_some_and(|first| is_device(&first.trim().to_ascii_lowercase()));
    format!("{}{stem}.{own}", if device { "_" } else { "" })
}

fn is_device(word: &str) -> bool {
    let numbered = |port: &str| {
        word.strip_prefix(port).is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    DEVICES.contains(&word) || numbered("com") || numbered("lpt")
}

/// Control characters, and those that change the direction of what follows or have no width.
fn is_hidden(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    invisible || c.is_control() && !c.is_whitespace()
}

/// `Content-Disposition` for a name that [`safe`] has made.
pub(super) fn disposition(name: &str) -> String {
    let ascii: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let mut out = format!("attachment; filename=\"{ascii}\"");
    if ascii != name {
        out.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_safe() {
        let kind = Kind::of("image/png").unwrap();
        for (given, expected) in [
            ("photo.png", "photo.png"),
            ("Photo.PNG", "Photo.PNG"),
            ("../../etc/passwd", "passwd.png"),
            (r"C:\Users\ada\me.png", "me.png"),
            ("a/b/..", "file.png"),
            ("", "file.png"),
            (".png", "png.png"),
            ("...", "file.png"),
            ("evil.html", "evil.html.png"),
            ("gpj.\u{202e}exe.png", "gpj.exe.png"),
            ("a\r\nContent-Type: x.png", "a Content-Type_ x.png"),
            ("a\0b\u{7}.png", "ab.png"),
            ("con.png", "_con.png"),
            ("COM1.tar.png", "_COM1.tar.png"),
            ("command.png", "command.png"),
            ("  two   words .png", "two words.png"),
            ("写真é\".png", "写真é_.png"),
        ] {
            assert_eq!(safe(given, kind), expected, "{given:?}");
        }
        let long = safe(&format!("{}.png", "é".repeat(500)), kind);
        assert_eq!((long.chars().count(), long.ends_with("é.png")), (LONGEST, true));
    }

    #[test]
    fn headers_hold_any_name() {
        assert_eq!(disposition("a b.png"), "attachment; filename=\"a b.png\"");
        assert_eq!(disposition("é.png"), "attachment; filename=\"_.png\"; filename*=UTF-8''%C3%A9.png");
    }
}
