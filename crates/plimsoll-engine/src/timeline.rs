//! How long the parts of an attempt took, and what plugins had to look at.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::{Arc, Weak};

use plimsoll_framework::{Code, ExtensionPoint, NoStopwatch, Profile, Stopwatch};
use plimsoll_model::Moment;
use smallvec::SmallVec;

/// All plugins of one extension point, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointRun {
    /// Which.
    pub point: ExtensionPoint,
    /// When it began.
    pub begun: Moment,
    /// When it ended.
    pub ended: Moment,
    /// What came of it.
    pub code: Code,
}

/// One plugin at one extension point, over all the nodes that it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginRun {
    /// Which plugin.
    pub plugin: &'static str,
    /// Where.
    pub point: ExtensionPoint,
    /// When it began.
    pub begun: Moment,
    /// When it ended.
    pub ended: Moment,
    /// What it said. A filter has rejected the pod when it left no node.
    pub code: Code,
    /// How many nodes reached it; 0 where it is not about nodes.
    pub nodes: u32,
}

/// What an attempt did up to the choice of a node, in the order in which it ended. A point occurs again when the attempt
/// went back to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// The extension points that ran.
    pub points: SmallVec<[PointRun; 8]>,
    /// Their plugins, if these were timed: see [`Engine::time_plugins`](crate::Engine::time_plugins).
    pub plugins: Vec<PluginRun>,
    /// Whether this attempt is one of those from which durations of plugins are told, one in ten.
    pub sampled: bool,
}

/// What became of a claim after its node was chosen, in the order in which it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimTimeline {
    /// The extension points that ran.
    pub points: SmallVec<[PointRun; 4]>,
    /// Their plugins, if these were timed.
    pub plugins: Vec<PluginRun>,
    /// As that of the attempt.
    pub sampled: bool,
}

/// How often each plugin of a profile was called in one attempt, or by how many nodes it was reached: preemption's tries
/// are in it.
#[derive(Default)]
pub struct Evaluations {
    /// Weak: what was counted keeps no plugin alive that nobody uses.
    profile: Weak<Profile>,
    pre_filter: Vec<Cell<u32>>,
    filter: Vec<Cell<u32>>,
    pre_score: Vec<Cell<u32>>,
    score: Vec<Cell<u32>>,
}

impl Evaluations {
    /// The points in which plugins are counted.
    pub const POINTS: [ExtensionPoint; 4] = [
        ExtensionPoint::PreFilter,
        ExtensionPoint::Filter,
        ExtensionPoint::PreScore,
        ExtensionPoint::Score,
    ];

    /// Whose plugins were counted; dangling before the first attempt.
    pub fn profile(&self) -> &Weak<Profile> {
        &self.profile
    }

    /// The counts of one of [`Evaluations::POINTS`], in the order of the profile's plugins there; those of filters that need
    /// I/O follow the other filters'.
    pub fn at(&self, point: ExtensionPoint) -> impl Iterator<Item = u32> + '_ {
        let counts: &[Cell<u32>] = match point {
            ExtensionPoint::PreFilter => &self.pre_filter,
            ExtensionPoint::Filter => &self.filter,
            ExtensionPoint::PreScore => &self.pre_score,
            ExtensionPoint::Score => &self.score,
            _ => &[],
        };
        counts.iter().map(Cell::get)
    }

    fn restart(&mut self, profile: &Arc<Profile>) {
        let sizes = [
            (&mut self.pre_filter, profile.pre_filter.len()),
            (&mut self.filter, profile.filter.len() + profile.effect_filter.len()),
            (&mut self.pre_score, profile.pre_score.len()),
            (&mut self.score, profile.score.len()),
        ];
        for (counts, size) in sizes {
            counts.clear();
            counts.resize(size, Cell::new(0));
        }
        if self.profile.as_ptr() != Arc::as_ptr(profile) {
            self.profile = Arc::downgrade(profile);
        }
    }
}

impl fmt::Debug for Evaluations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluations")
            .field("filter", &self.filter)
            .field("score", &self.score)
            .finish_non_exhaustive()
    }
}

