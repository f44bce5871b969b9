//! JSON text to values. Strict (RFC 8259), with four decisions of our own: of
//! two members with one name the last value wins, half of a surrogate pair
//! becomes U+FFFD instead of failing a whole stream, lists nest at most 128 deep so
//! that no input can overflow the stack, and an object whose names are made to
//! collide is refused so that none takes quadratic time.

use std::fmt;

use super::{Number, Object, Value, concat, digits};

/// Deeper lists and objects are refused.
const MAX_DEPTH: usize = 128;

/// Objects with more members than this find repeated names through an index, so
/// that a hostile object costs no quadratic time.
const INDEX_FROM: usize = 32;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What stands there instead of what was expected.
    pub reason: &'static str,
    /// Line, counted from 1.
    pub line: usize,
    /// Character in the line, counted from 1.
    pub column: usize,
}

impl ParseError {
    /// What it says.
    pub fn text(&self) -> String {
        let (line, column) = (digits(self.line as u64), digits(self.column as u64));
        concat(&[self.reason, " at line ", &line, " column ", &column])
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Reads one JSON value; white space around it is allowed, anything else is not.
///
/// # Errors
/// The first place where the text stops being JSON.
pub fn parse(text: &str) -> Result<Value, ParseError> {
    let mut parser = Parser { text, at: 0 };
    let result = parser.document();
    result.map_err(|reason| {
        let (mut line, mut column) = (1, 1);
        for byte in text.bytes().take(parser.at) {
            match byte {
                b'\n' => (line, column) = (line + 1, 1),
                // Inside a character.
                0x80..0xc0 => {}
                _ => column += 1,
            }
        }
        ParseError { reason, line, column }
    })
}

type Parsed<T> = Result<T, &'static str>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Parsed<Value> {
        self.space();
        let value = self.value(0)?;
        self.space();
        if self.at < self.text.len() { Err("text after the value") } else { Ok(value) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1).map(Value::Object),
            Some(b'[') => self.array(depth + 1).map(Value::Array),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err("expected a value"),
            None => Err("the text ends where a value is expected"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Parsed<Value> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(value)
        } else {
            Err("expected a value")
        }
    }

    fn digits(&mut self) -> Parsed<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err("expected a digit");
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Parsed<Value> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or("0");
        Ok(Value::Number(Number(text.to_owned())))
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut out = String::new();
        let mut plain = self.at;
        loop {
            match self.peek() {
                None => return Err("the text ends inside a string"),
                Some(b'"') => {
                    out.push_str(self.text.get(plain..self.at).unwrap_or(""));
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(self.text.get(plain..self.at).unwrap_or(""));
                    self.at += 1;
                    out.push(self.escape()?);
                    plain = self.at;
                }
                Some(0..=0x1f) => return Err("a control character must be escaped in a string"),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let byte = self.peek().ok_or("the text ends inside a string")?;
        let c = match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err("unknown escape in a string"),
        };
        self.at += 1;
        Ok(c)
    }

    /// After `\u`: one scalar value, from one escape or a surrogate pair.
    fn unicode(&mut self) -> Parsed<char> {
        let high = self.hex4()?;
        if let 0xd800..=0xdbff = high {
            let after = self.at;
            if self.eat(b'\\') && self.eat(b'u') {
                let low = self.hex4()?;
                if let 0xdc00..=0xdfff = low {
                    let scalar = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    return Ok(char::from_u32(scalar).unwrap_or('\u{fffd}'));
                }
            }
            self.at = after;
        }
        Ok(char::from_u32(high).unwrap_or('\u{fffd}'))
    }

    fn hex4(&mut self) -> Parsed<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| (b as char).to_digit(16));
            value = value * 16 + digit.ok_or("expected four hexadecimal digits")?;
            self.at += 1;
        }
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Parsed<Vec<Value>> {
        if depth > MAX_DEPTH {
            return Err("nested too deep");
        }
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(items);
        }
        loop {
            self.space();
            items.push(self.value(depth)?);
            self.space();
            if self.eat(b']') {
                return Ok(items);
            }
            if !self.eat(b',') {
                return Err("expected ',' or ']'");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Object> {
        if depth > MAX_DEPTH {
            return Err("nested too deep");
        }
        self.at += 1;
        let mut members = Members::default();
        self.space();
        if self.eat(b'}') {
            return Ok(members.object);
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err("expected a member name in double quotes");
            }
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err("expected ':'");
            }
            self.space();
            let value = self.value(depth)?;
            members.add(key, value)?;
            self.space();
            if self.eat(b'}') {
                return Ok(members.object);
            }
            if !self.eat(b',') {
                return Err("expected ',' or '}'");
            }
        }
    }
}

/// The members of an object under way, with an index by hash once there are many.
/// (A map of the standard library would cost every visitor 5 KB.)
#[derive(Default)]
struct Members {
    object: Object,
    /// Per hash the number of a member, counted from 1, or 0; a place that is taken
    /// leads to the next one. At most half full.
    index: Vec<u32>,
    /// Taken places met in this index.
    met: usize,
}

