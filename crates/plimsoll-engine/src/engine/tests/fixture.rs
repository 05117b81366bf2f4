//! A small cluster, and plugins made of closures.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_framework::{
    Bind, BindAction, CycleContext, CycleState, EffectFilter, EffectReply, EffectRequest, Filter, FilterPass, Permit,
    PermitOutcome, Plugin, PreBind, PreBindOutcome, PreFilter, PreFilterOutcome, QueueOrder, QueueSort, ReasonCode,
    Reserve, Resolvability, Score, Status, WaitingPods, WeightedScore,
};
use plimsoll_model::columns::{NodeIndex, NodeSet};
use plimsoll_model::{Change, decode_node, decode_pod};
use smallvec::{SmallVec, smallvec};

use super::*;

pub(super) fn node(name: &str, milli_cpu: i64) -> Arc<Node> {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","uid":"uid-{name}","resourceVersion":"1"}},"spec":{{}},
            "status":{{"allocatable":{{"cpu":"{milli_cpu}m","memory":"64Gi","pods":"110"}}}}}}"#
    );
    Arc::new(decode_node(json.as_bytes()).unwrap())
}

pub(super) fn pod(name: &str, milli_cpu: i64) -> Arc<Pod> {
    pod_with(name, milli_cpu, "", "")
}

pub(super) fn nominated(name: &str, milli_cpu: i64, priority: i32, node: &str) -> Arc<Pod> {
    let spec = format!(r#","priority":{priority}"#);
    pod_with(name, milli_cpu, &spec, &format!(r#""nominatedNodeName":"{node}""#))
}

/// A pod with the claim `claim-<name>`.
pub(super) fn with_claim(name: &str, milli_cpu: i64) -> Arc<Pod> {
    let spec = format!(r#","volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"claim-{name}"}}}}]"#);
    pod_with(name, milli_cpu, &spec, "")
}

fn pod_with(name: &str, milli_cpu: i64, spec: &str, status: &str) -> Arc<Pod> {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"default","uid":"uid-{name}","resourceVersion":"1"}},
            "spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{milli_cpu}m"}}}}}}]{spec}}},
            "status":{{{status}}}}}"#
    );
    Arc::new(decode_pod(json.as_bytes()).unwrap())
}

pub(super) fn assigned(pod: &Arc<Pod>, node: &str) -> Arc<Pod> {
    let mut pod = Pod::clone(pod);
    pod.node_name = Some(node.into());
    Arc::new(pod)
}

/// An engine with its stream and what it said.
pub(super) struct Cluster {
    pub(super) engine: Engine,
    pub(super) now: Moment,
    pub(super) out: Vec<Notice>,
    seq: Seq,
}

impl Cluster {
    pub(super) fn new(profile: Profile) -> Self {
        Self::of(vec![profile])
    }

    pub(super) fn of(profiles: Vec<Profile>) -> Self {
        let engine = Engine::new(profiles.into_iter().map(Arc::new).collect(), 7);
        Self {
            engine,
            now: Moment::ZERO,
            out: Vec::new(),
            seq: Seq::ZERO,
        }
    }

    pub(super) fn timed_by(mut self, watch: Arc<dyn Stopwatch>) -> Self {
        self.engine = self.engine.timed_by(watch);
        self
    }

    pub(super) fn apply(&mut self, delta: Delta) {
        self.seq = self.seq.next();
        self.engine
            .apply(&Change { seq: self.seq, delta }, self.now, &mut self.out);
    }

    /// The engine switches to this profile at the next number of the stream.
    pub(super) fn reconfigure(&mut self, profile: Profile) {
        self.seq = self.seq.next();
        self.engine
            .reconfigure(vec![Arc::new(profile)], self.seq, &mut self.out);
    }

    pub(super) fn add_node(&mut self, name: &str, milli_cpu: i64) {
        self.apply(Delta::NodeAdded(node(name, milli_cpu)));
    }

    pub(super) fn add(&mut self, pod: &Arc<Pod>) {
        self.apply(Delta::PodAdded(Arc::clone(pod)));
    }

