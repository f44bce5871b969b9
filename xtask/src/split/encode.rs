//! Both parts as they are written.

use std::collections::BTreeMap;
use std::io;

use anyhow::{Context, Result, anyhow};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataCountSection, ElementSection, Elements, EntityType,
    ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType, ImportSection,
    Instruction, Module, NameMap, NameSection, RawSection, SectionId, StartSection, TableSection, ValType,
};
use wasmparser::ExternalKind;

use super::place::Plan;
use super::source::{Source, Uses};
use super::{FIRST, LOAD, data};

/// Whether the later part is there.
const THERE: GlobalType = GlobalType { val_type: ValType::I32, mutable: true, shared: false };

/// The part that a page loads first.
pub(super) fn first(source: &Source<'_>, plan: &Plan, keep_names: bool) -> Result<Vec<u8>> {
    let nothing = source.nothing.context("the wasm has no function type without values")?;
    let imported = source.imported();
    let mut map = Renumber::default();
    map.functions.extend((0..imported).map(|function| (function, function)));
    let load = imported;
    let kept: Vec<_> = source.bodies().filter(|(function, _)| !plan.later.contains(function)).collect();
    map.functions.extend(kept.iter().map(|(function, _)| *function).zip(load + 1..));
    let check = load + 1 + kept.len() as u32;
    map.functions.extend(plan.stubs.keys().copied().zip(check + 1..));
    let there = source.globals.len() as u32;

    let mut imports = imported_by(source, 0..imported, &mut map)?;
    imports.import(LOAD.0, LOAD.1, EntityType::Function(nothing));
    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
    for (function, body) in kept {
        functions.function(source.type_of(function)?);
        map.parse_function_body(&mut code, body.clone()).map_err(said)?;
    }
    functions.function(nothing);
    code.function(&check_body(there, load));
    for (function, slot) in &plan.stubs {
        let ty = source.type_of(*function)?;
        functions.function(ty);
        code.function(&stub(source, ty, *slot, check)?);
    }
    let mut globals = GlobalSection::new();
    if let Some(section) = source.global_section.clone() {
        map.parse_global_section(&mut globals, section).map_err(said)?;
    }
    globals.global(THERE, &ConstExpr::i32_const(0));

    let mut module = start_of_module(source, &imports, &functions);
    module.section(&first_tables(source, plan)?);
    module.section(&RawSection { id: SectionId::Memory as u8, data: source.memory_section });
    module.section(&globals);
    module.section(&first_exports(source, plan, &mut map, there)?);
    if let Some(start) = source.start {
        module.section(&StartSection { function_index: map.function(start)? });
    }
    let extra = plan.stubs.iter().map(|(function, slot)| (*slot, *function));
    let slots = source.slots.iter().map(|(slot, function)| (*slot, *function)).chain(extra).collect();
    module.section(&elements(&slots, &map)?);
    let [data, _] = data::parted(&data::segments(source.data.as_ref())?, &plan.data);
    if source.counts_data {
        module.section(&DataCountSection { count: data.len() as u32 });
    }
    module.section(&code);
    module.section(&data::section(&data));
    Ok(end_of_module(module, source, &map, keep_names))
}

