//! Just enough HTTP/1.1: one request on a connection of its own, and the body of its answer
//! piece by piece.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest head that is read.
const HEAD: usize = 64 * 1024;

/// An answer whose body is still to come.
pub(crate) struct Answer {
    socket: TcpStream,
    /// The status.
    pub(crate) status: u16,
    buffer: Vec<u8>,
    framing: Framing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Bytes still to come.
    Length(usize),
    /// Bytes left of the chunk that is read; 0 before its size line.
    Chunked(usize),
    Over,
}

/// Posts JSON and reads the head of the answer.
///
/// # Errors
/// The connection failed, or what came is no HTTP.
pub(crate) async fn post(address: &str, path: &str, headers: &str, body: &str) -> Result<Answer, String> {
    let mut socket = TcpStream::connect(address).await.map_err(|error| format!("connecting: {error}"))?;
    let _ = socket.set_nodelay(true);
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.map_err(|error| format!("sending: {error}"))?;
    let mut buffer = Vec::with_capacity(1024);
    let end = loop {
        if let Some(end) = find(&buffer, b"\r\n\r\n") {
            break end;
        }
        if buffer.len() > HEAD {
            return Err("the head of the answer has no end".to_owned());
        }
        more(&mut socket, &mut buffer).await?;
    };
    let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_ascii_lowercase();
    buffer.drain(..end + 4);
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or("no status line")?;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let framing = match (field("transfer-encoding:"), field("content-length:")) {
        (Some("chunked"), _) => Framing::Chunked(0),
        (_, Some(length)) => Framing::Length(length.parse().map_err(|_| "no length")?),
        _ => return Err("the answer says not how long it is".to_owned()),
    };
    Ok(Answer { socket, status, buffer, framing })
}

impl Answer {
    /// The next bytes of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection broke before the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            match self.framing {
                Framing::Over | Framing::Length(0) => return Ok(None),
                Framing::Length(left) if !self.buffer.is_empty() => {
                    let taken = self.take(left);
                    self.framing = Framing::Length(left - taken.len());
                    return Ok(Some(taken));
                }
                Framing::Chunked(0) => {
                    if self.chunk_size()? {
                        continue;
                    }
                }
                Framing::Chunked(left) if !self.buffer.is_empty() => {
                    let taken = self.take(left);
                    self.framing = Framing::Chunked(left - taken.len());
                    return Ok(Some(taken));
                }
                Framing::Length(_) | Framing::Chunked(_) => {}
            }
            more(&mut self.socket, &mut self.buffer).await?;
        }
    }

    /// The whole body as text.
    ///
    /// # Errors
    /// The connection broke before the end.
    pub(crate) async fn text(mut self) -> Result<String, String> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend(bytes);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Reads the line with the size of the next chunk, if it is there.
    fn chunk_size(&mut self) -> Result<bool, String> {
        // The end of the chunk before.
        if self.buffer.starts_with(b"\r\n") {
            self.buffer.drain(..2);
        }
        let Some(end) = find(&self.buffer, b"\r\n").filter(|end| *end > 0) else { return Ok(false) };
        let line = String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default()).into_owned();
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| format!("no chunk size: {line}"))?;
        self.buffer.drain(..end + 2);
        self.framing = if size == 0 { Framing::Over } else { Framing::Chunked(size) };
        Ok(true)
    }

    fn take(&mut self, most: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(most.min(self.buffer.len()));
        std::mem::replace(&mut self.buffer, rest)
    }
}

async fn more(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(), String> {
    // On the stack only for the time of the read: thousands of streams wait here.
    socket.readable().await.map_err(|error| format!("reading: {error}"))?;
    match socket.read_buf(buffer).await {
        Ok(0) => Err("the connection broke".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("reading: {error}")),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
