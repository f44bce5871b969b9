//! Which data is read by whom.
//!
//! The linker says where in code and data an address stands and of which data it is. What
//! only functions of the later part reach, at once or by way of other data, is the later part's.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Context, Result, bail};
use wasmparser::{
    DataSectionReader, FunctionBody, KnownCustom, Linking, LinkingSectionReader, Name, NameSectionReader,
    Parser, Payload, RelocSectionReader, RelocationEntry, RelocationType, SymbolInfo, TypeRef,
};

use super::data::{Segment, segments};
use crate::names;

/// Bytes that are not worth a segment of their own; no gap between two symbols is as long.
const LEAST: u32 = 16;

/// Data by what refers to it.
#[derive(Default)]
pub(super) struct Reach<'a> {
    pub(super) segments: Vec<Segment<'a>>,
    /// Where the data of each symbol lies.
    symbols: BTreeMap<u32, Range<u32>>,
    /// The symbols that functions of a name refer to.
    functions: BTreeMap<String, BTreeSet<u32>>,
    /// The symbol whose address stands at an address.
    pointers: BTreeMap<u32, u32>,
}

impl<'a> Reach<'a> {
    /// Reads what the linker made, told to keep its relocations.
    pub(super) fn read(wasm: &'a [u8]) -> Result<Reach<'a>> {
        let mut linked = Linked::default();
        for payload in Parser::new(0).parse_all(wasm) {
            linked.take(payload.context("the linked wasm cannot be read")?)?;
        }
        let mut reach = Reach { segments: segments(linked.data.as_ref())?, ..Reach::default() };
        for (symbol, (segment, range)) in &linked.symbols {
            // What is zero at the start has no segment.
            if let Some(segment) = reach.segments.get(*segment as usize) {
                let at = segment.address;
                reach.symbols.insert(*symbol, at + range.start..at + range.end);
            }
        }
        for section in &linked.relocations {
            let start =
                *linked.sections.get(section.section_index() as usize).context("a section is missing")?;
            for entry in section.entries() {
                let entry = entry?;
                let at = start + entry.offset as usize;
                if Some(start) == linked.code {
                    reach.take_code(&linked, wasm, at, &entry)?;
                } else if Some(start) == linked.data.as_ref().map(|data| data.range().start) {
                    reach.take_data(&linked, wasm, at, &entry)?;
                }
            }
        }
        if reach.functions.is_empty() {
            bail!("the linker kept no relocations (`--emit-relocs`): they say which code reads which data");
        }
        Ok(reach)
    }

    fn take_code(
        &mut self,
        linked: &Linked<'_>,
        wasm: &[u8],
        at: usize,
        entry: &RelocationEntry,
    ) -> Result<()> {
        use RelocationType::{
            FunctionIndexLeb, GlobalIndexLeb, MemoryAddrLeb, MemoryAddrSleb, TableIndexSleb, TableNumberLeb,
            TypeIndexLeb,
        };
        match entry.ty {
            MemoryAddrLeb | MemoryAddrSleb => {
                self.check(entry, leb(wasm, at)?)?;
                self.functions.entry(linked.function_at(at)?).or_default().insert(entry.index);
            }
            FunctionIndexLeb | TableIndexSleb | TypeIndexLeb | GlobalIndexLeb | TableNumberLeb => {}
            ty => bail!("the linked wasm has a {ty:?} in its code, which the split does not know"),
        }
        Ok(())
    }

    fn take_data(
        &mut self,
        linked: &Linked<'_>,
        wasm: &[u8],
        at: usize,
        entry: &RelocationEntry,
    ) -> Result<()> {
        match entry.ty {
            RelocationType::MemoryAddrI32 => {
                self.check(entry, word(wasm, at)?)?;
                self.pointers.insert(linked.address_of(&self.segments, at)?, entry.index);
            }
            RelocationType::TableIndexI32 => {}
            ty => bail!("the linked wasm has a {ty:?} in its data, which the split does not know"),
        }
        Ok(())
    }

    /// Whether what stands there is the address of the symbol, so that all this is understood.
    fn check(&self, entry: &RelocationEntry, value: u32) -> Result<()> {
        match self.symbols.get(&entry.index) {
            Some(range) if !range.is_empty() && range.start.wrapping_add(entry.addend as u32) != value => {
                bail!("the linked wasm has the address {value}, which is not of the data that it says")
            }
            _ => Ok(()),
        }
    }

    /// What only the later part reaches, as addresses in order. `is_first` says whether one of
    /// the functions of a name is in the first part.
    pub(super) fn later(&self, is_first: impl Fn(&str) -> bool) -> Vec<Range<u32>> {
        let first_names = self.functions.iter().filter(|(name, _)| is_first(name));
        let mut open: Vec<u32> = first_names.flat_map(|(_, symbols)| symbols.iter().copied()).collect();
        let mut first = BTreeSet::new();
        while let Some(symbol) = open.pop() {
            if first.insert(symbol)
                && let Some(range) = self.symbols.get(&symbol)
            {
                open.extend(self.pointers.range(range.clone()).map(|(_, symbol)| *symbol));
            }
        }
        let mut known: Vec<Range<u32>> = self.symbols.values().cloned().collect();
        let mut kept = self.between(&mut known, LEAST);
        kept.extend(first.iter().filter_map(|symbol| self.symbols.get(symbol).cloned()));
        self.between(&mut kept, LEAST)
    }

    /// What of the segments lies between these ranges, where that is at least so many bytes.
    fn between(&self, ranges: &mut [Range<u32>], least: u32) -> Vec<Range<u32>> {
        ranges.sort_by_key(|range| range.start);
        let mut gaps = Vec::new();
        for segment in &self.segments {
            let Range { mut start, end } = segment.range();
            for range in ranges.iter().filter(|range| range.start < end && segment.address < range.end) {
                gaps.push(start..range.start);
                start = start.max(range.end);
            }
            gaps.push(start..end);
        }
        gaps.retain(|gap| gap.start.saturating_add(least) <= gap.end);
        gaps
    }
}

/// A linked module while it is read.
#[derive(Default)]
struct Linked<'a> {
    /// Where the content of each section begins.
    sections: Vec<usize>,
    imported: u32,
    code: Option<usize>,
    bodies: Vec<FunctionBody<'a>>,
    data: Option<DataSectionReader<'a>>,
    /// The segment of each symbol of data, and its place there.
    symbols: BTreeMap<u32, (u32, Range<u32>)>,
    relocations: Vec<RelocSectionReader<'a>>,
    names: BTreeMap<u32, &'a str>,
}

