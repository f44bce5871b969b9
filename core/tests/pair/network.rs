//! How bytes travel from the server to a page.

use mindset_core::session::{FetchFailure, FetchId};

use super::{Effect, Part};

/// The network's manners.
#[derive(Default)]
pub struct Network {
    /// Milliseconds one way.
    pub latency: u64,
    /// Streams arrive in pieces of this many bytes; 0 as they were written.
    pub chunk: usize,
    /// What happens to the next stream.
    pub cut: Option<Cut>,
    /// So many streams are let through before that.
    pub spare: usize,
    /// What happens to the next request for a run.
    pub lose: Option<Lose>,
    /// So many runs are let through before that.
    pub spare_runs: usize,
    /// No request gets through.
    pub dead: bool,
    /// What happens to any stream that has nothing before it: asked for each.
    pub weather: Option<Weather>,
}

/// The fate of the next stream.
pub type Weather = Box<dyn FnMut() -> Option<Cut>>;

/// The end of a request before its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lose {
    /// After so many bytes of its body: the server has less than all.
    Request(usize),
    /// The server has it all, and the answer is lost.
    Answer,
}

/// The end of a stream before its end.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// After this many bytes.
    pub after: usize,
    /// Looks like a proper end instead of an error.
    pub clean: bool,
    /// Does not look like an end at all: nothing comes any more.
    pub stall: bool,
}

impl Cut {
    /// A connection that breaks.
    pub fn broken(after: usize) -> Cut {
        Cut { after, clean: false, stall: false }
    }

    /// A stream that ends too early.
    pub fn clean(after: usize) -> Cut {
        Cut { after, clean: true, stall: false }
    }

    /// A connection that goes silent.
    pub fn silent(after: usize) -> Cut {
        Cut { after, clean: false, stall: true }
    }
}

/// The server's end of one stream.
pub struct Reader {
    pub page: usize,
    pub fetch: FetchId,
    chunk: usize,
    cut: Option<Cut>,
    /// Bytes that wait for a whole chunk.
    held: Vec<u8>,
    /// Bytes written, before any cut.
    written: usize,
    closed: bool,
}

impl Reader {
    pub fn new(page: usize, fetch: FetchId, network: &mut Network) -> Reader {
        let cut = match network.spare.checked_sub(1) {
            Some(spare) => {
                network.spare = spare;
                None
            }
            None => network.cut.take().or_else(|| network.weather.as_mut().and_then(|weather| weather())),
        };
        Reader { page, fetch, chunk: network.chunk, cut, held: Vec::new(), written: 0, closed: false }
    }

    /// Writes bytes to the stream.
    pub fn write(&mut self, bytes: &[u8], out: &mut Vec<Effect>) {
        let room = self.cut.map_or(usize::MAX, |cut| cut.after.saturating_sub(self.written));
        self.written += bytes.len();
        if self.closed {
            return;
        }
        self.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.flush(false, out);
        if let Some(cut) = self.cut.filter(|cut| self.written >= cut.after) {
            let broken = FetchFailure { message: "network error".to_owned() };
            if cut.stall {
                self.flush(true, out);
                self.closed = true;
                return;
            }
            self.end(if cut.clean { Ok(()) } else { Err(broken) }, out);
        }
    }

    /// Ends the stream, unless it was cut.
    pub fn end(&mut self, result: Result<(), FetchFailure>, out: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.closed, true) {
            self.flush(true, out);
            self.send(Part::End(result), out);
        }
    }

    fn flush(&mut self, all: bool, out: &mut Vec<Effect>) {
        let held = std::mem::take(&mut self.held);
        if self.chunk == 0 {
            return self.send(Part::Bytes(held), out);
        }
        for piece in held.chunks(self.chunk) {
            if all || piece.len() == self.chunk {
                self.send(Part::Bytes(piece.to_vec()), out);
            } else {
                self.held = piece.to_vec();
            }
        }
    }

    fn send(&self, part: Part, out: &mut Vec<Effect>) {
        if matches!(&part, Part::Bytes(bytes) if bytes.is_empty()) {
            return;
        }
        out.push(Effect::Send { page: self.page, fetch: self.fetch, part });
    }
}
