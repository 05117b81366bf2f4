use std::fmt;

use serde::Serialize;

use crate::dice::Dice;

/// What pods ask for besides cores and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing; they belong to a job, so nobody spreads them.
    Plain,
    /// Nothing; they belong to a replica set, so the default constraints spread them over nodes and zones.
    DefaultSpread,
    /// To be spread over zones and nodes as far as possible.
    SoftSpread,
    /// To be spread over zones, with a skew of 1.
    HardSpread,
    /// To be in one zone, all of an app.
    RequiredAffinity,
    /// To be near their like if possible: the same zone, better the same node.
    PreferredAffinity,
    /// No two of an app on a node.
    RequiredAntiAffinity,
    /// The same if possible, as most Helm charts have it.
    PreferredAntiAffinity,
    /// An accelerator, which a tenth of the nodes have.
    ExtendedResource,
}

impl Kind {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Plain,
        Self::DefaultSpread,
        Self::SoftSpread,
        Self::HardSpread,
        Self::RequiredAffinity,
        Self::PreferredAffinity,
        Self::RequiredAntiAffinity,
        Self::PreferredAntiAffinity,
        Self::ExtendedResource,
    ];

    /// How many of a hundred pods are of this kind.
    fn share(self) -> u32 {
        match self {
            Self::Plain => 30,
            Self::DefaultSpread => 28,
            Self::HardSpread => 10,
            Self::SoftSpread | Self::RequiredAffinity | Self::RequiredAntiAffinity => 6,
            Self::PreferredAffinity => 4,
            Self::PreferredAntiAffinity | Self::ExtendedResource => 5,
        }
    }

    /// Whether a replica set makes them, not a job. Whoever has no constraints of its own is then spread by default, whatever
    /// else it asks for.
    pub fn has_replica_set(self) -> bool {
        !matches!(self, Self::Plain | Self::ExtendedResource)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::DefaultSpread => "default spreading",
            Self::SoftSpread => "soft spreading",
            Self::HardSpread => "hard zone spreading",
            Self::RequiredAffinity => "required affinity",
            Self::PreferredAffinity => "preferred affinity",
            Self::RequiredAntiAffinity => "required anti-affinity",
            Self::PreferredAntiAffinity => "preferred anti-affinity",
            Self::ExtendedResource => "extended resource",
        })
    }
}

/// Pods that are alike but for their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// Tells it from others.
    pub number: u32,
    /// What its pods ask for.
    pub kind: Kind,
    /// How many pods it has.
    pub replicas: u32,
    /// Thousandths of a core that each asks for.
    pub milli_cpu: u32,
    /// Mebibytes of memory that each asks for.
    pub mebibytes: u32,
}

/// The apps of a cluster: many small ones and some large ones, as clusters have them.
#[derive(Debug, Clone)]
pub struct Mix {
    /// In the order in which they come.
    pub apps: Vec<App>,
}

impl Mix {
    /// Apps with so many pods together.
    pub fn new(seed: u64, nodes: u32, pods: u32) -> Self {
        let mut dice = Dice::new(seed);
        let (mut apps, mut made) = (Vec::new(), 0);
        // What each kind has been given, so that shares of pods, not of apps, are as they should be.
        let mut given = Kind::ALL.map(|_| 0_u64);
        while made < pods {
            let wanting = (0..Kind::ALL.len()).min_by_key(|at| given[*at] * 100 / u64::from(Kind::ALL[*at].share()));
            let at = wanting.unwrap_or(0);
            let app = Self::app(&mut dice, number_of(&apps), Kind::ALL[at], nodes).at_most(pods - made);
            made += app.replicas;
            given[at] += u64::from(app.replicas);
            apps.push(app);
        }
        Self { apps }
    }

    /// One app of each kind, each with so many pods.
    pub fn one_of_each(seed: u64, first: u32, replicas: u32) -> Vec<App> {
        let mut dice = Dice::new(seed);
        let numbers = first..;
        let kinds = numbers.zip(Kind::ALL);
        kinds
            .map(|(number, kind)| App {
                replicas,
                ..Self::app(&mut dice, number, kind, u32::MAX)
            })
            .collect()
    }

    fn app(dice: &mut Dice, number: u32, kind: Kind, nodes: u32) -> App {
        let replicas = match dice.below(20) {
            0 => dice.between(200, 2000),
            1..=5 => dice.between(20, 200),
            _ => dice.between(2, 20),
        };
        // There must be a node for each pod of an app that wants nodes of its own, even where others have filled some.
        let most = if kind == Kind::RequiredAntiAffinity {
            (nodes / 4).max(1)
        } else {
            u32::MAX
        };
        App {
            number,
            kind,
            replicas: replicas.min(most),
            milli_cpu: dice.one_of(&[100, 100, 250, 250, 500, 500, 1000, 1000, 2000, 4000]),
            mebibytes: dice.one_of(&[128, 256, 256, 512, 512, 1024, 2048, 4096]),
        }
    }
}

impl App {
    fn at_most(self, most: u32) -> Self {
        Self {
            replicas: self.replicas.min(most),
            ..self
        }
    }
}

fn number_of(apps: &[App]) -> u32 {
    u32::try_from(apps.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_apps_with_exactly_as_many_pods_in_their_shares() {
        let mix = Mix::new(7, 10_000, 100_000);
        assert_eq!(mix.apps, Mix::new(7, 10_000, 100_000).apps);
        assert_ne!(mix.apps, Mix::new(8, 10_000, 100_000).apps);
        let pods = |kind| {
            let apps = mix.apps.iter().filter(|app| app.kind == kind);
            apps.map(|app| app.replicas).sum::<u32>()
        };
        assert_eq!(Kind::ALL.map(pods).iter().sum::<u32>(), 100_000);
        for kind in Kind::ALL {
            assert!(
                pods(kind).abs_diff(kind.share() * 1000) < 2500,
                "{kind}: {}",
                pods(kind)
            );
        }
        assert_eq!(Kind::ALL.map(Kind::share).iter().sum::<u32>(), 100);
    }
}