impl<'a> Linked<'a> {
    fn take(&mut self, payload: Payload<'a>) -> Result<()> {
        self.sections.extend(payload.as_section().map(|(_, range)| range.start));
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    self.imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionStart { range, .. } => self.code = Some(range.start),
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::DataSection(data) => self.data = Some(data),
            Payload::CustomSection(custom) => match custom.as_known() {
                KnownCustom::Linking(linking) => self.take_symbols(&linking)?,
                KnownCustom::Reloc(relocations) => self.relocations.push(relocations),
                KnownCustom::Name(names) => self.take_names(names)?,
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn take_symbols(&mut self, linking: &LinkingSectionReader<'a>) -> Result<()> {
        for subsection in linking.subsections() {
            let Linking::SymbolTable(symbols) = subsection? else { continue };
            for (index, symbol) in (0..).zip(symbols) {
                if let SymbolInfo::Data { symbol: Some(data), .. } = symbol? {
                    self.symbols.insert(index, (data.index, data.offset..data.offset + data.size));
                }
            }
        }
        Ok(())
    }

    fn take_names(&mut self, names: NameSectionReader<'a>) -> Result<()> {
        for subsection in names {
            let Name::Function(functions) = subsection? else { continue };
            for naming in functions {
                let naming = naming?;
                self.names.insert(naming.index, naming.name);
            }
        }
        Ok(())
    }

    /// The name of the function in which a byte of the file lies.
    fn function_at(&self, at: usize) -> Result<String> {
        let body = self.bodies.partition_point(|body| body.range().end <= at) as u32;
        let name = self.names.get(&(self.imported + body));
        Ok(names::plain(name.context("the linked wasm has a function without a name")?))
    }

    /// The address at which a byte of the file lies at the start.
    fn address_of(&self, segments: &[Segment<'_>], at: usize) -> Result<u32> {
        for (segment, data) in segments.iter().zip(self.data.clone().into_iter().flatten()) {
            let end = data?.range.end;
            // The bytes of a segment are the end of what it consists of.
            if let Some(offset) = (at + segment.bytes.len()).checked_sub(end)
                && at < end
            {
                return Ok(segment.address + offset as u32);
            }
        }
        bail!("the linked wasm has a relocation outside of the data")
    }
}

fn word(wasm: &[u8], at: usize) -> Result<u32> {
    let bytes = wasm.get(at..at + 4).context("the linked wasm ends within an address")?;
    Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
}

/// A number that the linker has written in five bytes.
fn leb(wasm: &[u8], at: usize) -> Result<u32> {
    let bytes = wasm.get(at..at + 5).context("the linked wasm ends within an address")?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 7 | u32::from(byte & 0x7f)))
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        CodeSection, ConstExpr, CustomSection, DataSection, DataSymbolDefinition, FunctionSection,
        LinkingSection, MemorySection, MemoryType, Module, NameMap, NameSection, SymbolTable, TypeSection,
    };