/// The part that comes later.
pub(super) fn later(source: &Source<'_>, plan: &Plan, keep_names: bool) -> Result<Vec<u8>> {
    let nothing = source.nothing.context("the wasm has no function type without values")?;
    let uses = uses_of_later(source, plan)?;
    let mut map = Renumber::default();
    let foreign: Vec<u32> = uses.functions.iter().copied().filter(|f| !plan.later.contains(f)).collect();
    map.functions.extend(foreign.iter().chain(&plan.later).copied().zip(0..));
    map.tables.extend(uses.tables.iter().copied().zip(0..));
    map.globals.extend(uses.globals.iter().copied().zip(0..));
    let there = uses.globals.len() as u32;

    let outside = foreign.iter().copied().filter(|function| *function < source.imported());
    let mut imports = imported_by(source, outside, &mut map)?;
    for function in foreign.iter().filter(|function| **function >= source.imported()) {
        let ty = EntityType::Function(source.type_of(*function)?);
        imports.import(FIRST, &name_of(source, ExternalKind::Func, *function), ty);
    }
    for table in &uses.tables {
        let mut ty = *source.tables.get(*table as usize).context("a table is missing")?;
        grow(&mut ty, *table, plan);
        let ty = EntityType::Table(map.table_type(ty).map_err(said)?);
        imports.import(FIRST, &name_of(source, ExternalKind::Table, *table), ty);
    }
    let memory = source.memory.context("the wasm has no memory")?;
    let ty = EntityType::Memory(map.memory_type(memory).map_err(said)?);
    imports.import(FIRST, &name_of(source, ExternalKind::Memory, 0), ty);
    for global in &uses.globals {
        let ty = *source.globals.get(*global as usize).context("a global is missing")?;
        let ty = EntityType::Global(map.global_type(ty).map_err(said)?);
        imports.import(FIRST, &name_of(source, ExternalKind::Global, *global), ty);
    }
    imports.import(
        FIRST,
        &own_name(ExternalKind::Global, source.globals.len() as u32),
        EntityType::Global(THERE),
    );

    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
    for (function, body) in source.bodies().filter(|(function, _)| plan.later.contains(function)) {
        functions.function(source.type_of(function)?);
        map.parse_function_body(&mut code, body.clone()).map_err(said)?;
    }
    functions.function(nothing);
    code.function(&started(there));

    let mut module = start_of_module(source, &imports, &functions);
    module.section(&StartSection { function_index: (foreign.len() + plan.later.len()) as u32 });
    let mut slots: BTreeMap<u32, u32> = source.slots.clone();
    slots.retain(|_, function| plan.later.contains(function));
    slots.extend(plan.stubs.iter().map(|(function, slot)| (*slot, *function)));
    module.section(&elements(&slots, &map)?);
    module.section(&code);
    let [_, data] = data::parted(&data::segments(source.data.as_ref())?, &plan.data);
    module.section(&data::section(&data));
    Ok(end_of_module(module, source, &map, keep_names))
}

/// What the later part refers to: the first table too, into which it writes itself.
fn uses_of_later(source: &Source<'_>, plan: &Plan) -> Result<Uses> {
    let mut uses = Uses::default();
    for (_, body) in source.bodies().filter(|(function, _)| plan.later.contains(function)) {
        uses.add(body)?;
    }
    uses.tables.insert(0);
    Ok(uses)
}

fn imported_by(
    source: &Source<'_>,
    functions: impl IntoIterator<Item = u32>,
    map: &mut Renumber,
) -> Result<ImportSection> {
    let mut imports = ImportSection::new();
    for function in functions {
        let import = source.imports.get(function as usize).context("an import is missing")?;
        map.parse_import(&mut imports, *import).map_err(said)?;
    }
    Ok(imports)
}

fn first_tables(source: &Source<'_>, plan: &Plan) -> Result<TableSection> {
    let mut tables = TableSection::new();
    let Some(section) = source.table_section.clone() else { return Ok(tables) };
    for (index, table) in (0..).zip(section) {
        let mut table = table?;
        grow(&mut table.ty, index, plan);
        reencode::utils::parse_table(&mut reencode::RoundtripReencoder, &mut tables, table)
            .map_err(|error| anyhow!("{error}"))?;
    }
    Ok(tables)
}

/// The first table has room for the slots of the later part.
fn grow(ty: &mut wasmparser::TableType, index: u32, plan: &Plan) {
    if index == 0 {
        ty.initial += u64::from(plan.extra);
        ty.maximum = ty.maximum.map(|maximum| maximum.max(ty.initial));
    }
}

fn first_exports(source: &Source<'_>, plan: &Plan, map: &mut Renumber, there: u32) -> Result<ExportSection> {
    let mut exports = ExportSection::new();
    for export in &source.exports {
        map.parse_export(&mut exports, *export).map_err(said)?;
    }
    let uses = uses_of_later(source, plan)?;
    let foreign = |function: &&u32| **function >= source.imported() && !plan.later.contains(function);
    let functions = uses.functions.iter().filter(foreign).map(|index| (ExternalKind::Func, *index));
    let tables = uses.tables.iter().map(|index| (ExternalKind::Table, *index));
    let globals = uses.globals.iter().map(|index| (ExternalKind::Global, *index));
    let memory = [(ExternalKind::Memory, 0), (ExternalKind::Global, there)];
    for (kind, index) in functions.chain(tables).chain(globals).chain(memory) {
        let name = name_of(source, kind, index);
        if name != own_name(kind, index) {
            continue;
        }
        match kind {
            ExternalKind::Func => exports.export(&name, ExportKind::Func, map.function(index)?),
            ExternalKind::Table => exports.export(&name, ExportKind::Table, index),
            ExternalKind::Memory => exports.export(&name, ExportKind::Memory, index),
            _ => exports.export(&name, ExportKind::Global, index),
        };
    }
    Ok(exports)
}

