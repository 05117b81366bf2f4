//! Who led when, from the writes to the Lease.

use jiff::Timestamp;
use plimsoll_apiserver::Mutation;

use super::api::{LEASE, text};

/// One leader's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reign {
    /// The identity in the lease.
    pub(super) holder: String,
    pub(super) from: Timestamp,
    /// When the lease went to another, or was released.
    pub(super) until: Option<Timestamp>,
    /// Bindings that the API server took in this time.
    pub(super) placed: usize,
    pub(super) first_placed: Option<Timestamp>,
}

impl Reign {
    /// The replica's name: the identity without its random part.
    pub(super) fn leader(&self) -> &str {
        replica_of(&self.holder)
    }
}

/// The name before the random part of an identity.
pub(super) fn replica_of(identity: &str) -> &str {
    identity.split_once('_').map_or(identity, |(name, _)| name)
}

/// The leaders in their order.
pub(super) fn reigns(history: &[Mutation]) -> Vec<Reign> {
    let mut reigns: Vec<Reign> = Vec::new();
    for mutation in history {
        match (mutation.resource.plural, mutation.verb) {
            ("leases", _) if is_ours(mutation) => take_lease(&mut reigns, mutation),
            ("pods", "bind") => {
                if let Some(reign) = reigns.last_mut() {
                    reign.placed += 1;
                    reign.first_placed.get_or_insert(mutation.at);
                }
            }
            _ => {}
        }
    }
    reigns
}

fn is_ours(mutation: &Mutation) -> bool {
    let metadata = |field: &str| text(&mutation.object, field);
    (metadata("/metadata/namespace"), metadata("/metadata/name")) == LEASE
}

fn take_lease(reigns: &mut Vec<Reign>, mutation: &Mutation) {
    let holder = text(&mutation.object, "/spec/holderIdentity");
    let open = reigns.last_mut().filter(|reign| reign.until.is_none());
    if let Some(reign) = open {
        if reign.holder == holder {
            return;
        }
        reign.until = Some(mutation.at);
    }
    if !holder.is_empty() {
        reigns.push(Reign {
            holder: holder.to_owned(),
            from: mutation.at,
            until: None,
            placed: 0,
            first_placed: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_apiserver::resource;
    use serde_json::{Value, json};

    use super::*;

    fn write(second: i64, group: &str, plural: &str, verb: &'static str, object: Value) -> Mutation {
        Mutation {
            rv: 1,
            verb,
            deleted: false,
            resource: resource::find(group, "v1", plural).unwrap(),
            user_agent: Arc::from(""),
            at: at(second),
            object: Arc::new(object),
        }
    }

    fn lease(second: i64, holder: &str) -> Mutation {
        let object = json!({
            "metadata": { "namespace": "kube-system", "name": "kube-scheduler" },
            "spec": { "holderIdentity": holder },
        });
        write(second, "coordination.k8s.io", "leases", "update", object)
    }

    fn bind(second: i64) -> Mutation {
        write(second, "", "pods", "bind", json!({}))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_reign_lasts_until_the_lease_has_another_holder() {
        let history = [
            lease(1, "a_1"),
            bind(2),
            lease(3, "a_1"),
            bind(4),
            lease(9, "b_2"),
            bind(10),
            lease(11, ""),
            lease(12, "a_1"),
        ];
        let reign = |holder: &str, from, until: Option<i64>, placed, first: Option<i64>| Reign {
            holder: holder.to_owned(),
            from: at(from),
            until: until.map(at),
            placed,
            first_placed: first.map(at),
        };
        let expected = [
            reign("a_1", 1, Some(9), 2, Some(2)),
            reign("b_2", 9, Some(11), 1, Some(10)),
            reign("a_1", 12, None, 0, None),
        ];
        assert_eq!(reigns(&history), expected);
        assert_eq!(expected[1].leader(), "b");
    }
}
