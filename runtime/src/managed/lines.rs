//! What a service writes, for the log: line by line, never too much of it, and without what the
//! runtime gave it in confidence.

use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::mcp::Mask;

/// Bytes of one line; what is longer is cut.
const LINE: usize = 2000;

/// Lines of one stream in each [`WINDOW`]; the others are counted.
const LINES: usize = 100;
const WINDOW: Duration = Duration::from_secs(1);

/// One stream of a service.
pub(super) struct Stream {
    /// The service, as the log calls it.
    pub(super) service: String,
    /// Whether it is where programs write what is wrong: told at `info`, the other at `debug`.
    pub(super) errors: bool,
    /// What is taken out.
    pub(super) mask: Mask,
}

impl Stream {
    /// Reads to the end. A service is never kept from writing.
    pub(super) async fn follow(self, mut from: impl AsyncRead + Unpin) {
        let (mut lines, mut bytes) = (Lines::default(), vec![0; 8192]);
        let (mut end, mut told, mut left_out) = (Instant::now() + WINDOW, 0, 0_usize);
        loop {
            let read = tokio::select! {
                read = from.read(&mut bytes) => read,
                () = tokio::time::sleep_until(end.into()), if told > 0 => {
                    self.left_out(std::mem::take(&mut left_out));
                    (end, told) = (Instant::now() + WINDOW, 0);
                    continue;
                }
            };
            let Ok(read @ 1..) = read else { break };
            for line in lines.push(bytes.get(..read).unwrap_or_default()) {
                if told == 0 {
                    end = Instant::now() + WINDOW;
                }
                told += 1;
                if told > LINES { left_out += 1 } else { self.tell(&line) }
            }
        }
        self.left_out(left_out);
        if let Some(line) = lines.rest() {
            self.tell(&line);
        }
    }

    fn tell(&self, line: &[u8]) {
        let line = printable(&self.mask.apply(String::from_utf8_lossy(line).into_owned()));
        match self.errors {
            true => tracing::info!(service = self.service, "{line}"),
            false => tracing::debug!(service = self.service, "{line}"),
        }
    }

    fn left_out(&self, lines: usize) {
        if lines > 0 {
            tracing::info!(service = self.service, lines, "the service writes too much, lines are left out");
        }
    }
}

/// Bytes to lines.
#[derive(Default)]
struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// The lines that end in `bytes`; empty ones are none.
    fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut pieces = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(piece) = pieces.next() {
            let room = LINE.saturating_sub(self.open.len());
            self.open.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if pieces.peek().is_some() {
                lines.extend(self.rest());
            }
        }
        lines
    }

    /// What stands behind the last end of a line.
    fn rest(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.open);
        (!line.iter().all(u8::is_ascii_whitespace)).then_some(line)
    }
}

/// Nothing that a terminal obeys or that begins a line of its own.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut all: Vec<Vec<u8>> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
        all.extend(lines.rest());
        all.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    #[test]
    fn lines_in_any_pieces() {
        assert_eq!(lines(&[b"a\nb", b"c\r\n\n  \nd"]), ["a", "bc", "d"]);
        assert_eq!(lines(&[b"", b"\n"]), [""; 0]);
        let long = vec![b'x'; 3 * LINE];
        let cut = lines(&[&long, &long, b"\nshort"]);
        assert_eq!((cut.len(), cut[0].len(), cut[1].as_str()), (2, LINE, "short"));
    }

    #[test]
    fn what_terminals_obey_is_taken_out() {
        assert_eq!(printable("a\u{1b}[31mb\tc\u{7}é"), "a\u{fffd}[31mb\tc\u{fffd}é");
    }
}
