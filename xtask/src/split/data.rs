//! Pieces of the memory as it is at the start.

use std::ops::Range;

use anyhow::{Result, bail};
use wasm_encoder::{ConstExpr, DataSection};
use wasmparser::{DataKind, DataSectionReader, Operator};

/// Bytes and their address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    pub(super) address: u32,
    pub(super) bytes: &'a [u8],
}

impl<'a> Segment<'a> {
    /// The addresses of the bytes.
    pub(super) fn range(&self) -> Range<u32> {
        self.address..self.address + self.bytes.len() as u32
    }

    /// What of it lies within some addresses; empty if nothing does.
    fn within(&self, range: &Range<u32>) -> Segment<'a> {
        let own = self.range();
        let (start, end) = (range.start.clamp(own.start, own.end), range.end.clamp(own.start, own.end));
        let (from, to) = ((start - own.start) as usize, (end - own.start) as usize);
        Segment { address: start, bytes: self.bytes.get(from..to).unwrap_or_default() }
    }
}

/// All segments of a module.
pub(super) fn segments<'a>(section: Option<&DataSectionReader<'a>>) -> Result<Vec<Segment<'a>>> {
    let mut segments = Vec::new();
    for data in section.into_iter().flat_map(|section| section.clone()) {
        let data = data?;
        let DataKind::Active { memory_index: 0, offset_expr } = data.kind else {
            bail!("the wasm has data that is written nowhere at the start, which the split does not know");
        };
        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
            bail!("the wasm has data at a place that the split does not know");
        };
        segments.push(Segment { address: value as u32, bytes: data.data });
    }
    Ok(segments)
}

/// What lies outside of the cuts, which are in order, and what lies inside.
pub(super) fn parted<'a>(segments: &[Segment<'a>], cuts: &[Range<u32>]) -> [Vec<Segment<'a>>; 2] {
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    for segment in segments {
        let Range { mut start, end } = segment.range();
        for cut in cuts {
            outside.push(segment.within(&(start..cut.start.max(start))));
            inside.push(segment.within(cut));
            start = start.max(cut.end);
        }
        outside.push(segment.within(&(start..end.max(start))));
    }
    [outside, inside].map(|mut part| {
        part.retain(|segment| !segment.bytes.is_empty());
        part
    })
}

/// The segments as a module has them.
pub(super) fn section(segments: &[Segment<'_>]) -> DataSection {
    let mut section = DataSection::new();
    for segment in segments {
        let at = ConstExpr::i32_const(segment.address as i32);
        section.active(0, &at, segment.bytes.iter().copied());
    }
    section
}

#[cfg(test)]
mod tests {
    use super::{Segment, parted};

    #[test]
    fn cuts_go_and_the_rest_keeps_its_place() {
        let segments = [Segment { address: 10, bytes: b"abcdef" }, Segment { address: 20, bytes: b"ghij" }];
        let is = |parts: &[Segment<'_>], wanted: &[(u32, &str)]| {
            let parts: Vec<_> = parts.iter().map(|part| (part.address, part.bytes)).collect();
            let wanted: Vec<_> = wanted.iter().map(|(at, text)| (*at, text.as_bytes())).collect();
            assert_eq!(parts, wanted);
        };
        let [outside, inside] = parted(&segments, &[12..14, 21..22, 22..24, 90..99]);
        is(&outside, &[(10, "ab"), (14, "ef"), (20, "g")]);
        is(&inside, &[(12, "cd"), (21, "h"), (22, "ij")]);
        let [outside, inside] = parted(&segments, &[10..13, 13..16]);
        is(&outside, &[(20, "ghij")]);
        is(&inside, &[(10, "abc"), (13, "def")]);
        let [outside, inside] = parted(&segments, &[]);
        is(&outside, &[(10, "abcdef"), (20, "ghij")]);
        is(&inside, &[]);
    }
}
