use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

use crate::policy::MetricsPolicy;
use crate::vector::{Allowed, Vector};

/// What is promised of a family; kube-scheduler says it at the head of the help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stability {
    Alpha,
    Beta,
    Stable,
    /// Of a family of client libraries, or our own: nothing is said.
    Unsaid,
}

/// A family's name, in full, and what it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    stability: Stability,
    help: &'static str,
}

pub(crate) const fn alpha(name: &'static str, help: &'static str) -> Definition {
    define(name, Stability::Alpha, help)
}

pub(crate) const fn beta(name: &'static str, help: &'static str) -> Definition {
    define(name, Stability::Beta, help)
}

pub(crate) const fn stable(name: &'static str, help: &'static str) -> Definition {
    define(name, Stability::Stable, help)
}

/// A family without a promise.
pub(crate) const fn plain(name: &'static str, help: &'static str) -> Definition {
    define(name, Stability::Unsaid, help)
}

const fn define(name: &'static str, stability: Stability, help: &'static str) -> Definition {
    Definition { name, stability, help }
}

impl Definition {
    /// The text at the head of the family. The library adds a full stop, which is taken away again when it writes.
    pub(crate) fn help(&self) -> String {
        let promise = match self.stability {
            Stability::Alpha => "[ALPHA] ",
            Stability::Beta => "[BETA] ",
            Stability::Stable => "[STABLE] ",
            Stability::Unsaid => "",
        };
        format!("{promise}{}", self.help)
    }
}

/// One metric, or what a [`Vector`] is made of.
pub(crate) trait One: EncodeMetric + TypedMetric + Clone + fmt::Debug + Send + Sync + 'static {}

impl<M: EncodeMetric + TypedMetric + Clone + fmt::Debug + Send + Sync + 'static> One for M {}

/// Collects every family before any is shown: they are shown in the order of their names, without those that the operator
/// does not want.
pub(crate) struct Registrar<'a> {
    policy: &'a MetricsPolicy,
    families: BTreeMap<&'static str, Show>,
    collectors: Vec<Box<dyn Collector>>,
    forgetting: Vec<Forget>,
    registered: BTreeMap<Stability, i64>,
    disabled: Counter,
    unexpected: Counter,
}

type Show = Box<dyn FnOnce(&mut Registry)>;
type Forget = Box<dyn Fn() + Send + Sync>;

impl<'a> Registrar<'a> {
    pub(crate) fn new(policy: &'a MetricsPolicy) -> Self {
        Self {
            policy,
            families: BTreeMap::new(),
            collectors: Vec::new(),
            forgetting: Vec::new(),
            registered: BTreeMap::new(),
            disabled: Counter::default(),
            unexpected: Counter::default(),
        }
    }

    /// A family of one metric.
    pub(crate) fn one<M: One>(&mut self, definition: Definition, metric: M) -> M {
        self.show(definition, metric.clone());
        metric
    }

    /// A family of metrics told apart by these labels, in alphabetical order, as kube-scheduler prints them.
    pub(crate) fn many<M: One>(
        &mut self,
        definition: Definition,
        labels: &'static [&'static str],
        make: fn() -> M,
    ) -> Vector<M> {
        debug_assert!(labels.is_sorted(), "{}: labels in alphabetical order", definition.name);
        let values = self.policy.allowed(definition.name, labels);
        let unexpected = self.unexpected.clone();
        let vector = Vector::new(labels, values.map(|values| Allowed { values, unexpected }), make);
        self.show(definition, vector.family.clone());
        // A gauge shows what is; it would be wrong, and not empty, after it was forgotten.
        if M::TYPE != MetricType::Gauge {
            let family = vector.family.clone();
            self.forgetting.push(Box::new(move || family.clear()));
        }
        vector
    }

    /// A family of which everything is known before, to be kept at hand. It never begins anew.
    pub(crate) fn fixed<M: One, const N: usize>(
        &mut self,
        definition: Definition,
        labels: &'static [&'static str; 1],
        values: [&'static str; N],
        make: fn() -> M,
    ) -> [M; N] {
        let before = self.forgetting.len();
        let vector = self.many(definition, labels, make);
        self.forgetting.truncate(before);
        values.map(|value| vector.with([value.into()]))
    }

    /// Families that are put together when somebody asks.
    pub(crate) fn collector(&mut self, collector: impl Collector) {
        self.collectors.push(Box::new(collector));
    }

    fn show(&mut self, definition: Definition, metric: impl EncodeMetric + fmt::Debug + Send + Sync + 'static) {
        if self.policy.disabled.contains(definition.name) {
            self.disabled.inc();
            return;
        }
        if definition.stability != Stability::Unsaid {
            *self.registered.entry(definition.stability).or_insert(0) += 1;
        }
        // The library adds the ending of a counter's name.
        let name = match metric.metric_type() {
            MetricType::Counter => definition.name.strip_suffix("_total").unwrap_or(definition.name),
            _ => definition.name,
        };
        let show = move |registry: &mut Registry| registry.register(name, definition.help(), metric);
        let before = self.families.insert(definition.name, Box::new(show));
        debug_assert!(before.is_none(), "{} twice", definition.name);
    }

    /// What is shown, and how to make every counter and histogram that has labels begin anew.
    pub(crate) fn finish(mut self) -> (Registry, Vec<Forget>) {
        self.tell_of_families();
        let forgetting = std::mem::take(&mut self.forgetting);
        (self.finish_quietly(), forgetting)
    }

    /// The same without a word on the families themselves, for a page of a few.
    pub(crate) fn finish_quietly(self) -> Registry {
        let mut registry = Registry::default();
        for (_, show) in self.families {
            show(&mut registry);
        }
        for collector in self.collectors {
            registry.register_collector(collector);
        }
        registry
    }

    fn tell_of_families(&mut self) {
        let disabled = self.disabled.clone();
        self.one(
            beta("disabled_metrics_total", "The count of disabled metrics."),
            disabled,
        );
        self.one(
            beta("hidden_metrics_total", "The count of hidden metrics."),
            Counter::<u64>::default(),
        );
        let unexpected = self.unexpected.clone();
        self.one(
            alpha(
                "cardinality_enforcement_unexpected_categorizations_total",
                "The count of unexpected categorizations during cardinality enforcement.",
            ),
            unexpected,
        );
        let registered = self.many(
            beta(
                "registered_metrics_total",
                "The count of registered metrics broken by stability level and deprecation version.",
            ),
            &["deprecated_version", "stability_level"],
            Counter::default as fn() -> Counter,
        );
        for (stability, count) in &self.registered {
            let level = match stability {
                Stability::Alpha => "ALPHA",
                Stability::Beta => "BETA",
                Stability::Stable | Stability::Unsaid => "STABLE",
            };
            registered
                .with(["".into(), level.into()])
                .inc_by(u64::try_from(*count).unwrap_or(0));
        }
    }
}

/// Gauges of numbers that are no whole ones.
pub(crate) type Fraction = Gauge<f64, std::sync::atomic::AtomicU64>;
