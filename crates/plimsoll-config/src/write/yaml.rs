//! YAML as kube-scheduler's writer lays it out: sorted keys, lists flush with their key, quotes only where needed.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;

use crate::document::would_be_read_as_text;

/// Longer lines are broken at a space.
const BEST_WIDTH: usize = 80;
/// Longer keys are written after a question mark.
const LONGEST_SIMPLE_KEY: usize = 128;

/// The tree as a text that ends with a line break.
pub(crate) fn write(value: &Value) -> String {
    let mut writer = Writer::default();
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, 0),
        Value::Array(items) if !items.is_empty() => writer.list(items, 0),
        _ => writer.leaf(value, 0),
    }
    if !writer.out.ends_with('\n') {
        writer.out.push('\n');
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
}

impl Writer {
    /// Where the next letter goes, counted from 0.
    fn column(&self) -> usize {
        let line = self.out.rfind('\n').map_or(0, |at| at + 1);
        self.out[line..].chars().count()
    }

    fn begin_line(&mut self, indent: usize) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn map(&mut self, map: &serde_json::Map<String, Value>, indent: usize) {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by(|(a, _), (b, _)| natural_order(a, b));
        for (number, (key, value)) in entries.into_iter().enumerate() {
            // The first key of a list's item stands behind the dash.
            let behind_dash = number == 0 && self.column() == indent && self.out.ends_with("- ");
            if !behind_dash {
                self.begin_line(indent);
            }
            let complex = key.len() > LONGEST_SIMPLE_KEY || key.contains(is_break);
            if complex {
                self.out.push_str("? ");
                self.text(key, indent + 2, false);
                self.begin_line(indent);
            } else {
                self.text(key, indent, true);
            }
            self.out.push(':');
            self.below(value, indent);
        }
    }

    fn list(&mut self, items: &[Value], indent: usize) {
        for (number, item) in items.iter().enumerate() {
            let behind_dash = number == 0 && self.column() == indent && self.out.ends_with("- ");
            if !behind_dash {
                self.begin_line(indent);
            }
            self.out.push('-');
            match item {
                Value::Object(map) if !map.is_empty() => {
                    self.out.push(' ');
                    self.map(map, indent + 2);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.out.push(' ');
                    self.list(items, indent + 2);
                }
                leaf => {
                    self.out.push(' ');
                    self.leaf(leaf, indent + 2);
                }
            }
        }
    }

