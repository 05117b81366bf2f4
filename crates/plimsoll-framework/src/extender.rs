//! HTTP extenders as the engine sees them: what it asks of them, and what comes back. Whoever performs the calls turns
//! these into requests and replies on the wire.

use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use plimsoll_config::ExtenderConfig;
use plimsoll_model::{Node, Pod, Uid};

/// The name under which extenders stand: the pseudo-plugin that rejects in their name, and the performer of their
/// effects. Such an effect's request is a `Vec<ExtenderRequest>`, its reply a `Vec<Result<ExtenderAnswer, String>>` of the
/// same length and order.
pub const EXTENDER: &str = "Extender";

/// The longest that a call may take when its extender is configured to have no limit of time: pods are placed one at a
/// time, and each behind it waits.
pub const EXTENDER_TIME_LIMIT: Duration = Duration::from_mins(5);

/// An extender of a profile: its configuration, and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Extender {
    config: ExtenderConfig,
}

impl Extender {
    /// An extender that is configured so.
    pub fn new(config: ExtenderConfig) -> Self {
        Self { config }
    }

    /// The extenders of one profile in the order in which they are asked: those of all profiles, then its own, and of these
    /// the ones that may fail last.
    pub fn in_order(shared: &[ExtenderConfig], own: &[ExtenderConfig]) -> Vec<Arc<Self>> {
        let mut extenders: Vec<_> = shared
            .iter()
            .chain(own)
            .map(|config| Arc::new(Self::new(config.clone())))
            .collect();
        extenders.sort_by_key(|extender| extender.ignorable());
        extenders
    }

    /// How it is reached.
    pub fn config(&self) -> &ExtenderConfig {
        &self.config
    }

    /// Its address, by which users know it.
    pub fn url(&self) -> &str {
        &self.config.url_prefix
    }

    /// Whether it narrows nodes.
    pub fn filters(&self) -> bool {
        !self.config.filter_verb.is_empty()
    }

    /// Whether it scores nodes.
    pub fn prioritizes(&self) -> bool {
        !self.config.prioritize_verb.is_empty()
    }

    /// Whether it binds pods.
    pub fn binds(&self) -> bool {
        !self.config.bind_verb.is_empty()
    }

    /// Whether it has a say in whom to evict.
    pub fn preempts(&self) -> bool {
        !self.config.preempt_verb.is_empty()
    }

    /// Multiplies its scores.
    pub fn weight(&self) -> i64 {
        self.config.weight
    }

    /// Whether scheduling goes on without it when it fails.
    pub fn ignorable(&self) -> bool {
        self.config.ignorable
    }

    /// Whether it knows the nodes, so that names will do.
    pub fn node_cache_capable(&self) -> bool {
        self.config.node_cache_capable
    }

    /// Longest that one call may take, sending and reading included. What comes later is too late.
    pub fn time_limit(&self) -> Duration {
        match self.config.http_timeout.to_duration() {
            Some(Duration::ZERO) => DEFAULT_TIME_LIMIT,
            Some(limit) => limit,
            None => EXTENDER_TIME_LIMIT,
        }
    }

    /// Whether it wants to be asked about the pod: it manages no resource, or one that a container of the pod names. Limits
    /// are not looked at, since the API server makes each a request too.
    pub fn is_interested(&self, pod: &Pod) -> bool {
        let managed = &self.config.managed_resources;
        let mut containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
        managed.is_empty()
            || containers.any(|container| {
                managed
                    .iter()
                    .any(|resource| container.requests.get(&resource.name).is_some())
            })
    }
}

/// As kube-scheduler's, for configurations that were not read from a file.
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(5);

/// One call of one extender.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtenderRequest {
    /// Who is asked.
    pub extender: Arc<Extender>,
    /// What.
    pub call: ExtenderCall,
}

/// What an extender is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtenderCall {
    /// Which of these nodes will do.
    Filter {
        /// The pod to place.
        pod: Arc<Pod>,
        /// Those that passed all before it.
        nodes: ExtenderNodes,
    },
    /// How well these nodes suit.
    Prioritize {
        /// The pod to place.
        pod: Arc<Pod>,
        /// All that passed.
        nodes: ExtenderNodes,
    },
    /// Bind the pod.
    Bind {
        /// The pod.
        pod: Arc<Pod>,
        /// Where to.
        node: CompactString,
    },
    /// Whom to evict.
    Preempt {
        /// The pod to place.
        pod: Arc<Pod>,
        /// What the choice is so far.
        candidates: Vec<ExtenderVictims>,
    },
}

