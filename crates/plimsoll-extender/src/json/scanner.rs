use std::fmt::Write;

/// Containers within containers, as many as Go reads.
const MAX_DEPTH: usize = 10_000;

/// Text that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    /// A byte where it cannot be.
    #[error("invalid character {} {context}", quoted(*byte))]
    Byte {
        /// The byte.
        byte: u8,
        /// What was expected, in Go's words.
        context: &'static str,
    },
    /// A byte within `true`, `false` or `null`.
    #[error("invalid character {} in literal {word} (expecting {})", quoted(*byte), quoted(*expected))]
    Literal {
        /// The byte.
        byte: u8,
        /// The word that began.
        word: &'static str,
        /// Its next letter.
        expected: u8,
    },
    /// Nothing but space.
    #[error("EOF")]
    Empty,
    /// The text ends within the value.
    #[error("unexpected EOF")]
    Unfinished,
}

/// Finds the end of the first value of a text that comes in pieces, and whether it is JSON up to there.
#[derive(Debug)]
pub(crate) struct Scanner {
    state: State,
    containers: Vec<Container>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

/// What was read last, or is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing of the text.
    Start,
    Value,
    ValueOrEndOfArray,
    Key,
    KeyOrEndOfObject,
    AfterKey,
    AfterValue,
    InString {
        is_key: bool,
    },
    Escape {
        is_key: bool,
    },
    Hex {
        is_key: bool,
        left: u8,
    },
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    Literal {
        word: &'static str,
        at: usize,
    },
    Done,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Start,
            containers: Vec::new(),
        }
    }

    /// Reads on. Returns how many bytes of this piece belong to the value, once that has come to its end.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<Option<usize>, SyntaxError> {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            if self.state == (State::InString { is_key: false }) {
                at += plain_length(piece.get(at..).unwrap_or_default());
                let Some(&byte) = piece.get(at) else { break };
                self.step(byte)?;
            } else if self.number_ends_before(byte) {
                self.end_value();
                if self.state == State::Done {
                    return Ok(Some(at));
                }
                continue;
            } else {
                self.step(byte)?;
            }
            at += 1;
            if self.state == State::Done {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Says that nothing follows what was fed.
    pub(crate) fn finish(&self) -> Result<(), SyntaxError> {
        match self.state {
            State::Done => Ok(()),
            State::Start => Err(SyntaxError::Empty),
            state if state.may_end_number() && self.containers.is_empty() => Ok(()),
            _ => Err(SyntaxError::Unfinished),
        }
    }

    /// Whether a number has come to its end, of which this byte is no part. Only the next byte tells.
    fn number_ends_before(&self, byte: u8) -> bool {
        let goes_on = match self.state {
            State::Zero => matches!(byte, b'.' | b'e' | b'E'),
            State::Digits => matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E'),
            State::Fraction => matches!(byte, b'0'..=b'9' | b'e' | b'E'),
            State::ExponentDigits => byte.is_ascii_digit(),
            _ => return false,
        };
        !goes_on
    }

    fn step(&mut self, byte: u8) -> Result<(), SyntaxError> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let fail = |context| Err(SyntaxError::Byte { byte, context });
        self.state = match self.state {
            State::Start
            | State::Value
            | State::ValueOrEndOfArray
            | State::Key
            | State::KeyOrEndOfObject
            | State::AfterKey
            | State::AfterValue
                if is_space =>
            {
                self.state
            }
            State::ValueOrEndOfArray if byte == b']' => return self.close(),
            State::Start | State::Value | State::ValueOrEndOfArray => return self.begin_value(byte),
            State::KeyOrEndOfObject if byte == b'}' => return self.close(),
            State::Key | State::KeyOrEndOfObject if byte == b'"' => State::InString { is_key: true },
            State::Key | State::KeyOrEndOfObject => return fail("looking for beginning of object key string"),
            State::AfterKey if byte == b':' => State::Value,
            State::AfterKey => return fail("after object key"),
            State::AfterValue => match (self.containers.last(), byte) {
                (Some(Container::Array), b',') => State::Value,
                (Some(Container::Object), b',') => State::Key,
                (Some(Container::Array), b']') | (Some(Container::Object), b'}') => return self.close(),
                (Some(Container::Array), _) => return fail("after array element"),
                (Some(Container::Object), _) => return fail("after object key:value pair"),
                (None, _) => State::Done,
            },
            State::InString { is_key } => match byte {
                b'"' if is_key => State::AfterKey,
                b'"' => return self.closed_value(),
                b'\\' => State::Escape { is_key },
                0..=0x1f => return fail("in string literal"),
                _ => self.state,
            },
            State::Escape { is_key } => match byte {
                b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => State::InString { is_key },
                b'u' => State::Hex { is_key, left: 4 },
                _ => return fail("in string escape code"),
            },
            State::Hex { .. } if !byte.is_ascii_hexdigit() => return fail("in \\u hexadecimal character escape"),
            State::Hex { is_key, left: 0 | 1 } => State::InString { is_key },
            State::Hex { is_key, left } => State::Hex { is_key, left: left - 1 },
            State::Minus => match byte {
                b'0' => State::Zero,
                b'1'..=b'9' => State::Digits,
                _ => return fail("in numeric literal"),
            },
            State::Zero | State::Digits if byte == b'.' => State::Point,
            State::Zero | State::Digits | State::Fraction if matches!(byte, b'e' | b'E') => State::Exponent,
            State::Point if byte.is_ascii_digit() => State::Fraction,
            State::Point => return fail("after decimal point in numeric literal"),
            State::Exponent if matches!(byte, b'+' | b'-') => State::ExponentSign,
            State::Exponent | State::ExponentSign if byte.is_ascii_digit() => State::ExponentDigits,
            State::Exponent | State::ExponentSign => return fail("in exponent of numeric literal"),
            // The rest was told from the end of the number before.
            State::Zero | State::Digits | State::Fraction | State::ExponentDigits => self.state,
            State::Literal { word, at } => return self.literal(byte, word, at),
            State::Done => State::Done,
        };
        Ok(())
    }

    fn begin_value(&mut self, byte: u8) -> Result<(), SyntaxError> {
        self.state = match byte {
            b'{' => return self.open(Container::Object, State::KeyOrEndOfObject, byte),
            b'[' => return self.open(Container::Array, State::ValueOrEndOfArray, byte),
            b'"' => State::InString { is_key: false },
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Digits,
            b't' => State::Literal { word: "true", at: 1 },
            b'f' => State::Literal { word: "false", at: 1 },
            b'n' => State::Literal { word: "null", at: 1 },
            _ => {
                let context = "looking for beginning of value";
                return Err(SyntaxError::Byte { byte, context });
            }
        };
        Ok(())
    }

    fn literal(&mut self, byte: u8, word: &'static str, at: usize) -> Result<(), SyntaxError> {
        let expected = word.as_bytes().get(at).copied().unwrap_or_default();
        if byte != expected {
            return Err(SyntaxError::Literal { byte, word, expected });
        }
        if at + 1 == word.len() {
            return self.closed_value();
        }
        self.state = State::Literal { word, at: at + 1 };
        Ok(())
    }

    fn open(&mut self, container: Container, then: State, byte: u8) -> Result<(), SyntaxError> {
        if self.containers.len() == MAX_DEPTH {
            let context = "exceeded max depth";
            return Err(SyntaxError::Byte { byte, context });
        }
        self.containers.push(container);
        self.state = then;
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        self.containers.pop();
        self.closed_value()
    }

    /// For [`Scanner::step`], whose every way out has the same type.
    #[expect(clippy::unnecessary_wraps, reason = "the callers return it")]
    fn closed_value(&mut self) -> Result<(), SyntaxError> {
        self.end_value();
        Ok(())
    }

    fn end_value(&mut self) {
        self.state = if self.containers.is_empty() {
            State::Done
        } else {
            State::AfterValue
        };
    }
}