impl Members {
    fn add(&mut self, key: String, value: Value) -> Parsed<()> {
        let members = self.object.len();
        if members < INDEX_FROM {
            self.object.insert(&key, value);
            return Ok(());
        }
        if members * 2 >= self.index.len() {
            self.index = vec![0; (members * 4).next_power_of_two()];
            self.met = 0;
            for number in 0..members {
                self.find(number, None)?;
            }
        }
        let number = self.find(members, Some(&key))?;
        match self.object.0.get_mut(number) {
            Some(old) => old.1 = value,
            None => self.object.0.push((key, value)),
        }
        Ok(())
    }

    /// The member called `key`, or like the member `number`; that number, which is
    /// put into the index, if there is none.
    fn find(&mut self, number: usize, key: Option<&str>) -> Parsed<usize> {
        let name = |at: usize| self.object.0.get(at).map(|(name, _)| name.as_str());
        let key = key.or_else(|| name(number)).unwrap_or("");
        let mut place = hash(key);
        loop {
            place %= self.index.len();
            let Some(slot) = self.index.get_mut(place) else { return Ok(number) };
            if *slot == 0 {
                *slot = number as u32 + 1;
                return Ok(number);
            }
            let taken = *slot as usize - 1;
            if name(taken) == Some(key) {
                return Ok(taken);
            }
            place += 1;
            // Names by chance meet two at most on average.
            self.met += 1;
            if self.met > 32 * (number + 100) {
                return Err("member names that are made to be slow");
            }
        }
    }
}

/// FNV-1a, then stirred: names that count up would stand side by side.
fn hash(text: &str) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    for byte in text.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn same(text: &str) {
        assert_eq!(parse(text).map(|v| v.to_string()), Ok(text.to_owned()));
    }

    #[test]
    fn what_is_written_comes_back() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            "0",
            "-0",
            "1e400",
            "12345678901234567890.10",
            r#"{"b":1,"a":[{"__proto__":2}],"é":"🙂"}"#,
            r#""\"\\\n\u0000""#,
        ] {
            same(text);
        }
    }

    #[test]
    fn escapes() {
        let read = |text: &str| parse(text).ok().and_then(|v| v.as_str().map(str::to_owned));
        assert_eq!(read(r#""\ud83d\ude42\/\b""#).as_deref(), Some("🙂/\u{8}"));
        assert_eq!(read(r#""\ud83dx""#).as_deref(), Some("\u{fffd}x"));
        assert_eq!(read(r#""\ud83d\u0041""#).as_deref(), Some("\u{fffd}A"));
        assert_eq!(read(r#""\ude42""#).as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn refused_with_a_place() {
        for (text, line, column) in [
            ("", 1, 1),
            ("{'a':1}", 1, 2),
            ("[1,]", 1, 4),
            ("{\"a\":1,\n x}", 2, 2),
            ("01", 1, 2),
            ("1.", 1, 3),
            ("\"a\u{1}\"", 1, 3),
            ("nul", 1, 1),
            ("[1 2]", 1, 4),
            ("\"\\x\"", 1, 3),
        ] {
            let error = parse(text).err();
            assert_eq!(error.map(|e| (e.line, e.column)), Some((line, column)), "{text:?}");
        }
    }

    #[test]
    fn deep_and_wide_input_is_bounded() {
        assert!(parse(&"[".repeat(100_000)).is_err());
        let wide: String = (0..20_000).map(|i| format!("\"k{}\":{i},", i % 10_000)).collect();
        let object = parse(&format!("{{{wide}\"z\":0}}"));
        assert_eq!(object.as_ref().ok().and_then(|o| o.as_object()).map(Object::len), Some(10_001));
        assert_eq!(object.ok().and_then(|o| o.get("k1").and_then(Value::as_u64)), Some(10_001));
    }

    #[test]
    fn ordinary_names_are_never_too_many() {
        let patterns: [fn(u32) -> String; 6] = [
            |i| format!("{i}"),
            |i| format!("p{i}"),
            |i| format!("{i:08x}"),
            |i| format!("row-{}-{}", i / 300, i % 300),
            |i| format!("{}", u64::from(i) * 1_000_003),
            |i| format!("{}é", i.reverse_bits()),
        ];
        for (at, name) in patterns.iter().enumerate() {
            let text: String = (0..60_000).map(|i| format!("\"{}\":0,", name(i))).collect();
            let object = parse(&format!("{{{text}\"z\":0}}"));
            assert_eq!(object.ok().and_then(|o| o.as_object().map(Object::len)), Some(60_001), "{at}");
        }
    }

    #[test]
    fn names_of_one_hash_are_refused() {
        // Names whose hashes end alike, so that all begin at one place of the index.
        let alike = (0..4_000_000).map(|i| format!("{i:x}")).filter(|name| hash(name) % 4096 == 7);
        let text: String = alike.take(900).map(|name| format!("\"{name}\":0,")).collect();
        let error = parse(&format!("{{{text}\"z\":0}}")).err();
        assert_eq!(error.map(|e| e.reason), Some("member names that are made to be slow"));
    }
}
