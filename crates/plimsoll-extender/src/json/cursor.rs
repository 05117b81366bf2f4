use std::borrow::Cow;

use super::{Place, TypeError};

/// Walks over a value that a [`super::Scanner`] has found to be JSON. On anything else it finds no more keys and elements,
/// and comes to an end.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

/// What a value is, in Go's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Null => "null",
        }
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    /// What comes next.
    pub(crate) fn kind(&mut self) -> Kind {
        match self.peek() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Enters an object; false, and past it, when it is `null`.
    pub(crate) fn enter_object(&mut self, place: Place, go_type: &'static str) -> Result<bool, TypeError> {
        self.enter(Kind::Object, place, go_type)
    }

    /// Enters an array; false, and past it, when it is `null`.
    pub(crate) fn enter_array(&mut self, place: Place, go_type: &'static str) -> Result<bool, TypeError> {
        self.enter(Kind::Array, place, go_type)
    }

    fn enter(&mut self, wanted: Kind, place: Place, go_type: &'static str) -> Result<bool, TypeError> {
        match self.kind() {
            Kind::Null => {
                self.skip();
                Ok(false)
            }
            kind if kind == wanted => {
                self.advance(1);
                Ok(true)
            }
            kind => Err(TypeError::kind(kind, place, go_type)),
        }
    }

    /// The next key of the object entered last, its value coming next; none, and past the object, when that is at its end.
    pub(crate) fn next_key(&mut self) -> Option<Cow<'a, str>> {
        if !self.has_next() {
            return None;
        }
        let key = self.text();
        if self.peek() == Some(b':') {
            self.advance(1);
        }
        Some(key)
    }

    /// Whether another element of the array entered last comes next; if not, past the array.
    pub(crate) fn next_element(&mut self) -> bool {
        self.has_next()
    }

    fn has_next(&mut self) -> bool {
        if self.peek() == Some(b',') {
            self.advance(1);
        }
        match self.peek() {
            None => false,
            Some(b'}' | b']') => {
                self.advance(1);
                false
            }
            // What no value begins with can be no element.
            Some(b'{' | b'[' | b'"' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9') => true,
            Some(_) => {
                self.rest = &[];
                false
            }
        }
    }

    /// A string; none when it is `null`.
    pub(crate) fn string(&mut self, place: Place) -> Result<Option<Cow<'a, str>>, TypeError> {
        match self.kind() {
            Kind::String => Ok(Some(self.text())),
            Kind::Null => {
                self.skip();
                Ok(None)
            }
            kind => Err(TypeError::kind(kind, place, "string")),
        }
    }

    /// A whole number; none when it is `null`.
    pub(crate) fn int64(&mut self, place: Place) -> Result<Option<i64>, TypeError> {
        match self.kind() {
            Kind::Number => {
                let text = std::str::from_utf8(self.scalar()).unwrap_or_default();
                let number = text.parse().map_err(|_| TypeError::number(text, place, "int64"))?;
                Ok(Some(number))
            }
            Kind::Null => {
                self.skip();
                Ok(None)
            }
            kind => Err(TypeError::kind(kind, place, "int64")),
        }
    }

    /// Past the value that comes next.
    pub(crate) fn skip(&mut self) {
        match self.peek() {
            Some(b'"') => {
                self.string_content();
            }
            Some(b'{' | b'[') => self.skip_container(),
            Some(_) => {
                self.scalar();
            }
            None => {}
        }
    }

    fn skip_container(&mut self) {
        let mut depth = 0_usize;
        loop {
            let length = self
                .rest
                .iter()
                .position(|byte| matches!(byte, b'{' | b'[' | b'}' | b']' | b'"'))
                .unwrap_or(self.rest.len());
            self.advance(length);
            match self.rest.first() {
                None => return,
                Some(b'"') => {
                    self.string_content();
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(_) => depth = depth.saturating_sub(1),
            }
            self.advance(1);
            if depth == 0 {
                return;
            }
        }
    }

    /// A number or a word.
    fn scalar(&mut self) -> &'a [u8] {
        let ends = |byte: &u8| matches!(byte, b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
        // At least one byte, so that whoever skips gets on.
        let length = self.rest.iter().position(ends).unwrap_or(self.rest.len()).max(1);
        let (scalar, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        scalar
    }

    fn text(&mut self) -> Cow<'a, str> {
        let content = self.string_content();
        match std::str::from_utf8(content) {
            Ok(text) if !content.contains(&b'\\') => Cow::Borrowed(text),
            _ => Cow::Owned(unescaped(content)),
        }
    }

    /// What stands between the quotes of the string that comes next; past it.
    fn string_content(&mut self) -> &'a [u8] {
        self.advance(1);
        let mut length = 0;
        while let Some(byte) = self.rest.get(length) {
            match byte {
                b'"' => break,
                b'\\' => length += 2,
                _ => length += 1,
            }
        }
        let (content, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        self.advance(1);
        content
    }

    fn peek(&mut self) -> Option<u8> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let spaces = self.rest.iter().take_while(|byte| is_space(byte)).count();
        self.advance(spaces);
        self.rest.first().copied()
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

/// A string without escapes. What is no UTF-8 and halves of characters become U+FFFD, as in Go.
fn unescaped(content: &[u8]) -> String {
    let mut text = String::with_capacity(content.len());
    let mut parts = content.split(|byte| *byte == b'\\');
    push_mended(&mut text, parts.next().unwrap_or_default());
    // Of a character of two halves, the first, and how long the text was before it.
    let mut half: Option<(u32, usize)> = None;
    while let Some(part) = parts.next() {
        let Some((&escape, plain)) = part.split_first() else {
            // Two backslashes: the part between them is empty, what follows is plain.
            text.push('\\');
            push_mended(&mut text, parts.next().unwrap_or_default());
            half = None;
            continue;
        };
        let (before, mut after) = (half.take(), plain);
        match escape {
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            b'u' => {
                let (digits, rest) = plain.split_at_checked(4).unwrap_or((plain, &[]));
                after = rest;
                let code = hexadecimal(digits);
                let joined = before.and_then(|(high, length)| Some((join(high, code)?, length)));
                if let Some((joined, length)) = joined {
                    text.truncate(length);
                    text.push(joined);
                } else {
                    half = after.is_empty().then_some((code, text.len()));
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
            other => text.push(char::from(other)),
        }
        push_mended(&mut text, after);
    }
    text
}

fn hexadecimal(digits: &[u8]) -> u32 {
    digits
        .iter()
        .filter_map(|digit| char::from(*digit).to_digit(16))
        .fold(0, |number, digit| number * 16 + digit)
}

/// The character of two halves.
fn join(high: u32, low: u32) -> Option<char> {
    let (0xd800..0xdc00, 0xdc00..0xe000) = (high, low) else {
        return None;
    };
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
}

/// Adds text, each byte that is no UTF-8 replaced.
fn push_mended(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

/// Whether Go takes the key of a reply for the field of that name: in any case, and in Unicode's sense of it, where the
/// long s and the sign for kelvin are letters of ASCII.
pub(crate) fn same_key(key: &str, name: &str) -> bool {
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn string(json: &str) -> String {
        let text = Cursor::new(json.as_bytes()).string(Place::Top).unwrap();
        text.unwrap().into_owned()
    }

    #[test]
    fn strings_are_mended_as_go_mends_them() {
        let cases = [
            (r#""plain""#, "plain"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\\u0041\\\\u0041""#, "\\u0041\\\\u0041"),
            (r#""\u0041\u00e9x""#, "A\u{e9}x"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud800x\u00e9""#, "\u{fffd}x\u{e9}"),
            (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\n\ude00""#, "\u{fffd}\n\u{fffd}"),
            (r#""\ud83d\\\ude00""#, "\u{fffd}\\\u{fffd}"),
        ];
        for (json, expected) in cases {
            assert_eq!(string(json), expected, "{json}");
        }
        let broken = Cursor::new(b"\"\xe2\x82x\xff\"").string(Place::Top).unwrap();
        assert_eq!(broken.unwrap(), "\u{fffd}\u{fffd}x\u{fffd}");
    }

    #[test]
    fn keys_match_in_any_case() {
        for key in ["NodeNames", "nodenames", "NODENAMES", "NODENAME\u{17f}"] {
            assert!(same_key(key, "NodeNames"), "{key}");
        }
        assert!(same_key("\u{212a}ind", "kind"));
        for key in ["NodeName", "NodeNamess", "Node_Names", "\u{e9}"] {
            assert!(!same_key(key, "NodeNames"), "{key}");
        }
    }

    #[test]
    fn objects_and_arrays_are_walked_and_skipped() {
        let mut cursor = Cursor::new(br#" { "a" : [ 1 , "]" , {"x":[]} ] , "b":{"c":"}\"{"} , "d" : -7 } "#);
        assert!(cursor.enter_object(Place::Top, "t").unwrap());
        assert_eq!(cursor.next_key().unwrap(), "a");
        assert!(cursor.enter_array(Place::Top, "t").unwrap());
        let mut elements = 0;
        while cursor.next_element() {
            cursor.skip();
            elements += 1;
        }
        assert_eq!(elements, 3);
        assert_eq!(cursor.next_key().unwrap(), "b");
        cursor.skip();
        assert_eq!(cursor.next_key().unwrap(), "d");
        assert_eq!(cursor.int64(Place::Top), Ok(Some(-7)));
        assert_eq!(cursor.next_key(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.enter_object(Place::Top, "t");
            while cursor.next_key().is_some() {
                cursor.skip();
            }
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.enter_array(Place::Top, "t");
            while cursor.next_element() {
                let _ = cursor.string(Place::Top);
                cursor.skip();
            }
        }

        #[test]
        fn strings_come_back(text in any::<String>()) {
            prop_assert_eq!(string(&serde_json::to_string(&text).unwrap()), text);
        }
    }
}
