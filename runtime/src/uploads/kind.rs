//! What a file is, by its first bytes. What the sender says it is counts only for text, which has
//! no mark of its own.

/// How many of the first bytes are looked at.
pub(super) const HEAD: usize = 1024;

/// A media type that can be told by the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its name.
    pub(crate) media_type: &'static str,
    /// Endings of names, the usual one first.
    pub(crate) endings: &'static [&'static str],
    mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Bytes, and where they stand.
    Bytes(&'static [(usize, &'static [u8])]),
    /// An ISO media file of one of these brands.
    Brand(&'static [&'static [u8]]),
    /// UTF-8 without control characters.
    Text,
}

impl Kind {
    /// Those that are taken unless configured otherwise.
    pub(crate) const USUAL: [Kind; 5] = [
        Kind {
            media_type: "image/png",
            endings: &["png"],
            mark: Mark::Bytes(&[(0, b"\x89PNG\r\n\x1a\n"), (12, b"IHDR")]),
        },
        Kind {
            media_type: "image/jpeg",
            endings: &["jpg", "jpeg"],
            mark: Mark::Bytes(&[(0, b"\xff\xd8\xff")]),
        },
        Kind { media_type: "image/gif", endings: &["gif"], mark: Mark::Bytes(&[(0, b"GIF8"), (5, b"a")]) },
        Kind {
            media_type: "image/webp",
            endings: &["webp"],
            mark: Mark::Bytes(&[(0, b"RIFF"), (8, b"WEBPVP8")]),
        },
        Kind { media_type: "application/pdf", endings: &["pdf"], mark: Mark::Bytes(&[(0, b"%PDF-")]) },
    ];

    const MORE: [Kind; 6] = [
        Kind { media_type: "image/avif", endings: &["avif"], mark: Mark::Brand(&[b"avif", b"avis"]) },
        Kind {
            media_type: "image/heic",
            endings: &["heic", "heif"],
            mark: Mark::Brand(&[b"heic", b"heix", b"mif1"]),
        },
        Kind { media_type: "text/plain", endings: &["txt", "log"], mark: Mark::Text },
        Kind { media_type: "text/csv", endings: &["csv"], mark: Mark::Text },
        Kind { media_type: "text/markdown", endings: &["md", "markdown"], mark: Mark::Text },
        Kind { media_type: "application/json", endings: &["json"], mark: Mark::Text },
    ];

    /// All that can be configured.
    pub(crate) fn all() -> impl Iterator<Item = Kind> {
        Kind::USUAL.into_iter().chain(Kind::MORE)
    }

    /// The kind of this name.
    pub(crate) fn of(media_type: &str) -> Option<Kind> {
        Kind::all().find(|kind| kind.media_type == media_type)
    }

    /// What a file is of which `head` are the first bytes, `whole` if it has no more.
    pub(super) fn told_by(head: &[u8], whole: bool, declared: &str) -> Option<Kind> {
        let marked = Kind::all().find(|kind| kind.has_mark(head));
        let text = || Kind::of(declared).filter(|kind| kind.mark == Mark::Text && is_text(head, whole));
        marked.or_else(text)
    }

    fn has_mark(&self, head: &[u8]) -> bool {
        let at = |place: usize, bytes: &[u8]| head.get(place..place + bytes.len()) == Some(bytes);
        match self.mark {
            Mark::Bytes(marks) => marks.iter().all(|(place, bytes)| at(*place, bytes)),
            Mark::Brand(brands) => at(4, b"ftyp") && brands.iter().any(|brand| at(8, brand)),
            Mark::Text => false,
        }
    }
}

fn is_text(head: &[u8], whole: bool) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // Cut within a character.
        Err(error) if !whole && error.error_len().is_none() => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or("\0")
        }
        Err(_) => return false,
    };
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{c}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_first_bytes() {
        let told =
            |head: &[u8], declared: &str| Kind::told_by(head, true, declared).map(|kind| kind.media_type);
        for (head, declared, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "text/plain", Some("image/png")),
            (b"\x89PNG\r\n\x1a\n", "image/png", None),
            (b"\xff\xd8\xff\xe0", "image/png", Some("image/jpeg")),
            (b"GIF89a", "", Some("image/gif")),
            (b"GIF8", "image/gif", None),
            (b"RIFF\0\0\0\0WEBPVP8L", "", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVEfmt ", "image/webp", None),
            (b"%PDF-1.7", "image/png", Some("application/pdf")),
            (b" %PDF-1.7", "application/pdf", None),
            (b"\0\0\0 ftypavif", "", Some("image/avif")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", None),
            (b"<html>", "image/png", None),
            (b"<html>", "text/plain", Some("text/plain")),
            ("a;é\r\n1;2".as_bytes(), "text/csv", Some("text/csv")),
            (b"a\0b", "text/plain", None),
            (b"a\x1b[2J", "text/plain", None),
            (b"\xff\xfe", "text/plain", None),
            (b"MZ\x90\0", "application/x-msdownload", None),
            (b"", "image/png", None),
        ] {
            assert_eq!(told(head, declared), expected, "{head:?} {declared}");
        }
        // A head that ends within a character is text, a file that does is none.
        assert!(Kind::told_by(b"abc\xc3", false, "text/plain").is_some());
        assert!(Kind::told_by(b"abc\xc3", true, "text/plain").is_none());
    }
}