    use super::Reach;

    const AT: u32 = 1024;

    /// Two functions, `a` and `b`, that read the first and the second of three pieces of data; in the
    /// second stands the address of the third.
    fn module(relocations: bool, third: u32) -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        let mut functions = FunctionSection::new();
        functions.function(0).function(0);
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: 1,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut code = CodeSection::new();
        for address in [AT, AT + 20] {
            let [low, high] = [address as u8 & 0x7f, (address >> 7) as u8].map(|byte| byte | 0x80);
            code.raw(&[0, 0x41, low, high, 0x80, 0x80, 0, 0x1a, 0x0b]);
        }
        let mut data = DataSection::new();
        let mut bytes = vec![b'.'; 60];
        bytes.splice(20..24, third.to_le_bytes());
        data.active(0, &ConstExpr::i32_const(AT as i32), bytes);
        let mut symbols = SymbolTable::new();
        for (name, offset) in [("first", 0), ("second", 20), ("third", 40)] {
            symbols.data(0, name, Some(DataSymbolDefinition { index: 0, offset, size: 20 }));
        }
        let mut linking = LinkingSection::new();
        linking.symbol_table(&symbols);
        let mut map = NameMap::new();
        map.append(0, "a");
        map.append(1, "b");
        let mut names = NameSection::new();
        names.functions(&map);

        let mut module = Module::new();
        module.section(&types).section(&functions).section(&memories).section(&code).section(&data);
        module.section(&linking);
        if relocations {
            // A section, how many, and each with its kind, place, symbol and addend.
            let code = [3, 2, 4, 4, 0, 0, 4, 14, 1, 0];
            let data = [4, 1, 5, 27, 2, 0];
            module.section(&CustomSection { name: "reloc.CODE".into(), data: (&code[..]).into() });
            module.section(&CustomSection { name: "reloc.DATA".into(), data: (&data[..]).into() });
        }
        module.section(&names);
        module.finish()
    }

    #[test]
    fn data_goes_with_the_code_that_reaches_it() {
        let wasm = module(true, AT + 40);
        let reach = Reach::read(&wasm).unwrap();
        let later = |first: &[&str]| {
            let ranges = reach.later(|name| first.contains(&name));
            ranges.iter().map(|range| (range.start - AT, range.end - AT)).collect::<Vec<_>>()
        };
        assert_eq!(later(&["a"]), [(20, 60)]);
        assert_eq!(later(&["b"]), [(0, 20)]);
        assert_eq!(later(&["a", "b"]), []);
        assert_eq!(later(&[]), [(0, 60)]);
    }

    #[test]
    fn what_the_linker_does_not_say_is_an_error() {
        let fault = |wasm: &[u8]| Reach::read(wasm).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(fault(&module(false, AT + 40)).contains("--emit-relocs"));
        assert!(fault(&module(true, AT + 41)).contains("the address 1065"));
    }
}
