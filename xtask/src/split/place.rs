//! Which function goes where.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Context, Result, bail};

use super::data::segments;
use super::reach::Reach;
use super::source::{Source, Uses};
use crate::names;
use crate::settings::Split;

/// What goes where.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The functions of the later part.
    pub(super) later: BTreeSet<u32>,
    /// Those that the first part calls or that stand in the table, with the slot of each.
    pub(super) stubs: BTreeMap<u32, u32>,
    /// Slots that the table has no more room for.
    pub(super) extra: u32,
    /// The addresses whose data the later part brings along, in order.
    pub(super) data: Vec<Range<u32>>,
}

/// Decides by name, then by reach: what only the later part calls goes there too.
pub(super) fn plan(source: &Source<'_>, reach: &Reach<'_>, settings: &Split) -> Result<Plan> {
    let mut named = BTreeSet::new();
    let mut calls = BTreeMap::new();
    for (function, body) in source.bodies() {
        if settings.is_later(&name_of(source, function)) {
            named.insert(function);
        }
        let mut uses = Uses::default();
        uses.add(body)?;
        calls.insert(function, uses.functions);
    }
    let first = reached(source, &named, &calls);
    let mut plan = Plan {
        later: calls.keys().copied().filter(|function| !first.contains(function)).collect(),
        ..Plan::default()
    };
    for (slot, function) in &source.slots {
        if plan.later.contains(function) {
            plan.stubs.entry(*function).or_insert(*slot);
        }
    }
    let room = source.tables.first().context("the wasm has no table of functions")?.initial as u32;
    let exported = source.exports.iter().filter(is_function).map(|export| export.index);
    let called = first.iter().filter_map(|function| calls.get(function)).flatten().copied();
    for function in called.chain(exported).collect::<BTreeSet<u32>>() {
        if plan.later.contains(&function) && !plan.stubs.contains_key(&function) {
            plan.stubs.insert(function, room + plan.extra);
            plan.extra += 1;
        }
    }
    plan.data = later_data(source, reach, &plan.later)?;
    Ok(plan)
}

fn later_data(source: &Source<'_>, reach: &Reach<'_>, later: &BTreeSet<u32>) -> Result<Vec<Range<u32>>> {
    if segments(source.data.as_ref())? != reach.segments {
        bail!("the binding generator has changed the data: what the linker said of it no longer holds");
    }
    let mut is_first: BTreeMap<String, bool> = BTreeMap::new();
    for (function, _) in source.bodies() {
        *is_first.entry(name_of(source, function)).or_default() |= !later.contains(&function);
    }
    // A few the generator has renamed: they count as the first part's.
    Ok(reach.later(|name| is_first.get(name).copied().unwrap_or(true)))
}

fn name_of(source: &Source<'_>, function: u32) -> String {
    source.names.get(&function).map(|name| names::plain(name)).unwrap_or_default()
}

fn is_function(export: &&wasmparser::Export<'_>) -> bool {
    export.kind == wasmparser::ExternalKind::Func
}

/// What is called from outside, or whose address is taken, and everything that this calls.
fn reached(
    source: &Source<'_>,
    named: &BTreeSet<u32>,
    calls: &BTreeMap<u32, BTreeSet<u32>>,
) -> BTreeSet<u32> {
    let exported = source.exports.iter().filter(is_function).map(|export| export.index);
    let mut open: Vec<u32> = exported.chain(source.start).chain(source.slots.values().copied()).collect();
    let mut first = BTreeSet::new();
    while let Some(function) = open.pop() {
        if !named.contains(&function) && first.insert(function) {
            open.extend(calls.get(&function).into_iter().flatten());
        }
    }
    first
}