impl State {
    fn may_end_number(self) -> bool {
        matches!(self, Self::Zero | Self::Digits | Self::Fraction | Self::ExponentDigits)
    }
}

/// How much of a string needs no look: most of what is read lies in strings.
fn plain_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        .unwrap_or(bytes.len())
}

/// A byte in single quotes, written as Go writes the character of that number.
fn quoted(byte: u8) -> String {
    let mut text = String::from("'");
    match byte {
        b'\'' => text.push_str("\\'"),
        b'\\' => text.push_str("\\\\"),
        0x07 => text.push_str("\\a"),
        0x08 => text.push_str("\\b"),
        0x0c => text.push_str("\\f"),
        b'\n' => text.push_str("\\n"),
        b'\r' => text.push_str("\\r"),
        b'\t' => text.push_str("\\t"),
        0x0b => text.push_str("\\v"),
        0..=0x1f | 0x7f => {
            let _ = write!(text, "\\x{byte:02x}");
        }
        0x80..=0xa0 | 0xad => {
            let _ = write!(text, "\\u{byte:04x}");
        }
        _ => text.push(char::from(byte)),
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first value of a text, read in pieces of `size` bytes.
    fn first_value(text: &[u8], size: usize) -> Result<&[u8], SyntaxError> {
        let mut scanner = Scanner::new();
        let mut before = 0;
        for piece in text.chunks(size) {
            if let Some(length) = scanner.feed(piece)? {
                return Ok(&text[..before + length]);
            }
            before += piece.len();
        }
        scanner.finish().map(|()| text)
    }

    fn error(text: &[u8]) -> String {
        first_value(text, 1).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_json_is_told_in_the_words_of_go() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "EOF"),
            (b" \n", "EOF"),
            (b"{", "unexpected EOF"),
            (b"tru", "unexpected EOF"),
            (b"-", "unexpected EOF"),
            (b"[1,", "unexpected EOF"),
            (b"{\"a", "unexpected EOF"),
            (b"{\"a\":", "unexpected EOF"),
            (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
            (
                b"{x",
                "invalid character 'x' looking for beginning of object key string",
            ),
            (
                b"{,",
                "invalid character ',' looking for beginning of object key string",
            ),
            (
                b"{]",
                "invalid character ']' looking for beginning of object key string",
            ),
            (
                b"{'a'",
                "invalid character '\\'' looking for beginning of object key string",
            ),
            (
                b"{\"a\":1,}",
                "invalid character '}' looking for beginning of object key string",
            ),
            (b"{\"a\" 1}", "invalid character '1' after object key"),
            (b"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            (b"{\"a\":1]", "invalid character ']' after object key:value pair"),
            (b"{\"a\":}", "invalid character '}' looking for beginning of value"),
            (b"[1 2]", "invalid character '2' after array element"),
            (b"[1}", "invalid character '}' after array element"),
            (b"[}", "invalid character '}' looking for beginning of value"),
            (b"[,", "invalid character ',' looking for beginning of value"),
            (b"[1,]", "invalid character ']' looking for beginning of value"),
            (b"-x", "invalid character 'x' in numeric literal"),
            (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
            (b"1ex", "invalid character 'x' in exponent of numeric literal"),
            (b"\"\n\"", "invalid character '\\n' in string literal"),
            (b"{\"\x01\"", "invalid character '\\x01' in string literal"),
            (b"\"\\x\"", "invalid character 'x' in string escape code"),
            (
                b"\"\\u00zz\"",
                "invalid character 'z' in \\u hexadecimal character escape",
            ),
            (b"\xff", "invalid character '\u{ff}' looking for beginning of value"),
            (
                b"\xef\xbb\xbf{}",
                "invalid character '\u{ef}' looking for beginning of value",
            ),
            (b"\x80", "invalid character '\\u0080' looking for beginning of value"),
            (b"\x00", "invalid character '\\x00' looking for beginning of value"),
            (b"<html>", "invalid character '<' looking for beginning of value"),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), *expected, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn the_first_value_counts_and_what_follows_does_not() {
        let cases = [
            ("{} x", "{}"),
            ("  [1, -0.5e+7 ]]", "  [1, -0.5e+7 ]"),
            ("01", "0"),
            ("nulll", "null"),
            ("\"a\\\"b\"\"", "\"a\\\"b\""),
            ("1.5e400", "1.5e400"),
            ("12,", "12"),
            (
                "{\"a\":[{},[]],\"b\":\"\\u00e9\"}}",
                "{\"a\":[{},[]],\"b\":\"\\u00e9\"}",
            ),
        ];
        for (text, value) in cases {
            for size in [1, 3, 100] {
                assert_eq!(first_value(text.as_bytes(), size), Ok(value.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn depth_has_the_limit_of_go() {
        assert_eq!(error(&b"[".repeat(10_000)), "unexpected EOF");
        assert_eq!(error(&b"[".repeat(10_001)), "invalid character '[' exceeded max depth");
    }

    /// Text that is nearly JSON: pieces of it in any order.
    fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
        let token = prop_oneof![
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "\\u12", "1", "-", "0", ".5", "e", "true", "nul",
                "null", "fals", " ", "\n",
            ])
            .prop_map(|token| token.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..3),
        ];
        prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in nearly_json(), size in 1_usize..7) {
            prop_assert_eq!(first_value(&text, size), first_value(&text, text.len().max(1)));
        }

        #[test]
        fn text_is_json_exactly_when_another_reader_says_so(text in nearly_json()) {
            let mut other = serde_json::Deserializer::from_slice(&text).into_iter::<serde::de::IgnoredAny>();
            let theirs = other.next().is_some_and(|read| read.is_ok());
            // Skipped values are not looked at for what Go would mend: broken UTF-8 and lone surrogates. Numbers of one
            // leading zero end there for us, as for Go.
            if theirs {
                let value = first_value(&text, 4);
                prop_assert!(value.is_ok(), "{value:?}");
            } else if let Ok(value) = first_value(&text, 4) {
                prop_assert!(std::str::from_utf8(value).is_err() || text.get(value.len()).is_some(), "{text:?}");
            }
        }
    }
}
