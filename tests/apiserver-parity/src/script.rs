//! The script, in chapters. Each chapter makes its own objects; names start with the chapter's.

mod bindings;
mod deletes;
mod discovery;
mod errors;
mod events;
mod history;
mod kinds;
mod lists;
mod namespaces;
mod objects;
mod patches;
mod reviews;
mod storage;
mod tables;
mod updates;
mod validation;
mod watches;
mod writes;

use crate::step::{Request, Script};
use objects::namespace;

/// The namespace that chapters use unless they say otherwise.
const PODS: &str = "/api/v1/namespaces/parity/pods";

/// The whole script.
pub fn whole() -> Script {
    let mut script = Script::default();
    script.send(
        "make the namespace",
        Request::post("/api/v1/namespaces", namespace("parity")),
    );
    discovery::add(&mut script);
    writes::add(&mut script);
    updates::add(&mut script);
    patches::add(&mut script);
    deletes::add(&mut script);
    validation::add(&mut script);
    errors::add(&mut script);
    bindings::add(&mut script);
    kinds::add(&mut script);
    storage::add(&mut script);
    events::add(&mut script);
    namespaces::add(&mut script);
    reviews::add(&mut script);
    tables::add(&mut script);
    lists::add(&mut script);
    watches::add(&mut script);
    history::add(&mut script);
    script
}
