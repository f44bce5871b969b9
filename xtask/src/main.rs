//! Build and test commands.
fn main() {}
