//! JSON as Go's `encoding/json` reads it from a stream: the first value counts and what follows does not, keys match in
//! any case, broken UTF-8 is mended, and errors have Go's texts, since users see them.

mod cursor;
mod scanner;
mod type_error;

pub(crate) use cursor::{Cursor, Kind, same_key};
pub(crate) use scanner::{Scanner, SyntaxError};
pub(crate) use type_error::{Place, TypeError};
