//! Server-sent events: bytes to frames by the WHATWG grammar, at any split, and
//! frames to text.
//!
//! A browser's `EventSource` cannot post, so the stream is read from a response
//! body, whose pieces end anywhere: inside a character, a line end or the byte
//! order mark. Bytes therefore wait in one buffer until their line is whole, and
//! only whole lines are read.

use crate::json::{cut, lossy, number};

/// One dispatched event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The event type, `message` unless the stream says otherwise.
    pub event: String,
    /// The `data` lines, joined by LF.
    pub data: String,
    /// The last event id at this point of the stream; empty if none was set.
    pub id: String,
}

impl Frame {
    /// Whether this is nothing but a sign of life: servers send comments as data
    /// by mistake, or empty data. Skip it.
    pub fn is_keep_alive(&self) -> bool {
        self.data.is_empty() || self.data.starts_with(':')
    }
}

/// An event is over the size bound; the stream cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The bound, in bytes.
    pub limit: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an event of the stream is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for TooLarge {}

/// Bytes in, frames out.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// What was pushed and not read yet starts at `at`, a line start.
    buffer: Vec<u8>,
    at: usize,
    /// No line end stands between `at` and here, so no byte is looked at twice.
    searched: usize,
    /// Nothing was read yet, so a byte order mark may come.
    start: bool,
    /// The last line ended with CR: an LF right after it belongs to it.
    after_cr: bool,
    too_large: bool,
    event: String,
    data: String,
    id: String,
    retry: Option<u64>,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Decoder {
    /// A decoder at the beginning of a stream that refuses events over `limit`
    /// bytes.
    pub fn new(limit: usize) -> Decoder {
        Decoder {
            limit,
            buffer: Vec::new(),
            at: 0,
            searched: 0,
            start: true,
            after_cr: false,
            too_large: false,
            event: String::new(),
            data: String::new(),
            id: String::new(),
            retry: None,
        }
    }

    /// Takes the next bytes, split anywhere. Drain
    /// [`next_frame`](Self::next_frame) afterwards, or they pile up here.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.too_large {
            return;
        }
        // Once a push, not once a line: what is read leaves the buffer together.
        let rest = self.buffer.len() - self.at;
        self.buffer.copy_within(self.at.., 0);
        self.buffer.truncate(rest);
        self.searched -= self.at;
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event, until there is none. What stands at the end of the
    /// stream without its empty line is never an event.
    ///
    /// # Errors
    /// [`TooLarge`], for ever after.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, TooLarge> {
        while !self.too_large {
            let Some((start, end)) = self.next_line() else {
                self.too_large = self.data.len() + self.buffer.len() - self.at > self.limit;
                break;
            };
            if start == end {
                if let Some(frame) = self.dispatch() {
                    return Ok(Some(frame));
                }
                continue;
            }
            // A line that is not UTF-8 is read with U+FFFD in place of what is
            // broken. Line ends are ASCII, so a broken character cannot cross them.
            let buffer = std::mem::take(&mut self.buffer);
            self.field(&lossy(buffer.get(start..end).unwrap_or_default()));
            self.buffer = buffer;
            self.too_large = self.data.len() > self.limit;
        }
        if self.too_large {
            self.buffer = Vec::new();
            self.data = String::new();
            return Err(TooLarge { limit: self.limit });
        }
        Ok(None)
    }

    /// The last `retry` value, in milliseconds.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Where the next whole line begins and ends, without its line end.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        if self.start {
            let begin = self.buffer.get(..BOM.len().min(self.buffer.len())).unwrap_or_default();
            if begin.len() < BOM.len() && BOM.starts_with(begin) {
                return None;
            }
            self.start = false;
            if begin == BOM {
                self.skip(BOM.len());
            }
        }
        if self.after_cr {
            self.after_cr = self.at == self.buffer.len();
            if self.buffer.get(self.at) == Some(&b'\n') {
                self.skip(1);
            }
        }
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = rest.iter().position(|&b| b == b'\n' || b == b'\r') else {
            self.searched = self.buffer.len();
            return None;
        };
        let (start, end) = (self.at, self.searched + found);
        self.after_cr = rest.get(found) == Some(&b'\r');
        self.skip(end + 1 - start);
        Some((start, end))
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        self.searched = self.at;
    }

    fn field(&mut self, line: &str) {
        // A comment has an empty name, which is no field.
        let (name, value) = cut(line, b':');
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.event),
            "id" if !value.bytes().any(|b| b == 0) => value.clone_into(&mut self.id),
            "retry" => self.retry = number(value).or(self.retry),
            _ => {}
        }
    }

    /// The event that an empty line ends; one without any `data` is none.
    fn dispatch(&mut self) -> Option<Frame> {
        let mut event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        if event.is_empty() {
            event.push_str("message");
        }
        Some(Frame { event, data, id: self.id.clone() })
    }
}

