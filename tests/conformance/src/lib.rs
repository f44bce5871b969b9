//! Core against public conformance data; see `tests/`.
