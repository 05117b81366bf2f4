use super::*;
use crate::{Namespace, ResourceVersion, Uid};

/// Rows that changed are found whether there were few changes since or more than are remembered one by one, and whatever
/// changes there were meanwhile that are about no node.
#[test]
fn every_row_that_has_changed_since_a_version_is_found() {
    let mut columns = Columns::new();
    let mut rows_at = Vec::new();
    let name = |at: usize| format!("n{}", at % 7);
    for at in 0..3 * LATEST {
        if at % 5 == 0 {
            columns.set_namespace(&Namespace {
                name: "default".into(),
                uid: Uid::from("u"),
                resource_version: ResourceVersion::new(1),
                labels: [("turn", at.to_string().as_str())].into_iter().collect(),
            });
        } else {
            columns.set_node(&node(&name(at)).cpu(&format!("{}", at + 1)).build());
            let row = columns.index_of(&name(at)).unwrap();
            rows_at.push((columns.version(), row));
        }
    }
    let now = columns.version();
    for version in [
        0,
        1,
        now - 2 * LATEST as u64,
        now - LATEST as u64,
        now - LATEST as u64 + 1,
        now - 9,
        now - 1,
        now,
    ] {
        let found = columns.changed_since(version);
        let changed = rows_at.iter().filter(|(at, _)| *at > version);
        let changed: NodeSet = changed.map(|(_, row)| *row).collect();
        assert!(
            changed.is_subset_of(&found),
            "since {version} of {now}: {changed:?} {found:?}"
        );
    }
    columns.set_node(&node("n3").cpu("1").build());
    let found: Vec<_> = columns.changed_since(now).iter().collect();
    assert_eq!(found, [columns.index_of("n3").unwrap()], "one change is one row");
    assert!(columns.changed_since(columns.version()).is_empty());
}