impl ExtenderCall {
    /// What it is about, in words of logs and metrics: `filter`, `prioritize`, `bind` or `preempt`.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Filter { .. } => "filter",
            Self::Prioritize { .. } => "prioritize",
            Self::Bind { .. } => "bind",
            Self::Preempt { .. } => "preempt",
        }
    }
}

/// The nodes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtenderNodes {
    /// Names, for one that knows the nodes.
    Names(Vec<CompactString>),
    /// The nodes themselves.
    Objects(Vec<Arc<Node>>),
}

/// The pods whose eviction would make room on a node.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtenderVictims {
    /// The node.
    pub node: CompactString,
    /// Most important first.
    pub pods: Vec<Arc<Pod>>,
    /// How many evictions would violate a disruption budget.
    pub violations: i64,
}

/// What an extender answered. That it could not be reached, broke the protocol or reports an error of its own comes as a text
/// in its place: all of what users read, as kube-scheduler has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtenderAnswer {
    /// To [`ExtenderCall::Filter`].
    Filtered {
        /// Names of the nodes that will do, as it gave them.
        nodes: Vec<CompactString>,
        /// Names of nodes that will not, and why; evicting pods could help.
        failed: Vec<(CompactString, String)>,
        /// Those on which it could not. Wins when a node is in both.
        unresolvable: Vec<(CompactString, String)>,
    },
    /// To [`ExtenderCall::Prioritize`]: node names and scores, meant to be 0 to 10.
    Prioritized(Vec<(CompactString, i64)>),
    /// To [`ExtenderCall::Bind`]: the pod is bound.
    Bound,
    /// To [`ExtenderCall::Bind`]: the extender has done with the request and says why the pod is not bound.
    NotBound(String),
    /// To [`ExtenderCall::Preempt`]: what is left of the choice.
    Preempted(Vec<ExtenderChoice>),
}

/// The pods that an extender would have evicted from a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtenderChoice {
    /// The node.
    pub node: CompactString,
    /// Identities of the pods, in its order.
    pub pods: Vec<Uid>,
    /// How many evictions would violate a disruption budget.
    pub violations: i64,
}

#[cfg(test)]
mod tests {
    use plimsoll_config::{GoDuration, ManagedResource};
    use plimsoll_model::testing::pod;

    use super::*;

    fn named(url: &str, ignorable: bool) -> ExtenderConfig {
        ExtenderConfig {
            url_prefix: url.to_owned(),
            ignorable,
            ..ExtenderConfig::default()
        }
    }

    #[test]
    fn those_of_all_profiles_come_first_and_those_that_may_fail_last() {
        let shared = [named("a", true), named("b", false)];
        let own = [named("c", true), named("d", false)];
        let extenders = Extender::in_order(&shared, &own);
        let urls: Vec<_> = extenders.iter().map(|extender| extender.url()).collect();
        assert_eq!(urls, ["b", "d", "a", "c"]);
    }

    #[test]
    fn an_extender_wants_the_pods_with_a_container_that_names_a_resource_of_its_own() {
        let gpu = ManagedResource {
            name: "example.com/gpu".to_owned(),
            ignored_by_scheduler: false,
        };
        let of_gpus = Extender::new(ExtenderConfig {
            managed_resources: vec![gpu],
            ..ExtenderConfig::default()
        });
        let plain = pod("plain").cpu("1").build();
        assert!(Extender::new(ExtenderConfig::default()).is_interested(&plain));
        assert!(!of_gpus.is_interested(&plain));
        assert!(of_gpus.is_interested(&pod("zero").cpu("1").request("example.com/gpu", "0").build()));
        assert!(of_gpus.is_interested(&pod("init").init(&[("example.com/gpu", "1")]).build()));
        assert!(!of_gpus.is_interested(&pod("overhead").overhead("example.com/gpu", "1").build()));
    }

    #[test]
    fn a_call_always_has_a_limit_of_time() {
        let limit = |http_timeout| {
            let config = ExtenderConfig {
                http_timeout,
                ..ExtenderConfig::default()
            };
            Extender::new(config).time_limit()
        };
        assert_eq!(limit(GoDuration::from_secs(2)), Duration::from_secs(2));
        assert_eq!(limit(GoDuration::ZERO), Duration::from_secs(5));
        assert_eq!(limit(GoDuration::from_secs(-1)), EXTENDER_TIME_LIMIT);
    }
}