    /// The watch shows the pod on a node.
    pub(super) fn show(&mut self, pod: &Arc<Pod>, node: &str) {
        self.apply(Delta::PodUpdated {
            old: Arc::clone(pod),
            new: assigned(pod, node),
        });
    }

    pub(super) fn begin(&mut self, pod: &Arc<Pod>) -> Step {
        self.engine.begin(pod, self.now, &mut self.out)
    }

    pub(super) fn try_new(&mut self, pod: &Arc<Pod>) -> Outcome {
        self.add(pod);
        match self.begin(pod) {
            Step::Done(outcome) => outcome,
            Step::Needs(effect) => panic!("{effect:?}"),
        }
    }

    pub(super) fn place(&mut self, pod: &Arc<Pod>) -> Placement {
        match self.try_new(pod) {
            Outcome::Placed(placement) => placement,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn refuse(&mut self, pod: &Arc<Pod>) -> Diagnosis {
        match self.try_new(pod) {
            Outcome::Unschedulable(diagnosis) => diagnosis,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn resume(&mut self, reply: EffectReply) -> Step {
        self.engine.resume(reply, self.now, &mut self.out)
    }

    pub(super) fn answer(&mut self, claim: ClaimId, input: ClaimInput) {
        self.engine.bind_input(claim, input, self.now, &mut self.out);
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
        self.engine.tick(self.now, &mut self.out);
    }

    /// Names of what was said since the last call.
    pub(super) fn said(&mut self) -> Vec<&'static str> {
        let name = |notice| match notice {
            Notice::SendBinding { .. } => "send",
            Notice::BindThrough { .. } => "bind-through",
            Notice::ExtenderIgnored { .. } => "ignored",
            Notice::ReadPod { .. } => "read",
            Notice::PreBind { .. } => "pre-bind",
            Notice::WriteVolume { .. } => "write",
            Notice::VolumeErrors { .. } => "volume-errors",
            Notice::Expect { .. } => "expect",
            Notice::Bound { .. } => "bound",
            Notice::BoundElsewhere { .. } => "elsewhere",
            Notice::BindFailed { .. } => "failed",
            Notice::PodGone { .. } => "gone",
            Notice::PermitWaitEnded { .. } => "waited",
            Notice::Released { .. } => "released",
            Notice::Unmatched { .. } => "unmatched",
            Notice::Activate { .. } => "activate",
        };
        self.out.drain(..).map(name).collect()
    }

    pub(super) fn failure(&mut self) -> Failure {
        let mut failures = self.out.drain(..).filter_map(|notice| match notice {
            Notice::BindFailed { failure, .. } => Some(failure),
            _ => None,
        });
        failures.next().unwrap()
    }

    pub(super) fn used(&self, node: &str) -> i64 {
        let columns = self.engine.columns();
        columns
            .index_of(node)
            .map_or(0, |index| columns.requested_cpu()[index.as_usize()])
    }

    pub(super) fn state(&self, claim: ClaimId) -> Option<ClaimState> {
        self.engine.claim(claim).map(Claim::state)
    }
}

/// Per node: allocatable and requested cpu, requested memory, pods.
pub(super) fn view(columns: &Columns) -> BTreeMap<String, [i64; 4]> {
    let row = |index: NodeIndex| {
        let at = index.as_usize();
        [
            columns.allocatable_cpu()[at],
            columns.requested_cpu()[at],
            columns.non_zero_memory()[at],
            columns.pod_count()[at],
        ]
    };
    columns
        .nodes()
        .iter()
        .map(|index| (columns.name(index).to_owned(), row(index)))
        .collect()
}

type Closure<A, R> = Box<dyn Fn(A) -> R + Send + Sync>;

/// A plugin that does what its closure says.
pub(super) struct Closed<A, R> {
    name: &'static str,
    run: Closure<A, R>,
}

impl<A: 'static, R: 'static> Plugin for Closed<A, R> {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl<R: 'static> PreFilter for Closed<(Pod, NodeSet), R>
where
    R: Into<PreFilterOutcome>,
{
    fn pre_filter(&self, cycle: CycleContext<'_>, _: &mut CycleState) -> PreFilterOutcome {
        (self.run)((cycle.pod.clone(), cycle.columns.nodes().clone())).into()
    }
}

impl Permit for Closed<Pod, PermitOutcome> {
    fn permit(&self, cycle: CycleContext<'_>, _: &mut CycleState, _: &str, _: &WaitingPods) -> PermitOutcome {
        (self.run)(cycle.pod.clone())
    }
}

/// Notes what reserve and unreserve were told; the closure decides.
pub(super) struct Reserving {
    pub(super) name: &'static str,
    pub(super) run: Closure<String, Result<(), Status>>,
}

impl Plugin for Reserving {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Reserve for Reserving {
    fn reserve(&self, _: CycleContext<'_>, _: &mut CycleState, node: &str) -> Result<(), Status> {
        (self.run)(format!("reserve {node}"))
    }

    fn unreserve(&self, _: &Pod, _: &mut CycleState, node: &str) {
        let _ = (self.run)(format!("unreserve {node}"));
    }
}

/// Rejects nodes without enough cpu; panics at pods named `poison`.
struct Fit;

impl Plugin for Fit {
    fn name(&self) -> &'static str {
        "Fit"
    }
}

impl Filter for Fit {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        assert_ne!(cycle.pod.name.name, "poison");
        let wanted = plimsoll_model::Footprint::of(cycle.pod).requests.milli_cpu;
        let columns = cycle.columns;
        for node in &pass.feasible().clone() {
            let at = node.as_usize();
            if wanted > columns.allocatable_cpu()[at] - columns.requested_cpu()[at] {
                pass.reject(node, ReasonCode(0), Resolvability::Resolvable);
            }
        }
        Ok(())
    }

    fn judges_nodes_alone(&self) -> bool {
        true
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed("Insufficient cpu")]
    }
}

/// Rejects every node when there are two pods in the cluster.
struct Duel;

impl Plugin for Duel {
    fn name(&self) -> &'static str {
        "Duel"
    }
}

impl Filter for Duel {
    fn filter(&self, cycle: CycleContext<'_>, _: &CycleState, pass: &mut FilterPass<'_>) -> Result<(), String> {
        if cycle.columns.pod_count().iter().sum::<i64>() > 1 {
            pass.keep_only(&NodeSet::new(), ReasonCode(0), Resolvability::Resolvable);
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed("two is a crowd")]
    }
}

/// Asks outside which nodes will not do; the request is the number of nodes left.
struct Oracle;

impl Plugin for Oracle {
    fn name(&self) -> &'static str {
        "Oracle"
    }
}