/// One event as text: `id` if not empty, `data`, which is JSON, split at every line end so
/// that no payload can forge a field, LF only.
///
/// Readers that cut lines the way Python does take more for a line end than the standard: what
/// JSON leaves as it is of these is written as an escape.
pub fn encode(id: &str, data: &str) -> String {
    let mut out = String::with_capacity(id.len() + data.len() + 16);
    // An id cannot say a line end or NUL; a reader would misread it or drop it.
    let id: String = id.chars().filter(|c| !matches!(c, '\0' | '\n' | '\r')).collect();
    if !id.is_empty() {
        out.push_str("id: ");
        out.push_str(&id);
        out.push('\n');
    }
    let mut rest = data;
    while let Some(end) = rest.find(['\r', '\n']) {
        let (line, after) = rest.split_at(end);
        push_data(&mut out, line);
        rest = after.strip_prefix("\r\n").or_else(|| after.get(1..)).unwrap_or("");
    }
    push_data(&mut out, rest);
    out.push('\n');
    out
}

fn push_data(out: &mut String, line: &str) {
    out.push_str("data: ");
    let mut rest = line;
    while let Some(at) = rest.find(SEPARATORS) {
        let (plain, after) = rest.split_at(at);
        let mut characters = after.chars();
        out.push_str(plain);
        out.push_str(match characters.next() {
            Some('\u{85}') => "\\u0085",
            Some('\u{2028}') => "\\u2028",
            _ => "\\u2029",
        });
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('\n');
}

/// Line ends to some, and plain characters to JSON and to the standard.
const SEPARATORS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn read(pieces: &[&[u8]]) -> Vec<(String, String, String)> {
        let mut decoder = Decoder::new(1 << 20);
        let mut frames = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            while let Some(f) = decoder.next_frame().unwrap() {
                frames.push((f.event, f.data, f.id));
            }
        }
        frames
    }

    fn message(data: &str, id: &str) -> (String, String, String) {
        ("message".to_owned(), data.to_owned(), id.to_owned())
    }

    #[test]
    fn grammar_at_every_split() {
        for (text, frames) in [
            ("data: A\r\ndata: B\r\ndata: C\r\n\r\n", vec![message("A\nB\nC", "")]),
            ("\u{feff}data: A\r\ndata: B\r\ndata: C\r\n\r\n", vec![message("A\nB\nC", "")]),
            ("data: {\"t\":\"你🙂\"}\n\n", vec![message("{\"t\":\"你🙂\"}", "")]),
            (": alive\n\ndata\n\nid: 7\n\ndata:x\n\n", vec![message("", ""), message("x", "7")]),
            (
                "id: 1\ndata: a\n\nid: b\0\ndata: b\n\nid\ndata: c\r\r",
                vec![message("a", "1"), message("b", "1"), message("c", "")],
            ),
            ("data: not ended\n", vec![]),
        ] {
            let bytes = text.as_bytes();
            for i in 0..=bytes.len() {
                for j in i..=bytes.len() {
                    let pieces = [&bytes[..i], &bytes[i..j], &bytes[j..]];
                    assert_eq!(read(&pieces), frames, "{text:?} split at {i} and {j}");
                }
            }
        }
    }

    #[test]
    fn retry_takes_digits_only() {
        let mut decoder = Decoder::new(100);
        decoder.push(b"retry: 3000\nretry: 10x\nretry\nretry: -1\nretry: 99999999999999999999\n");
        assert_eq!(decoder.next_frame(), Ok(None));
        assert_eq!(decoder.retry(), Some(3000));
    }

    #[test]
    fn one_event_is_bounded_but_not_the_stream() {
        let mut decoder = Decoder::new(100);
        for _ in 0..100 {
            decoder.push(b"data: 0123456789012345678901234567890123456789\n\n");
            assert!(decoder.next_frame().is_ok_and(|f| f.is_some()));
        }
        let mut line = Decoder::new(100);
        let mut lines = Decoder::new(100);
        for _ in 0..10 {
            line.push(b"data: 01234567890123456789");
            lines.push(b"data: 01234567890123456789\n");
            let _ = (line.next_frame(), lines.next_frame());
        }
        let mut whole = Decoder::new(100);
        whole.push(format!("{}\n", "data: 01234567890123456789\n".repeat(10)).as_bytes());
        let error = Err(TooLarge { limit: 100 });
        assert_eq!(whole.next_frame(), error);
        assert_eq!((line.next_frame(), lines.next_frame()), (error.clone(), error.clone()));
        line.push(b"\n\ndata: x\n\n");
        assert_eq!(line.next_frame(), error);
    }

    #[test]
    fn what_is_encoded_is_one_event_of_the_same_text() {
        assert_eq!(encode("r:1", "{}"), "id: r:1\ndata: {}\n\n");
        for data in ["", "a", "a\nb", "a\r\nid: 9\rretry: 1\n\ndata: x\n", ": no comment", " space"] {
            let text = encode("1", data);
            assert!(!text.contains('\r'));
            let lines = data.replace("\r\n", "\n").replace('\r', "\n");
            assert_eq!(read(&[text.as_bytes()]), vec![message(&lines, "1")]);
        }
        assert_eq!(encode("1\n\ndata: forged\0", "x"), "id: 1data: forged\ndata: x\n\n");
        let separators = "\"a\u{85}\u{2028}b\u{2029}\"";
        let text = encode("1", separators);
        assert_eq!(text, "id: 1\ndata: \"a\\u0085\\u2028b\\u2029\"\n\n");
        let (_, data, _) = read(&[text.as_bytes()]).remove(0);
        assert_eq!(crate::json::parse(&data), crate::json::parse(separators));
    }
}
