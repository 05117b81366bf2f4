//! Reading the protobuf bodies that `kubectl create`, `drain` and `auth can-i` send: a small decoder, driven by the
//! schemas of the few kinds they write. A field it does not know is refused, never dropped.

mod schema;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use schema::{Field, Form};

/// The media type of these bodies.
pub(crate) const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What the bytes begin with.
const MAGIC: &[u8] = b"k8s\0";

/// Decodes a body into the JSON the same client would have sent; the error says what it stumbled over.
pub(crate) fn decode(body: &[u8]) -> Result<Value, String> {
    let envelope = body.strip_prefix(MAGIC).ok_or("the magic prefix is missing")?;
    let mut api_version = String::new();
    let mut kind = String::new();
    let mut raw: &[u8] = &[];
    for entry in Entries(envelope) {
        match entry? {
            (1, Wire::Bytes(bytes)) => {
                for entry in Entries(bytes) {
                    match entry? {
                        (1, Wire::Bytes(text)) => api_version = string(text)?,
                        (2, Wire::Bytes(text)) => kind = string(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let fields = schema::of(&kind).ok_or_else(|| format!("no protobuf schema for {kind}"))?;
    let mut object = message(fields, raw)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// One value as it stands on the wire.
enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

impl Wire<'_> {
    /// Whether it is what an absent field would read as: nothing, or a message of nothing but that.
    fn is_zero(&self) -> bool {
        match self {
            Self::Varint(number) => *number == 0,
            Self::Bytes(bytes) => Entries(bytes).all(|entry| entry.is_ok_and(|(_, wire)| wire.is_zero())),
        }
    }
}

/// The numbered values of one message.
struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or("the message ends within a number")?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn entry(&mut self) -> Result<(u64, Wire<'a>), String> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| "a length is too large")?;
                let (bytes, rest) = self
                    .0
                    .split_at_checked(length)
                    .ok_or("the message ends within a field")?;
                self.0 = rest;
                Wire::Bytes(bytes)
            }
            other => return Err(format!("wire type {other} is not used by Kubernetes")),
        };
        Ok((tag >> 3, wire))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(u64, Wire<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.0 = &[];
        }
        Some(entry)
    }
}

fn string(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|e| e.to_string())
}

fn message(fields: &[Field], bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    for entry in Entries(bytes) {
        let (number, wire) = entry?;
        let Some(field) = fields.iter().find(|f| f.number == number) else {
            // Go writes structs that are not pointers even when they are empty.
            if wire.is_zero() {
                continue;
            }
            return Err(format!("field {number} is not known"));
        };
        put(&mut object, field, wire)?;
    }
    Ok(object)
}

fn put(object: &mut Map<String, Value>, field: &Field, wire: Wire<'_>) -> Result<(), String> {
    let mismatch = || format!("field {} has another type", field.name);
    let name = field.name.to_owned();
    let value = match (field.form, wire) {
        (Form::Int, Wire::Varint(number)) => json!(number.cast_signed()),
        (Form::Bool, Wire::Varint(number)) => json!(number != 0),
        // An empty string or message is what an absent one reads as.
        (Form::Text | Form::Message(_) | Form::Ignored, Wire::Bytes([])) | (Form::Ignored, _) => return Ok(()),
        (Form::Text, Wire::Bytes(bytes)) => json!(string(bytes)?),
        (Form::Message(fields), Wire::Bytes(bytes)) => Value::Object(message(fields, bytes)?),
        (Form::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
        (Form::Texts | Form::Messages(_), Wire::Bytes(bytes)) => {
            let item = match field.form {
                Form::Messages(fields) => Value::Object(message(fields, bytes)?),
                _ => json!(string(bytes)?),
            };
            let list = object.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut().ok_or_else(mismatch)?.push(item);
            return Ok(());
        }
        (Form::TextMap | Form::BytesMap | Form::QuantityMap, Wire::Bytes(bytes)) => {
            let (key, value) = map_entry(field.form, bytes)?;
            let map = object.entry(name).or_insert_with(|| json!({}));
            map.as_object_mut().ok_or_else(mismatch)?.insert(key, value);
            return Ok(());
        }
        _ => return Err(mismatch()),
    };
    object.insert(name, value);
    Ok(())
}

fn map_entry(form: Form, bytes: &[u8]) -> Result<(String, Value), String> {
    let (mut key, mut value): (String, &[u8]) = (String::new(), &[]);
    for entry in Entries(bytes) {
        match entry? {
            (1, Wire::Bytes(bytes)) => key = string(bytes)?,
            (2, Wire::Bytes(bytes)) => value = bytes,
            _ => return Err("a map entry has another form".to_owned()),
        }
    }
    let value = match form {
        Form::BytesMap => json!(STANDARD.encode(value)),
        // A quantity is a message whose only field is its text.
        Form::QuantityMap => match Entries(value).next() {
            Some(Ok((1, Wire::Bytes(text)))) => json!(string(text)?),
            _ => json!("0"),
        },
        _ => json!(string(value)?),
    };
    Ok((key, value))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for entry in Entries(bytes) {
        match entry? {
            (1, Wire::Varint(kind)) => is_text = kind == 1,
            (2, Wire::Varint(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(value)) => text = string(value)?,
            _ => return Err("an int-or-string has another form".to_owned()),
        }
    }
    Ok(if is_text { json!(text) } else { json!(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a length-delimited field.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).expect("short");
        assert!(length < 0x80);
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &type_meta), field(2, raw)].concat()
    }

    #[test]
    fn a_namespace_is_read() {
        let label = field(11, &[field(1, b"a"), field(2, b"b")].concat());
        // kubectl writes an empty creation timestamp, spec and status along.
        let metadata = [field(1, b"n"), field(2, b""), field(8, b""), label].concat();
        let raw = [field(1, &metadata), field(2, b""), field(3, &field(1, b""))].concat();
        let expected = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n", "labels": { "a": "b" } },
        });
        assert_eq!(decode(&body("v1", "Namespace", &raw)), Ok(expected));
    }

    #[test]
    fn numbers_and_either_or_fields_are_read() {
        let raw = [field(1, &field(1, b"b")), field(2, &field(1, &[0x08, 0, 0x10, 3]))].concat();
        let budget = decode(&body("policy/v1", "PodDisruptionBudget", &raw)).expect("decoded");
        assert_eq!(budget["spec"], json!({ "minAvailable": 3 }));
        let raw = [field(2, &field(3, &[0x08, 1, 0x1a, 3, b'1', b'0', b'%']))].concat();
        let budget = decode(&body("policy/v1", "PodDisruptionBudget", &raw)).expect("decoded");
        assert_eq!(budget["spec"], json!({ "maxUnavailable": "10%" }));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let unknown_field = field(2, &field(9, b"x"));
        for (bytes, error) in [
            (b"{}".to_vec(), "the magic prefix is missing"),
            (body("v1", "Novel", b""), "no protobuf schema for Novel"),
            (body("v1", "Namespace", &unknown_field), "field 9 is not known"),
            (body("v1", "Namespace", &[0x0a, 9]), "the message ends within a field"),
        ] {
            assert_eq!(decode(&bytes), Err(error.to_owned()));
        }
    }
}
