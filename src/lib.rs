//! The SDK: `<mindset-agent>` and the UI-less client, as a thin browser adapter
//! over `mindset-core`.