/// The name under which the first part exports something: the one it has anyway, or its own.
fn name_of(source: &Source<'_>, kind: ExternalKind, index: u32) -> String {
    let known = source.exports.iter().find(|export| export.kind == kind && export.index == index);
    known.map_or_else(|| own_name(kind, index), |export| export.name.to_string())
}

fn own_name(kind: ExternalKind, index: u32) -> String {
    let letter = match kind {
        ExternalKind::Func => 'f',
        ExternalKind::Table => 't',
        ExternalKind::Memory => 'm',
        _ => 'g',
    };
    format!("{letter}{index}")
}

/// Every slot with its function, in as few segments as they need.
fn elements(slots: &BTreeMap<u32, u32>, map: &Renumber) -> Result<ElementSection> {
    let mut runs: Vec<(u32, Vec<u32>)> = Vec::new();
    for (slot, function) in slots {
        let function = map.function(*function)?;
        match runs.last_mut() {
            Some((start, run)) if *start + run.len() as u32 == *slot => run.push(function),
            _ => runs.push((*slot, vec![function])),
        }
    }
    let mut section = ElementSection::new();
    for (start, run) in runs {
        section.active(None, &ConstExpr::i32_const(start as i32), Elements::Functions(run.into()));
    }
    Ok(section)
}

/// Asks for the later part unless it is there.
fn check_body(there: u32, load: u32) -> Function {
    let mut body = Function::new([]);
    body.instruction(&Instruction::GlobalGet(there))
        .instruction(&Instruction::I32Eqz)
        .instruction(&Instruction::If(wasm_encoder::BlockType::Empty))
        .instruction(&Instruction::Call(load))
        .instruction(&Instruction::End)
        .instruction(&Instruction::End);
    body
}

/// Calls what stands in the slot, when the later part is there.
fn stub(source: &Source<'_>, ty: u32, slot: u32, check: u32) -> Result<Function> {
    let params = source.params.get(ty as usize).context("a function has no type")?;
    let mut body = Function::new([]);
    body.instruction(&Instruction::Call(check));
    for param in 0..*params as u32 {
        body.instruction(&Instruction::LocalGet(param));
    }
    body.instruction(&Instruction::I32Const(slot as i32))
        .instruction(&Instruction::CallIndirect { type_index: ty, table_index: 0 })
        .instruction(&Instruction::End);
    Ok(body)
}

/// The later part says that it is there.
fn started(there: u32) -> Function {
    let mut body = Function::new([]);
    body.instruction(&Instruction::I32Const(1))
        .instruction(&Instruction::GlobalSet(there))
        .instruction(&Instruction::End);
    body
}

fn start_of_module(source: &Source<'_>, imports: &ImportSection, functions: &FunctionSection) -> Module {
    let mut module = Module::new();
    module.section(&RawSection { id: SectionId::Type as u8, data: source.types });
    module.section(imports).section(functions);
    module
}

fn end_of_module(mut module: Module, source: &Source<'_>, map: &Renumber, keep_names: bool) -> Vec<u8> {
    if keep_names {
        let named: BTreeMap<u32, &str> =
            map.functions.iter().filter_map(|(old, new)| Some((*new, *source.names.get(old)?))).collect();
        let mut list = NameMap::new();
        named.iter().for_each(|(index, name)| list.append(*index, name));
        let mut names = NameSection::new();
        names.functions(&list);
        module.section(&names);
        module.section(&CustomSection { name: "target_features".into(), data: source.features.into() });
    }
    module.finish()
}

/// New numbers for what has old ones.
#[derive(Default)]
struct Renumber {
    functions: BTreeMap<u32, u32>,
    /// Empty where the numbers stay.
    tables: BTreeMap<u32, u32>,
    globals: BTreeMap<u32, u32>,
}

impl Renumber {
    fn function(&self, old: u32) -> Result<u32> {
        self.functions.get(&old).copied().with_context(|| format!("function {old} is not in this part"))
    }
}

impl Reencode for Renumber {
    type Error = io::Error;

    fn function_index(&mut self, old: u32) -> Result<u32, reencode::Error<io::Error>> {
        self.function(old).map_err(|error| reencode::Error::UserError(io::Error::other(format!("{error}"))))
    }

    fn table_index(&mut self, old: u32) -> Result<u32, reencode::Error<io::Error>> {
        Ok(self.tables.get(&old).copied().unwrap_or(old))
    }

    fn global_index(&mut self, old: u32) -> Result<u32, reencode::Error<io::Error>> {
        Ok(self.globals.get(&old).copied().unwrap_or(old))
    }
}

fn said(error: reencode::Error<io::Error>) -> anyhow::Error {
    anyhow!("{error}")
}
