//! Limits that page and runtime both hold to: the page says so early, the runtime
//! believes no page.

/// Characters (Unicode scalar values) of a message.
pub const MESSAGE: usize = 100_000;

/// Characters of a conversation's title.
pub const TITLE: usize = 200;

/// Tools of a page, and tools that a model is offered at once: some providers refuse
/// a request with more.
pub const TOOLS: usize = 128;

/// Characters of a tool's name towards models.
pub const TOOL_NAME: usize = 64;

/// Bytes of all schemas and descriptions of a page's tools together.
pub const TOOL_SCHEMAS: usize = 256 * 1024;

/// Characters of what a person says about an answer.
pub const COMMENT: usize = 2_000;
