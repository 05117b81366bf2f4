//! The bill of materials of the program, and where things are for the tests of the image.

mod bill;
mod packages;

use std::path::{Path, PathBuf};

pub use bill::bill;
pub use packages::{Package, packages};

/// The top of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
