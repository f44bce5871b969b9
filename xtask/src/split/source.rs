//! A compiled module taken apart.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use anyhow::{Context, Result, bail};
use wasm_encoder::reencode::{Error, Reencode};
use wasmparser::{
    DataSectionReader, ElementItems, ElementKind, Export, FunctionBody, GlobalSectionReader, GlobalType,
    Import, KnownCustom, Name, Operator, Parser, Payload, TableSectionReader, TableType, TypeRef,
};

/// What a module consists of. Functions are numbered with the imported ones first, as in wasm.
#[derive(Default)]
pub(super) struct Source<'a> {
    /// The types as they stand in their section.
    pub(super) types: &'a [u8],
    /// How many values each function type takes.
    pub(super) params: Vec<usize>,
    /// The type that takes and gives nothing.
    pub(super) nothing: Option<u32>,
    pub(super) imports: Vec<Import<'a>>,
    /// The type of each function.
    pub(super) functions: Vec<u32>,
    pub(super) table_section: Option<TableSectionReader<'a>>,
    pub(super) tables: Vec<TableType>,
    pub(super) memory_section: &'a [u8],
    pub(super) memory: Option<wasmparser::MemoryType>,
    pub(super) global_section: Option<GlobalSectionReader<'a>>,
    pub(super) globals: Vec<GlobalType>,
    pub(super) exports: Vec<Export<'a>>,
    pub(super) start: Option<u32>,
    /// The function in each slot of the first table.
    pub(super) slots: BTreeMap<u32, u32>,
    /// Whether the number of segments is said before the code.
    pub(super) counts_data: bool,
    pub(super) bodies: Vec<FunctionBody<'a>>,
    pub(super) data: Option<DataSectionReader<'a>>,
    pub(super) names: BTreeMap<u32, &'a str>,
    /// The section that tells the optimiser which features are in use.
    pub(super) features: &'a [u8],
}

impl<'a> Source<'a> {
    /// Reads a module.
    pub(super) fn read(wasm: &'a [u8]) -> Result<Source<'a>> {
        let mut source = Source::default();
        for payload in Parser::new(0).parse_all(wasm) {
            source.take(wasm, payload.context("the wasm cannot be read")?)?;
        }
        if source.imports.len() + source.bodies.len() != source.functions.len() {
            bail!("the wasm imports more than functions, which the split does not know");
        }
        Ok(source)
    }

    /// How many functions are imported.
    pub(super) fn imported(&self) -> u32 {
        self.imports.len() as u32
    }

    /// The functions that have a body, with it.
    pub(super) fn bodies(&self) -> impl Iterator<Item = (u32, &FunctionBody<'a>)> {
        (self.imported()..).zip(&self.bodies)
    }

    /// The type of a function.
    pub(super) fn type_of(&self, function: u32) -> Result<u32> {
        self.functions.get(function as usize).copied().context("a function has no type")
    }

    fn take(&mut self, wasm: &'a [u8], payload: Payload<'a>) -> Result<()> {
        let section = payload.as_section().and_then(|(_, range)| wasm.get(range)).unwrap_or_default();
        match payload {
            Payload::TypeSection(types) => {
                self.types = section;
                for (index, func) in (0..).zip(types.into_iter_err_on_gc_types()) {
                    let func = func?;
                    if func.params().is_empty() && func.results().is_empty() {
                        self.nothing.get_or_insert(index);
                    }
                    self.params.push(func.params().len());
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    let TypeRef::Func(ty) = import.ty else { continue };
                    self.functions.push(ty);
                    self.imports.push(import);
                }
            }
            Payload::FunctionSection(types) => self.functions.extend(types.into_iter().flatten()),
            Payload::TableSection(tables) => {
                self.table_section = Some(tables.clone());
                self.tables = tables.into_iter().map(|table| Ok(table?.ty)).collect::<Result<_>>()?;
            }
            Payload::MemorySection(memories) => {
                self.memory_section = section;
                self.memory = memories.into_iter().next().transpose()?;
            }
            Payload::GlobalSection(globals) => {
                self.global_section = Some(globals.clone());
                self.globals = globals.into_iter().map(|global| Ok(global?.ty)).collect::<Result<_>>()?;
            }
            Payload::ExportSection(exports) => self.exports.extend(exports.into_iter().flatten()),
            Payload::StartSection { func, .. } => self.start = Some(func),
            Payload::ElementSection(elements) => {
                for element in elements {
                    self.take_slots(element?)?;
                }
            }
            Payload::DataCountSection { .. } => self.counts_data = true,
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::DataSection(data) => self.data = Some(data),
            Payload::CustomSection(custom) if custom.name() == "target_features" => {
                self.features = custom.data();
            }
            Payload::CustomSection(custom) => {
                if let KnownCustom::Name(names) = custom.as_known() {
                    self.take_names(names)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_slots(&mut self, element: wasmparser::Element<'a>) -> Result<()> {
        let (ElementKind::Active { table_index, offset_expr }, ElementItems::Functions(functions)) =
            (element.kind, element.items)
        else {
            bail!("the wasm has elements that are no list of functions, which the split does not know");
        };
        let mut offset = offset_expr.get_operators_reader();
        let (None | Some(0), Operator::I32Const { value }) = (table_index, offset.read()?) else {
            bail!("the wasm has functions at a place in a table that the split does not know");
        };
        for (slot, function) in (value as u32..).zip(functions) {
            self.slots.insert(slot, function?);
        }
        Ok(())
    }

    fn take_names(&mut self, names: wasmparser::NameSectionReader<'a>) -> Result<()> {
        for subsection in names {
            if let Name::Function(functions) = subsection? {
                for naming in functions {
                    let naming = naming?;
                    self.names.insert(naming.index, naming.name);
                }
            }
        }
        Ok(())
    }
}

/// What code refers to.
#[derive(Default)]
pub(super) struct Uses {
    pub(super) functions: BTreeSet<u32>,
    pub(super) globals: BTreeSet<u32>,
    pub(super) tables: BTreeSet<u32>,
}

impl Uses {
    /// Adds what a function refers to.
    pub(super) fn add(&mut self, body: &FunctionBody<'_>) -> Result<()> {
        let mut code = wasm_encoder::CodeSection::new();
        self.parse_function_body(&mut code, body.clone()).map_err(|error| anyhow::anyhow!("{error}"))
    }
}

impl Reencode for Uses {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        self.functions.insert(function);
        Ok(function)
    }

    fn global_index(&mut self, global: u32) -> Result<u32, Error> {
        self.globals.insert(global);
        Ok(global)
    }

    fn table_index(&mut self, table: u32) -> Result<u32, Error> {
        self.tables.insert(table);
        Ok(table)
    }
}
