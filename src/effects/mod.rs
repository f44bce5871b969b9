//! What a session asks for, one file per kind of output. Nothing in here calls the
//! machine from inside an effect; answers come back as inputs.

pub(crate) mod event;
pub(crate) mod fetch;
pub(crate) mod later;
pub(crate) mod owner;
pub(crate) mod promise;
pub(crate) mod storage;
pub(crate) mod timer;
pub(crate) mod tool;
pub(crate) mod watch;
