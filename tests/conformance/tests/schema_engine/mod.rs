//! The engines that the adapters lend to schemas, from the adapters' own sources:
//! the crate `regress` natively, `RegExp` with `u` in JavaScript.

#[cfg(not(target_arch = "wasm32"))]
#[path = "../../../../runtime/src/pattern.rs"]
mod pattern;

#[cfg(target_arch = "wasm32")]
#[path = "../../../../src/pattern.rs"]
mod pattern;

pub(crate) use pattern::Patterns as Engine;
