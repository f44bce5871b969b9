//! The compiled module in two: what a page needs before it has sent a message, and what can
//! come later.
//!
//! The first part keeps memory, tables, globals, and the data that its functions reach; other
//! data is written by the later part when it starts. The first part reaches a function of the later
//! part through a stub and a slot of the table:
//!
//! ```text
//! first part                                    later part
//! stub: later part not there? call `load`       function
//!       call what stands in the slot  ───────►  slot: that function, written when it starts
//! ```
//!
//! `load` is imported and returns when the later part is there, so that a call is right
//! whenever it comes; a function whose address is taken has its stub in its slot until then.
//! What goes where decides about speed and size alone.

mod data;
mod encode;
mod place;
mod reach;
mod source;

use anyhow::{Context, Result, bail};

use crate::settings::Split;
use reach::Reach;
use source::Source;

/// Module and name of the import through which the first part asks for the later one.
const LOAD: (&str, &str) = ("l", "l");

/// Module from which the later part imports what the first one has.
const FIRST: &str = "p";

/// Both parts.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) first: Vec<u8>,
    pub(crate) later: Vec<u8>,
}

/// Cuts a module that has a name section. The parts have one only if they are told to keep it.
/// `linked` is what the linker made and the binding generator was given.
pub(crate) fn split(wasm: &[u8], linked: &[u8], settings: &Split, keep_names: bool) -> Result<Parts> {
    let source = Source::read(wasm)?;
    let plan = place::plan(&source, &Reach::read(linked)?, settings)?;
    if plan.later.is_empty() {
        bail!("no function of the module goes into the later part: see [split] in wasm-pack.toml");
    }
    Ok(Parts {
        first: encode::first(&source, &plan, keep_names).context("the first part cannot be written")?,
        later: encode::later(&source, &plan, keep_names).context("the later part cannot be written")?,
    })
}
