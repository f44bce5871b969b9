//! The panic hook. A panic ends this instance of the module: the hook says once
//! what happened and where, and the shell starts a fresh instance.

/// Installs the hook.
pub(crate) fn install() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|info| {
        use std::sync::atomic::{AtomicBool, Ordering};
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            let (file, line) = info.location().map_or(("", 0), |place| (place.file(), place.line()));
            let line = mindset_core::json::digits(line.into());
            let text = [
                "mindset-agent: internal fault: ",
                info.payload_as_str().unwrap_or_default(),
                " at ",
                file,
                ":",
                &line,
            ];
            web_sys::console::error_1(&mindset_core::json::concat(&text).into());
        }
    }));
}
