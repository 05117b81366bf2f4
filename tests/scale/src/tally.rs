use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::cluster::{Capacity, Cluster};
use crate::mix::{App, Kind};
use crate::ours::Placed;

/// A promise that the placements break.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A node gave away more than it has.
    PastItsLine(u32),
    /// A pod is on a node whose taint it does not tolerate.
    Tainted(Pod),
    /// Two of an app that must not be on one node are.
    Together(Pod),
    /// An app is in several zones that must be in one.
    Apart(u32),
    /// The zones of an app differ by more than it bears.
    Skewed(u32),
    /// A pod was placed twice.
    Twice(Pod),
}

/// The number of an app, and of a pod of it.
pub(crate) type Pod = (u32, u32);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PastItsLine(node) => write!(f, "node {node} gave away more than it has"),
            Self::Tainted((app, pod)) => write!(f, "pod {pod} of app {app} is on a tainted node"),
            Self::Together((app, pod)) => write!(f, "pod {pod} of app {app} shares its node with another of the app"),
            Self::Apart(app) => write!(f, "app {app} is in several zones"),
            Self::Skewed(app) => write!(f, "app {app} is spread unevenly"),
            Self::Twice((app, pod)) => write!(f, "pod {pod} of app {app} was placed twice"),
        }
    }
}

/// Adds everything up anew, from nothing but where pods are: no code of a scheduler's has a part in it. Pods only come, so what
/// held when each was placed must hold at the end, too.
pub fn tally(cluster: &Cluster, apps: &BTreeMap<u32, App>, placed: &[Placed]) -> BTreeSet<Fault> {
    let mut faults = BTreeSet::new();
    let mut used = vec![NOTHING; cluster.size() as usize];
    let mut by_app: BTreeMap<u32, Vec<&Placed>> = BTreeMap::new();
    for place in placed {
        by_app.entry(place.app).or_default().push(place);
        let (Some(app), Some(used)) = (apps.get(&place.app), used.get_mut(place.node as usize)) else {
            continue;
        };
        used.milli_cpu += u64::from(app.milli_cpu);
        used.mebibytes += u64::from(app.mebibytes);
        used.accelerators += u64::from(app.kind == Kind::ExtendedResource);
        used.pods += 1;
        let is_tainted = Cluster::capacity(place.node).accelerators > 0;
        if is_tainted && app.kind != Kind::ExtendedResource {
            faults.insert(Fault::Tainted((place.app, place.pod)));
        }
    }
    for (node, used) in (0..).zip(&used) {
        let has = Cluster::capacity(node);
        let is_past = used.milli_cpu > has.milli_cpu
            || used.mebibytes > has.mebibytes
            || used.accelerators > has.accelerators
            || used.pods > has.pods;
        if is_past {
            faults.insert(Fault::PastItsLine(node));
        }
    }
    for (number, pods) in &by_app {
        if let Some(app) = apps.get(number) {
            judge(app, pods, &mut faults);
        }
    }
    faults
}

const NOTHING: Capacity = Capacity {
    milli_cpu: 0,
    mebibytes: 0,
    accelerators: 0,
    pods: 0,
};

fn judge(app: &App, pods: &[&Placed], faults: &mut BTreeSet<Fault>) {
    let (mut names, mut nodes) = (BTreeSet::new(), BTreeSet::new());
    // Zones count where the app may be: each has nodes without taints.
    let mut zones = [0_usize; 3];
    for place in pods {
        let pod = (place.app, place.pod);
        if !names.insert(place.pod) {
            faults.insert(Fault::Twice(pod));
        }
        if !nodes.insert(place.node) && app.kind == Kind::RequiredAntiAffinity {
            faults.insert(Fault::Together(pod));
        }
        zones[Cluster::zone(place.node) as usize] += 1;
    }
    let most = zones.iter().max().copied().unwrap_or(0);
    let least = zones.iter().min().copied().unwrap_or(0);
    if app.kind == Kind::HardSpread && most > least + 1 {
        faults.insert(Fault::Skewed(app.number));
    }
    if app.kind == Kind::RequiredAffinity && zones.iter().filter(|pods| **pods > 0).count() > 1 {
        faults.insert(Fault::Apart(app.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(kind: Kind, milli_cpu: u32, nodes: &[u32]) -> Vec<Fault> {
        let app = App {
            number: 4,
            kind,
            replicas: 9,
            milli_cpu,
            mebibytes: 1,
        };
        let placed = (0..).zip(nodes).map(|(pod, node)| Placed {
            app: 4,
            pod,
            node: *node,
        });
        let placed: Vec<Placed> = placed.collect();
        tally(&Cluster::new(40), &[(4, app)].into(), &placed)
            .into_iter()
            .collect()
    }

    #[test]
    fn each_promise_is_seen_to_be_kept_and_to_be_broken() {
        let cores = 16_000;
        let cases: [(Kind, u32, &[u32], &[Fault]); 12] = [
            (Kind::Plain, cores, &[0, 1, 1], &[Fault::PastItsLine(1)]),
            (Kind::Plain, cores - 200, &[0, 1, 1], &[]),
            (Kind::Plain, 1, &[9], &[Fault::Tainted((4, 0))]),
            (Kind::ExtendedResource, 1, &[9; 8], &[]),
            (Kind::ExtendedResource, 1, &[9; 9], &[Fault::PastItsLine(9)]),
            (Kind::RequiredAntiAffinity, 1, &[3, 4, 3], &[Fault::Together((4, 2))]),
            (Kind::RequiredAntiAffinity, 1, &[3, 4, 5], &[]),
            (Kind::PreferredAntiAffinity, 1, &[3, 4, 3], &[]),
            (Kind::HardSpread, 1, &[0, 3], &[Fault::Skewed(4)]),
            (Kind::HardSpread, 1, &[0, 1, 2, 3], &[]),
            (Kind::RequiredAffinity, 1, &[0, 3, 6], &[]),
            (Kind::RequiredAffinity, 1, &[0, 3, 7], &[Fault::Apart(4)]),
        ];
        for (kind, milli_cpu, nodes, expected) in cases {
            assert_eq!(faults(kind, milli_cpu, nodes), expected, "{kind} on {nodes:?}");
        }
        let twice = Placed {
            app: 1,
            pod: 0,
            node: 0,
        };
        let app = App {
            number: 1,
            kind: Kind::Plain,
            replicas: 1,
            milli_cpu: 1,
            mebibytes: 1,
        };
        let faults = tally(&Cluster::new(3), &[(1, app)].into(), &[twice, twice]);
        assert_eq!(faults.into_iter().collect::<Vec<_>>(), [Fault::Twice((1, 0))]);
    }
}