    /// The value of a key at this indent.
    fn below(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => self.map(map, indent + 2),
            Value::Array(items) if !items.is_empty() => self.list(items, indent),
            leaf => {
                self.out.push(' ');
                self.leaf(leaf, indent + 2);
            }
        }
    }

    fn leaf(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(_) => self.out.push_str("{}"),
            Value::Array(_) => self.out.push_str("[]"),
            Value::String(text) => self.text(text, indent, false),
            Value::Number(number) => self.out.push_str(&shown_number(number)),
            Value::Bool(_) | Value::Null => {
                let _ = write!(self.out, "{value}");
            }
        }
    }

    fn text(&mut self, text: &str, indent: usize, is_key: bool) {
        let shape = Shape::of(text);
        if text.contains('\n') && !is_key && shape.block {
            return self.literal(text, indent);
        }
        let resolves = !would_be_read_as_text(text) || is_base_60(text) || text == MERGE;
        if text.contains('\n') || resolves || !shape.single_quoted {
            return self.double_quoted(text, indent, !is_key);
        }
        if shape.plain {
            self.folded(text, indent, !is_key);
        } else {
            self.out.push('\'');
            self.folded(&text.replace('\'', "''"), indent, !is_key);
            self.out.push('\'');
        }
    }

    /// A text in a line, which breaks at a single space once it is too long.
    fn folded(&mut self, text: &str, indent: usize, may_break: bool) {
        let letters: Vec<char> = text.chars().collect();
        for (at, letter) in letters.iter().enumerate() {
            let around = at > 0 && at + 1 < letters.len();
            let alone = around && letters[at - 1] != ' ' && letters[at + 1] != ' ';
            if *letter == ' ' && alone && may_break && self.column() > BEST_WIDTH {
                self.begin_line(indent);
            } else {
                self.out.push(*letter);
            }
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.out.push('|');
        if text.starts_with([' ', '\n']) {
            self.out.push('2');
        }
        if !text.ends_with('\n') {
            self.out.push('-');
        } else if text.len() == 1 || text.ends_with("\n\n") {
            self.out.push('+');
        }
        self.out.push('\n');
        for line in text.split_inclusive('\n') {
            if line != "\n" {
                self.out.extend(std::iter::repeat_n(' ', indent));
            }
            self.out.push_str(line);
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, may_break: bool) {
        self.out.push('"');
        let letters: Vec<char> = text.chars().collect();
        let mut after_space = false;
        for (at, letter) in letters.iter().enumerate() {
            if *letter == ' ' {
                let around = at > 0 && at + 1 < letters.len();
                if may_break && !after_space && around && self.column() > BEST_WIDTH {
                    self.begin_line(indent);
                    if letters[at + 1] == ' ' {
                        self.out.push('\\');
                    }
                } else {
                    self.out.push(' ');
                }
                after_space = true;
                continue;
            }
            after_space = false;
            self.escaped(*letter);
        }
        self.out.push('"');
    }

    fn escaped(&mut self, letter: char) {
        let short = match letter {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ if is_printable(letter) => {
                self.out.push(letter);
                return;
            }
            _ => {
                let code = u32::from(letter);
                let _ = match code {
                    0..=0xff => write!(self.out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(self.out, "\\u{code:04X}"),
                    _ => write!(self.out, "\\U{code:08X}"),
                };
                return;
            }
        };
        self.out.push('\\');
        self.out.push(short);
    }
}

/// In which ways a text may be written.
struct Shape {
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let (Some(first), Some(last)) = (letters.first(), letters.last()) else {
            return Self {
                plain: true,
                single_quoted: true,
                block: false,
            };
        };
        let special = letters.iter().any(|letter| !is_printable(*letter));
        let pair = |a: fn(char) -> bool, b: fn(char) -> bool| letters.windows(2).any(|pair| a(pair[0]) && b(pair[1]));
        let is_space = |letter: char| letter == ' ';
        let space_then_break = pair(is_space, is_break);
        let break_then_space = pair(is_break, is_space);
        let padded = is_space(*first) || is_break(*first) || is_space(*last) || is_break(*last);
        let has_breaks = letters.iter().any(|letter| is_break(*letter));
        let quoted_only = special || space_then_break;
        Self {
            plain: !(padded || break_then_space || quoted_only || has_breaks || has_indicators(&letters)),
            single_quoted: !(break_then_space || quoted_only),
            block: !(quoted_only || is_space(*last)),
        }
    }
}

/// What merges another map into one, where it stands plain.
const MERGE: &str = "<<";

/// Whether the text holds what would mean something outside of quotes.
fn has_indicators(letters: &[char]) -> bool {
    let is_blank = |at: usize| letters.get(at).is_none_or(|letter| matches!(letter, ' ' | '\t'));
    let marker = letters.starts_with(&['-', '-', '-']) || letters.starts_with(&['.', '.', '.']);
    let first = match letters.first() {
        Some('#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`') => true,
        Some('?' | '-') => is_blank(1),
        _ => false,
    };
    let inside = letters.iter().enumerate().any(|(at, letter)| match letter {
        ':' => is_blank(at + 1),
        '#' => at > 0 && (matches!(letters[at - 1], ' ' | '\t') || is_break(letters[at - 1])),
        _ => false,
    });
    marker || first || inside
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && letter != '\u{feff}'
}

/// `190:20:30` was a number once, and some readers still think so.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let digits = |part: &str| part.bytes().all(|c| c.is_ascii_digit() || c == b'_');
    let first = parts
        .next()
        .is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()) && digits(part));
    let mut rest = parts.peekable();
    let sixtieth = |part: &str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
        _ => false,
    };
    first && digits(fraction) && rest.peek().is_some() && rest.all(sixtieth)
}

/// Letters after everything else, and numbers by their value.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let leading_digits = a[..at].iter().rev().take_while(|letter| letter.is_ascii_digit());
    let zero = a[at] == '0' || b[at] == '0';
    let start = u128::from(zero && leading_digits.clone().any(|digit| *digit != '0'));
    let number = |letters: &[char]| {
        let digits = letters[at..].iter().map_while(|letter| letter.to_digit(10));
        let count = digits.clone().count();
        let value = digits.fold(start, |value, digit| {
            value.saturating_mul(10).saturating_add(digit.into())
        });
        (value, count)
    };
    number(&a).cmp(&number(&b)).then(a[at].cmp(&b[at]))
}

/// Numbers as Go's `%g` with the fewest digits.
fn shown_number(number: &serde_json::Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let exponential = format!("{float:e}");
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}
