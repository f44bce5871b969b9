//! The SDK: `<mindset-agent>` and the UI-less client, as a thin adapter over
//! `mindset-core` for pages, workers and Node.
//!
//! The core decides, this crate does: [`Agent`] is the handle that the custom
//! element and the client forward to, `driver` moves one session, `effects` performs what it
//! asks for, `dom` draws. The element's class and the loader of this module are
//! JavaScript (`src/element/*.js`) and hold no state of a conversation.

mod chat;
mod convert;
mod dom;
mod driver;
mod effects;
mod element;
mod error;
mod guard;
mod host;
mod page;
mod pattern;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

pub use element::Agent;
pub use page::{init, install};

#[cfg(test)]
#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
