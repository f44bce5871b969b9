//! AG-UI 1.0: the event and input types, decoding and encoding by hand (a derived
//! decoder costs every visitor 82 KB), and the order rules. One table says what an
//! event must look like; the browser reads events as checked JSON ([`Reading`]),
//! the server takes them apart into types.
//!
//! The rules of reading are the protocol's: an event type nobody knows is skipped
//! with a warning, a known field of the wrong type is fatal, unknown fields are
//! ignored.

mod check;
mod decode;
mod encode;
mod event;
mod fields;
mod input;
mod message;
mod order;
mod reading;
mod shapes;
mod table;

pub use decode::{DecodeError, decode_event, decode_input};
pub use encode::{encode_event, encode_input, encode_interrupt};
pub use event::{Body, Event, Interrupt, Outcome, TextRole, TokenUsage};
pub use input::{Content, Context, Message, ResumeEntry, Role, RunAgentInput, Tool, ToolCall};
pub use order::{Order, Violation};
pub use reading::Reading;

/// The protocol version this project speaks.
pub const PROTOCOL_VERSION: &str = "1.0";
