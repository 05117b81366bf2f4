use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::scalar::{self, Tagged};
use super::{Entry, Node, Value};
use crate::Position;

/// Longer texts are refused. An object of the API, such as the `ConfigMap` a file comes from, is shorter.
const MAX_BYTES: usize = 3 * 1024 * 1024;
/// Values in a tree, an alias counted as what it stands for.
const MAX_VALUES: usize = 250_000;
/// Levels below the top. Deeper than any real file, shallow enough for the stack.
const MAX_DEPTH: usize = 100;

/// Why a text is no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct SyntaxError {
    pub(crate) text: String,
    pub(crate) at: Position,
}

/// The first document of a text, and where the second begins if there is one. An empty text is a null.
pub(crate) fn parse(text: &str) -> Result<(Node, Option<Position>), SyntaxError> {
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        let text = format!(
            "the text is {} bytes long, more than the {MAX_BYTES} that are read",
            text.len()
        );
        return Err(SyntaxError { text, at: start });
    }
    let mut builder = Builder {
        parser: Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)),
        anchors: BTreeMap::new(),
        values: 0,
        start,
    };
    let root = builder.document()?;
    Ok((root, builder.second_document()))
}

struct Builder<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// What aliases stand for, with its measure.
    anchors: BTreeMap<usize, (Node, Measure)>,
    values: usize,
    start: Position,
}

fn position(span: &Span) -> Position {
    Position {
        line: span.start.line().max(1),
        column: span.start.col() + 1,
    }
}

impl From<ScanError> for SyntaxError {
    fn from(error: ScanError) -> Self {
        let at = Position {
            line: error.marker().line().max(1),
            column: error.marker().col() + 1,
        };
        Self { text: error.info(), at }
    }
}

impl<'t> Builder<'t> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Position)>, SyntaxError> {
        loop {
            match self.parser.next_event() {
                None => return Ok(None),
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok((event, span))) => return Ok(Some((event, position(&span)))),
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }

    fn document(&mut self) -> Result<Node, SyntaxError> {
        loop {
            match self.next()? {
                None | Some((Event::StreamEnd | Event::DocumentEnd, _)) => {
                    return Ok(Node {
                        at: self.start,
                        value: Value::Null,
                    });
                }
                Some((Event::StreamStart | Event::DocumentStart(..), _)) => {}
                Some((event, at)) => return self.node(event, at, 0),
            }
        }
    }

    /// What follows the first document is not kube-scheduler's concern, not even whether it can be read.
    fn second_document(&mut self) -> Option<Position> {
        loop {
            match self.next() {
                Ok(Some((Event::DocumentStart(..), at))) => return Some(at),
                Ok(Some((Event::DocumentEnd, _))) => {}
                _ => return None,
            }
        }
    }

    fn node(&mut self, event: Event<'t>, at: Position, depth: usize) -> Result<Node, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(fault(format!("more than {MAX_DEPTH} levels"), at));
        }
        self.count(1, at)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = Tagged::of(tag.as_deref());
                let value = if style == ScalarStyle::Plain || tag != Tagged::No {
                    scalar::resolve(&text, tag).map_err(|text| fault(text, at))?
                } else {
                    Value::Text(text.into_owned())
                };
                (value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.list(depth)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.map(at, depth)?, anchor),
            Event::Alias(anchor) => return self.alias(anchor, at, depth),
            _ => return Err(fault("a value is missing".to_owned(), at)),
        };
        let node = Node { at, value };
        if anchor != 0 {
            let measure = node.measure();
            // It is kept a second time.
            self.count(measure.values, at)?;
            self.anchors.insert(anchor, (node.clone(), measure));
        }
        Ok(node)
    }

    fn count(&mut self, more: usize, at: Position) -> Result<(), SyntaxError> {
        self.values += more;
        if self.values > MAX_VALUES {
            return Err(fault(
                format!("more than {MAX_VALUES} values, counting each alias as what it stands for"),
                at,
            ));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Position, depth: usize) -> Result<Node, SyntaxError> {
        let Some((node, measure)) = self.anchors.get(&anchor) else {
            return Err(fault("an alias stands inside of what it stands for".to_owned(), at));
        };
        if depth + measure.depth > MAX_DEPTH {
            return Err(fault(format!("more than {MAX_DEPTH} levels"), at));
        }
        let (node, values) = (node.clone(), measure.values);
        self.count(values, at)?;
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                None | Some((Event::SequenceEnd, _)) => return Ok(Value::List(items)),
                Some((event, at)) => items.push(self.node(event, at, depth + 1)?),
            }
        }
    }

    fn map(&mut self, start: Position, depth: usize) -> Result<Value, SyntaxError> {
        let mut entries = Vec::new();
        let mut keys = BTreeSet::new();
        let mut merged = Vec::new();
        loop {
            let (event, at) = match self.next()? {
                None | Some((Event::MappingEnd, _)) => break,
                Some(next) => next,
            };
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(event, at, depth + 1)?;
            let Some((event, value_at)) = self.next()? else { break };
            let value = self.node(event, value_at, depth + 1)?;
            if is_merge {
                merged.push(value);
                continue;
            }
            let key = key_text(key)?;
            let repeated = !keys.insert(key.clone());
            entries.push(Entry {
                key,
                at,
                value,
                repeated,
            });
        }
        for value in merged {
            merge(value, start, &mut keys, &mut entries)?;
        }
        Ok(Value::Map(entries))
    }
}

/// Adds what a merge key names. A key that the map has of its own, or has merged before, is one that stands there twice:
/// kube-scheduler's strict reading lets nothing be overridden.
fn merge(
    value: Node,
    start: Position,
    keys: &mut BTreeSet<String>,
    entries: &mut Vec<Entry>,
) -> Result<(), SyntaxError> {
    match value.value {
        Value::Map(below) => {
            entries.extend(below.into_iter().map(|entry| Entry {
                repeated: entry.repeated || !keys.insert(entry.key.clone()),
                ..entry
            }));
            Ok(())
        }
        Value::List(maps) if maps.iter().all(|map| matches!(map.value, Value::Map(_))) => {
            maps.into_iter().try_for_each(|map| merge(map, start, keys, entries))
        }
        _ => Err(fault(
            "map merge requires map or sequence of maps as the value".to_owned(),
            start,
        )),
    }
}

/// Keys of JSON are texts; numbers and booleans are written out.
fn key_text(key: Node) -> Result<String, SyntaxError> {
    match key.value {
        Value::Text(text) => Ok(text),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Int(value) => Ok(value.to_string()),
        Value::UInt(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(value.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => {
            Err(fault(format!("a key cannot be of kind {}", key.kind()), key.at))
        }
    }
}

fn fault(text: String, at: Position) -> SyntaxError {
    SyntaxError { text, at }
}

/// How much a node is.
#[derive(Debug, Clone, Copy)]
struct Measure {
    /// Values in it, itself included.
    values: usize,
    /// Levels below it.
    depth: usize,
}

impl Node {
    fn measure(&self) -> Measure {
        let below: Vec<&Self> = match &self.value {
            Value::List(items) => items.iter().collect(),
            Value::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
            _ => Vec::new(),
        };
        let nothing = Measure { values: 1, depth: 0 };
        below
            .into_iter()
            .map(Self::measure)
            .fold(nothing, |sum, below| Measure {
                values: sum.values + below.values,
                depth: sum.depth.max(below.depth + 1),
            })
    }
}