impl EffectFilter for Oracle {
    fn request(&self, _: CycleContext<'_>, _: &mut CycleState, feasible: &NodeSet) -> Option<EffectRequest> {
        Some(Box::new(feasible.len()))
    }

    fn apply(
        &self,
        cycle: CycleContext<'_>,
        _: &mut CycleState,
        reply: EffectReply,
        pass: &mut FilterPass<'_>,
    ) -> Result<(), String> {
        let banned = *reply?.downcast::<Vec<&str>>().map_err(|_| "not a list")?;
        for node in banned {
            if let Some(index) = cycle.columns.index_of(node) {
                pass.reject(index, ReasonCode(1), Resolvability::Unresolvable);
            }
        }
        Ok(())
    }

    fn reasons(&self, _: CycleContext<'_>, _: &CycleState, _: ReasonCode) -> SmallVec<[Cow<'static, str>; 1]> {
        smallvec![Cow::Borrowed("the oracle said no")]
    }
}

/// Prefers the node whose name is greatest, or none when `flat`.
struct Prefer {
    flat: bool,
}

impl Plugin for Prefer {
    fn name(&self) -> &'static str {
        "Prefer"
    }
}

impl Score for Prefer {
    fn score(
        &self,
        cycle: CycleContext<'_>,
        _: &CycleState,
        feasible: &[NodeIndex],
        scores: &mut [i64],
    ) -> Result<(), String> {
        for (node, score) in feasible.iter().zip(scores) {
            let last = cycle.columns.name(*node).bytes().last().unwrap_or(0);
            *score = if self.flat { 1 } else { i64::from(last % 100) };
        }
        Ok(())
    }
}

