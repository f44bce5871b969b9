//! Markers of lists and their items.

use super::super::scan::Ahead;
use super::cursor::Cursor;

/// What makes items belong to the same list: the bullet, or what follows the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Marker {
    sign: u8,
    /// The number of an item that has one.
    pub(in super::super) number: Option<u32>,
}

impl Marker {
    pub(in super::super) fn is_same_list(self, other: Self) -> bool {
        self.sign == other.sign
    }
}

/// How an item begins.
#[derive(Debug)]
pub(in super::super) struct ItemStart {
    pub(in super::super) marker: Marker,
    /// How far its content is indented, from its container on.
    pub(in super::super) indent: usize,
    pub(in super::super) task: Option<bool>,
}

/// Reads the marker of an item; the cursor stands behind it then. `interrupts` is whether
/// it would end a paragraph.
pub(super) fn item(cursor: &mut Cursor<'_>, whole: bool, interrupts: bool) -> Ahead<ItemStart> {
    let before = cursor.indent();
    let mut at = *cursor;
    at.skip_all();
    let (marker, width) = match marker(at.rest(), whole) {
        Ahead::Yes(found) => found,
        Ahead::No => return Ahead::No,
        Ahead::Hold => return Ahead::Hold,
    };
    if interrupts && marker.number.is_some_and(|number| number != 1) {
        return Ahead::No;
    }
    at.pass(width);
    let mut indent = before + width + 1;
    let mut task = None;
    if at.is_blank() {
        match (whole, interrupts) {
            (false, _) => return Ahead::Hold,
            (true, true) => return Ahead::No,
            (true, false) => at.skip_all(),
        }
    } else {
        let space = at.indent();
        let used = if space > 4 { 1 } else { space };
        indent = before + width + used;
        at.skip(used);
        match check_box(at.rest(), whole) {
            Ahead::Hold => return Ahead::Hold,
            Ahead::No => {}
            Ahead::Yes(ticked) => {
                task = Some(ticked);
                at.pass(3);
                at.skip_all();
            }
        }
    }
    *cursor = at;
    Ahead::Yes(ItemStart { marker, indent, task })
}

/// The marker and its width; white space or nothing must follow.
fn marker(text: &str, whole: bool) -> Ahead<(Marker, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let width = digits + 1;
    let sign = match text.as_bytes().get(digits) {
        None => return if digits > 9 { Ahead::No } else { Ahead::end(whole) },
        Some(sign @ (b'-' | b'+' | b'*')) if digits == 0 => *sign,
        Some(sign @ (b'.' | b')')) if (1..=9).contains(&digits) => *sign,
        Some(_) => return Ahead::No,
    };
    match text.as_bytes().get(width) {
        None if !whole => return Ahead::Hold,
        None | Some(b' ' | b'\t') => {}
        Some(_) => return Ahead::No,
    }
    let number = text.get(..digits).and_then(|digits| digits.parse().ok());
    Ahead::Yes((Marker { sign, number }, width))
}

/// `[ ] ` or `[x] ` with something behind it.
fn check_box(text: &str, whole: bool) -> Ahead<bool> {
    let mut bytes = text.bytes();
    let fits = [b"[".as_slice(), b" xX", b"]", b" \t"];
    for allowed in fits {
        match bytes.next() {
            None => return Ahead::end(whole),
            Some(next) if !allowed.contains(&next) => return Ahead::No,
            Some(_) => {}
        }
    }
    match bytes.find(|byte| !matches!(byte, b' ' | b'\t')) {
        None => Ahead::end(whole),
        Some(_) => Ahead::Yes(text.as_bytes().get(1) != Some(&b' ')),
    }
}