/// Takes the times of the running attempt. Filters run where the cycle is only read, hence the cells.
pub(crate) struct Timing {
    watch: Arc<dyn Stopwatch>,
    points: SmallVec<[PointRun; 8]>,
    plugins: RefCell<Vec<PluginRun>>,
    evaluations: Evaluations,
    sampled: bool,
    /// Plugins are timed one by one.
    detailed: bool,
    /// The filters judge the nodes themselves, not some that might be.
    in_main_pass: bool,
    /// When the filters began whose effects are still awaited, or the post-filters.
    open: Moment,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            watch: Arc::new(NoStopwatch),
            points: SmallVec::new(),
            plugins: RefCell::default(),
            evaluations: Evaluations::default(),
            sampled: false,
            detailed: false,
            in_main_pass: false,
            open: Moment::ZERO,
        }
    }
}

impl Timing {
    /// Another attempt begins.
    pub(crate) fn restart(
        &mut self,
        watch: &Arc<dyn Stopwatch>,
        profile: &Arc<Profile>,
        sampled: bool,
        detailed: bool,
    ) {
        if !Arc::ptr_eq(&self.watch, watch) {
            self.watch = Arc::clone(watch);
        }
        self.points.clear();
        self.plugins.get_mut().clear();
        self.evaluations.restart(profile);
        self.sampled = sampled;
        self.detailed = sampled || detailed;
        self.in_main_pass = false;
    }

    /// Gives away what was taken down and keeps the buffers of what was given away before.
    pub(crate) fn hand_over(&mut self, timeline: &mut Timeline, evaluations: &mut Evaluations) {
        std::mem::swap(&mut self.points, &mut timeline.points);
        std::mem::swap(self.plugins.get_mut(), &mut timeline.plugins);
        timeline.sampled = self.sampled;
        std::mem::swap(&mut self.evaluations, evaluations);
    }

    pub(crate) fn now(&self) -> Moment {
        self.watch.now()
    }

    pub(crate) fn is_sampled(&self) -> bool {
        self.sampled
    }

    pub(crate) fn is_detailed(&self) -> bool {
        self.detailed
    }

    /// An extension point that began then has ended; when.
    pub(crate) fn point(&mut self, point: ExtensionPoint, begun: Moment, code: Code) -> Moment {
        let ended = self.now();
        self.points.push(PointRun {
            point,
            begun,
            ended,
            code,
        });
        ended
    }

    /// One begins whose end comes elsewhere, with [`Timing::close`].
    pub(crate) fn open(&mut self) {
        self.open = self.now();
    }

    pub(crate) fn close(&mut self, point: ExtensionPoint, code: Code) {
        self.point(point, self.open, code);
    }

    pub(crate) fn add(&mut self, run: PointRun) {
        self.points.push(run);
    }

    /// When a plugin begins, if plugins are timed.
    pub(crate) fn plugin_begins(&self) -> Option<Moment> {
        self.detailed.then(|| self.now())
    }

    /// The filters judge the nodes themselves from here on, or no longer. Passes over nodes as they would be with or without
    /// some pods are many and small: they are counted, and not timed one by one.
    pub(crate) fn main_pass(&mut self, in_main_pass: bool) {
        self.in_main_pass = in_main_pass;
    }

    /// When a filter begins, if it is to be timed.
    pub(crate) fn filter_begins(&self) -> Option<Moment> {
        (self.detailed && self.in_main_pass).then(|| self.now())
    }

    pub(crate) fn plugin_ended(
        &self,
        begun: Option<Moment>,
        plugin: &'static str,
        point: ExtensionPoint,
        code: Code,
        nodes: usize,
    ) {
        if let Some(begun) = begun {
            self.plugins.borrow_mut().push(PluginRun {
                plugin,
                point,
                begun,
                ended: self.now(),
                code,
                nodes: count(nodes),
            });
        }
    }

    pub(crate) fn count_pre_filter(&self, number: usize) {
        add(&self.evaluations.pre_filter, number, 1);
    }

    /// So many nodes reached this filter.
    pub(crate) fn count_filter(&self, number: usize, nodes: usize) {
        add(&self.evaluations.filter, number, nodes);
    }

    pub(crate) fn count_pre_score(&self, number: usize) {
        add(&self.evaluations.pre_score, number, 1);
    }

    pub(crate) fn count_score(&self, number: usize, nodes: usize) {
        add(&self.evaluations.score, number, nodes);
    }
}

fn add(counts: &[Cell<u32>], number: usize, nodes: usize) {
    if let Some(cell) = counts.get(number) {
        cell.set(cell.get().saturating_add(count(nodes)));
    }
}

fn count(nodes: usize) -> u32 {
    u32::try_from(nodes).unwrap_or(u32::MAX)
}