struct Arrival;

impl Plugin for Arrival {
    fn name(&self) -> &'static str {
        "Arrival"
    }
}

impl QueueSort for Arrival {
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering {
        a.timestamp.cmp(&b.timestamp)
    }
}

struct Binder;

impl Plugin for Binder {
    fn name(&self) -> &'static str {
        "Binder"
    }
}

impl Bind for Binder {
    fn bind(&self, pod: &Pod, _: &str) -> BindAction {
        assert_ne!(pod.name.name, "unbindable");
        BindAction::PostBinding
    }
}

/// Has work to do before each binding.
struct Volumes;

impl Plugin for Volumes {
    fn name(&self) -> &'static str {
        "Volumes"
    }
}

impl PreBind for Volumes {
    fn pre_bind(&self, _: &Pod, _: &CycleState, node: &str) -> PreBindOutcome {
        PreBindOutcome::Needs(Box::new(node.to_owned()))
    }
}

pub(super) struct ProfileBuilder(Profile);

impl ProfileBuilder {
    /// Fits by cpu, prefers later names.
    pub(super) fn new() -> Self {
        Self(Profile {
            prepare: Vec::new(),
            adopt: Vec::new(),
            scheduler_name: "default-scheduler".to_owned(),
            match_rules: Vec::new(),
            backoff: None,
            percentage_of_nodes_to_score: None,
            trace_sampling_ratio: None,
            not_there_yet: Vec::new(),
            events: Vec::new(),
            queue_sort: Arc::new(Arrival),
            pre_enqueue: Vec::new(),
            pre_filter: Vec::new(),
            filter: vec![Arc::new(Fit)],
            effect_filter: Vec::new(),
            post_filter: Vec::new(),
            pre_score: Vec::new(),
            score: vec![WeightedScore {
                plugin: Arc::new(Prefer { flat: false }),
                weight: 1,
            }],
            reserve: Vec::new(),
            permit: Vec::new(),
            pre_bind: Vec::new(),
            bind: vec![Arc::new(Binder)],
            post_bind: Vec::new(),
            extenders: Vec::new(),
        })
    }

    /// What the test wants besides.
    pub(super) fn with(mut self, change: impl FnOnce(&mut Profile)) -> Self {
        change(&mut self.0);
        self
    }

    pub(super) fn build(self) -> Profile {
        self.0
    }

    pub(super) fn flat(mut self) -> Self {
        self.0.score = vec![WeightedScore {
            plugin: Arc::new(Prefer { flat: true }),
            weight: 1,
        }];
        self
    }

    pub(super) fn duel(mut self) -> Self {
        self.0.filter.push(Arc::new(Duel));
        self
    }

    pub(super) fn oracle(mut self) -> Self {
        self.0.effect_filter.push(Arc::new(Oracle));
        self
    }

    pub(super) fn volumes(mut self) -> Self {
        self.0.pre_bind.push(Arc::new(Volumes));
        self
    }

    pub(super) fn pre_filter(
        mut self,
        name: &'static str,
        run: impl Fn((Pod, NodeSet)) -> PreFilterOutcome + Send + Sync + 'static,
    ) -> Self {
        self.0.pre_filter.push(Arc::new(Closed {
            name,
            run: Box::new(run),
        }));
        self
    }

    pub(super) fn permit(
        mut self,
        name: &'static str,
        run: impl Fn(Pod) -> PermitOutcome + Send + Sync + 'static,
    ) -> Self {
        self.0.permit.push(Arc::new(Closed {
            name,
            run: Box::new(run),
        }));
        self
    }

    pub(super) fn reserve(
        mut self,
        name: &'static str,
        run: impl Fn(String) -> Result<(), Status> + Send + Sync + 'static,
    ) -> Self {
        self.0.reserve.push(Arc::new(Reserving {
            name,
            run: Box::new(run),
        }));
        self
    }
}
