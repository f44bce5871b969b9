//! The panic hook. A panic ends this instance of the module: the hook says once
//! what happened and where, and the shell starts a fresh instance.

/// Installs the hook.
pub(crate) fn install() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|info| {
        use std::sync::atomic::{AtomicBool, Ordering};
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            let text = ["mindset-agent: internal fault: ", &info.to_string()].concat();
            web_sys::console::error_1(&text.into());
        }
    }));
}
