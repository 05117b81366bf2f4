use compact_str::CompactString;

use crate::{Labels, ResourceVersion, Uid};

/// A namespace as the scheduler sees it: affinity terms may name namespaces by their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: CompactString,
    /// Its identity.
    pub uid: Uid,
    /// Version of this content.
    pub resource_version: ResourceVersion,
    /// Its labels.
    pub labels: Labels,
}
