//! Strict reading of a tree: every fault is noted with its path and place, and reading goes on.

use std::cell::RefCell;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::document::{Entry, Node, Value};
use crate::suggest::closest;
use crate::{Fault, FaultKind, GoDuration, GoDurationError};

/// More faults than these are not told.
const MAX_FAULTS: usize = 100;

/// Where faults are noted.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: RefCell<Vec<Fault>>,
}

impl Faults {
    /// In the order of the file, those in the arguments of plugins last, as kube-scheduler decodes them last.
    pub(super) fn into_list(self) -> Vec<Fault> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|fault| (!fault.context.is_empty(), fault.at));
        list
    }

    /// Notes what is wrong, unless there is enough of it.
    pub(super) fn note(&self, fault: impl FnOnce() -> Fault) {
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_FAULTS {
            list.push(fault());
        }
    }
}

/// What stands ahead of faults in the arguments of a plugin, and how much of their path it makes needless.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) strict: String,
    pub(super) wrong: String,
    pub(super) path: usize,
}

/// A value of the tree, its path, and where its faults go.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'t> {
    pub(super) node: &'t Node,
    pub(super) path: String,
    faults: &'t Faults,
    scope: &'t Scope,
}

/// A map whose fields are asked for one by one; the rest is unknown.
#[derive(Debug)]
pub(super) struct Object<'t> {
    cursor: Cursor<'t>,
    entries: &'t [Entry],
    known: Vec<&'static str>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(node: &'t Node, path: String, faults: &'t Faults, scope: &'t Scope) -> Self {
        Self {
            node,
            path,
            faults,
            scope,
        }
    }

    /// The path as kube-scheduler tells it: within a plugin's arguments, from there.
    fn shown_path(&self) -> &str {
        self.path.get(self.scope.path..).unwrap_or(&self.path)
    }

    /// Notes that the field cannot hold what it holds.
    pub(super) fn wrong(&self, why: &str, hint: Option<String>) {
        let place = match self.shown_path() {
            "" => String::new(),
            path => format!(" in field {path:?}"),
        };
        self.faults.note(|| Fault {
            kind: FaultKind::WrongValue,
            context: self.scope.wrong.clone(),
            text: format!("{why}{place}"),
            path: self.path.clone(),
            at: self.node.at,
            hint,
        });
    }

    /// Notes that the arguments of a plugin are something else altogether.
    pub(super) fn wrong_whole(&self, context: &str, why: &str, hint: Option<String>) {
        self.faults.note(|| Fault {
            kind: FaultKind::WrongValue,
            context: context.to_owned(),
            text: why.to_owned(),
            path: self.path.clone(),
            at: self.node.at,
            hint,
        });
    }

    /// The same value with its faults told in a scope.
    pub(super) fn within<'s>(&self, scope: &'s Scope) -> Cursor<'s>
    where
        't: 's,
    {
        Cursor {
            node: self.node,
            path: self.path.clone(),
            faults: self.faults,
            scope,
        }
    }

    /// The same value with its faults kept apart.
    pub(super) fn apart<'s>(&self, faults: &'s Faults) -> Cursor<'s>
    where
        't: 's,
    {
        Cursor { faults, ..self.clone() }
    }

    /// Takes over the values of a wrong type among faults that were kept apart. Whether there are any.
    pub(super) fn take_wrong_values(&self, apart: Faults) -> bool {
        let faults = apart.list.into_inner().into_iter();
        let wrong = faults.filter(|fault| fault.kind == FaultKind::WrongValue);
        wrong.map(|fault| self.faults.note(|| fault)).count() > 0
    }

    fn mismatch<T>(&self, wanted: &str) -> Option<T> {
        let shown = match &self.node.value {
            Value::Int(number) => format!("number {number}"),
            Value::UInt(number) => format!("number {number}"),
            Value::Float(number) => format!("number {number}"),
            _ => self.node.kind().to_owned(),
        };
        let hint = match (wanted, &self.node.value) {
            // YAML reads y, no, on and 5 as something else than text.
            ("string", Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_)) => "write it in quotes",
            ("string", _) => "write a text",
            ("bool", _) => "write true or false",
            ("object", _) => "write fields with their values",
            ("array", _) => "write a list",
            ("float32" | "float64", _) => "write a number",
            _ => "write a whole number that fits",
        };
        self.wrong(&format!("cannot read {shown} as {wanted}"), Some(hint.to_owned()));
        None
    }

    pub(super) fn object(self) -> Option<Object<'t>> {
        match &self.node.value {
            Value::Null => None,
            Value::Map(entries) => Some(Object {
                entries,
                known: Vec::new(),
                cursor: self,
            }),
            _ => self.mismatch("object"),
        }
    }

    pub(super) fn items(&self) -> Vec<Self> {
        match &self.node.value {
            Value::Null => Vec::new(),
            Value::List(items) => {
                let item = |(index, node)| Self {
                    node,
                    path: format!("{}[{index}]", self.path),
                    ..self.clone()
                };
                items.iter().enumerate().map(item).collect()
            }
            _ => self.mismatch("array").unwrap_or_default(),
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        match &self.node.value {
            Value::Null => None,
            Value::Text(text) => Some(text.clone()),
            _ => self.mismatch("string"),
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match &self.node.value {
            Value::Null => None,
            Value::Bool(value) => Some(*value),
            _ => self.mismatch("bool"),
        }
    }

    pub(super) fn integer<T: TryFrom<i64>>(&self, kind: &str) -> Option<T> {
        let number = match &self.node.value {
            Value::Null => return None,
            Value::Int(number) => Some(*number),
            // YAML's 1.0 and 1e3 are whole numbers to kube-scheduler too.
            Value::Float(number) => whole(*number),
            _ => None,
        };
        let fits = number.and_then(|number| T::try_from(number).ok());
        fits.or_else(|| self.mismatch(kind))
    }

    /// A number, read with the precision of the type.
    pub(super) fn float<T: FromStr + Into<f64> + Copy>(&self, kind: &str) -> Option<T> {
        let text = match &self.node.value {
            Value::Null => return None,
            Value::Int(number) => number.to_string(),
            Value::UInt(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => return self.mismatch(kind),
        };
        let number: Option<T> = text.parse().ok().filter(|number: &T| (*number).into().is_finite());
        number.or_else(|| self.mismatch(kind))
    }

    pub(super) fn duration(&self) -> Option<GoDuration> {
        let text = match &self.node.value {
            Value::Null => String::new(),
            _ => self.text()?,
        };
        let hint = "write a duration such as 500ms, 15s or 1m30s";
        let wrong = |error: GoDurationError| self.wrong(&error.to_string(), Some(hint.to_owned()));
        text.parse().map_err(wrong).ok()
    }

    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let text = self.text()?;
        // Go's decoder skips line breaks.
        let packed: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        let decoded = STANDARD.decode(packed);
        decoded
            .map_err(|error| {
                let hint = "write the bytes in base64".to_owned();
                self.wrong(&format!("illegal base64 data: {error}"), Some(hint));
            })
            .ok()
    }
}

/// The integer that a float is.
fn whole(number: f64) -> Option<i64> {
    let whole = number.fract() == 0.0 && number.abs() < 9.2e18;
    whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

impl<'t> Object<'t> {
    /// The value of a field, if it is there and not null.
    pub(super) fn get(&mut self, field: &'static str) -> Option<Cursor<'t>> {
        self.known.push(field);
        let entry = self.entries.iter().rfind(|entry| entry.key == field)?;
        if entry.value.value == Value::Null {
            return None;
        }
        let cursor = self.below(field, &entry.value);
        Some(cursor)
    }

    fn below(&self, field: &str, node: &'t Node) -> Cursor<'t> {
        let parent = &self.cursor.path;
        let path = if parent.is_empty() {
            field.to_owned()
        } else {
            format!("{parent}.{field}")
        };
        Cursor {
            node,
            path,
            ..self.cursor.clone()
        }
    }

    pub(super) fn object(&mut self, field: &'static str) -> Option<Self> {
        self.get(field)?.object()
    }

    pub(super) fn items(&mut self, field: &'static str) -> Vec<Cursor<'t>> {
        self.get(field).map(|list| list.items()).unwrap_or_default()
    }

    pub(super) fn text(&mut self, field: &'static str) -> Option<String> {
        self.get(field)?.text()
    }

    pub(super) fn texts(&mut self, field: &'static str) -> Vec<String> {
        let items = self.items(field);
        items.iter().map(|item| item.text().unwrap_or_default()).collect()
    }

    pub(super) fn boolean(&mut self, field: &'static str) -> Option<bool> {
        self.get(field)?.boolean()
    }

    pub(super) fn int32(&mut self, field: &'static str) -> Option<i32> {
        self.get(field)?.integer("int32")
    }

    pub(super) fn int64(&mut self, field: &'static str) -> Option<i64> {
        self.get(field)?.integer("int64")
    }

    pub(super) fn float32(&mut self, field: &'static str) -> Option<f32> {
        self.get(field)?.float("float32")
    }

    pub(super) fn float64(&mut self, field: &'static str) -> Option<f64> {
        self.get(field)?.float("float64")
    }

    /// A null is read as an empty text, which is no duration, as in Go.
    pub(super) fn duration(&mut self, field: &'static str) -> Option<GoDuration> {
        self.known.push(field);
        let entry = self.entries.iter().rfind(|entry| entry.key == field)?;
        self.below(field, &entry.value).duration()
    }

    /// As [`Object::duration`] where a null is as if left out.
    pub(super) fn duration_or_null(&mut self, field: &'static str) -> Option<GoDuration> {
        self.get(field)?.duration()
    }

    pub(super) fn bytes(&mut self, field: &'static str) -> Option<Vec<u8>> {
        self.get(field)?.bytes()
    }

    /// Every key with a text, as labels are.
    pub(super) fn pairs(self) -> Vec<(&'t str, String)> {
        let text = |entry: &'t Entry| (entry.key.as_str(), self.below(&entry.key, &entry.value).text());
        let pairs = self.entries.iter().filter(|entry| !entry.repeated).map(text);
        pairs.map(|(key, text)| (key, text.unwrap_or_default())).collect()
    }

    /// Notes the fields that nobody asked for.
    pub(super) fn finish(self) {
        for entry in self.entries {
            if entry.repeated || self.known.contains(&entry.key.as_str()) {
                continue;
            }
            self.cursor.faults.note(|| self.unknown(entry));
        }
    }

    fn unknown(&self, entry: &'t Entry) -> Fault {
        let cursor = self.below(&entry.key, &entry.value);
        let hint = closest(&entry.key, &self.known).map(|known| format!("did you mean {known:?}?"));
        Fault {
            kind: FaultKind::UnknownField,
            context: cursor.scope.strict.clone(),
            text: format!("unknown field {:?}", cursor.shown_path()),
            path: cursor.path,
            at: entry.at,
            hint: hint.or_else(|| known_fields(&self.known)),
        }
    }
}

fn known_fields(known: &[&str]) -> Option<String> {
    let names: Vec<&str> = known
        .iter()
        .copied()
        .filter(|name| !matches!(*name, "apiVersion" | "kind"))
        .collect();
    (!names.is_empty()).then(|| format!("remove it; the fields here are {}", names.join(", ")))
}
