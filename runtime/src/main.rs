//! The agent runtime.
fn main() {}
