use super::{ReplyError, read_text};
use crate::json::{Cursor, Place, same_key};

/// Reads `ExtenderBindingResult`: the error that it reports, empty when there is none.
pub(crate) fn binding_error(value: &[u8]) -> Result<String, ReplyError> {
    let mut error = String::new();
    let mut cursor = Cursor::new(value);
    if cursor.enter_object(Place::Top, "v1.ExtenderBindingResult")? {
        while let Some(key) = cursor.next_key() {
            if same_key(&key, "Error") {
                read_text(&mut cursor, Place::Field("ExtenderBindingResult.Error"), &mut error)?;
            } else {
                cursor.skip();
            }
        }
    }
    Ok(error)
}
