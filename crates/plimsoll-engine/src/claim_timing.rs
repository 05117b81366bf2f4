use plimsoll_framework::{Code, ExtensionPoint, Stopwatch};
use plimsoll_model::Moment;

use crate::{ClaimTimeline, PluginRun, PointRun};

/// Takes the times of a claim on its way to being bound.
#[derive(Debug, Default)]
pub(crate) struct ClaimTiming {
    timeline: ClaimTimeline,
    /// Plugins are timed one by one.
    detailed: bool,
    /// What is under way, since when, and since when its plugin is at work.
    under_way: Option<UnderWay>,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    point: ExtensionPoint,
    begun: Moment,
    plugin_begun: Option<Moment>,
}

impl ClaimTiming {
    pub(crate) fn new(sampled: bool, detailed: bool) -> Self {
        Self {
            timeline: ClaimTimeline {
                sampled,
                ..ClaimTimeline::default()
            },
            detailed,
            under_way: None,
        }
    }

    /// Pre-bind plugins are asked, from the first on or after that one has done its work.
    pub(crate) fn pre_binds_are_asked(&mut self, last: Option<&'static str>, watch: &dyn Stopwatch) {
        match self.under_way {
            None => self.begin(ExtensionPoint::PreBindPreFlight, watch.now()),
            Some(_) => self.plugin_ended(last, Code::Success, watch.now()),
        }
    }

    /// One of them has work to do.
    pub(crate) fn pre_bind_works(&mut self, watch: &dyn Stopwatch) {
        let now = watch.now();
        if self.is_at(ExtensionPoint::PreBindPreFlight) {
            self.end(Code::Success, now);
            self.begin(ExtensionPoint::PreBind, now);
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.plugin_begun = Some(now);
        }
    }

    /// None of them has any more; what is left is to bind.
    pub(crate) fn pre_binds_are_done(&mut self, watch: &dyn Stopwatch) {
        let now = watch.now();
        if self.is_at(ExtensionPoint::PreBindPreFlight) {
            self.end(Code::Skip, now);
            self.begin(ExtensionPoint::PreBind, now);
        }
        self.end(Code::Success, now);
        self.begin(ExtensionPoint::Bind, now);
        if let Some(under_way) = &mut self.under_way {
            under_way.plugin_begun = Some(now);
        }
    }

    /// The point under way, if one is, has ended at the plugin at work.
    pub(crate) fn ended(&mut self, plugin: Option<&'static str>, code: Code, now: Moment) {
        self.plugin_ended(plugin, code, now);
        self.end(code, now);
    }

    /// A point that began then has ended.
    pub(crate) fn point(&mut self, point: ExtensionPoint, begun: Moment, watch: &dyn Stopwatch) {
        self.timeline.points.push(PointRun {
            point,
            begun,
            ended: watch.now(),
            code: Code::Success,
        });
    }

    /// What has been taken down, once.
    pub(crate) fn take(&mut self) -> ClaimTimeline {
        let sampled = self.timeline.sampled;
        ClaimTimeline {
            sampled,
            ..std::mem::take(&mut self.timeline)
        }
    }

    /// Whether the pre-bind plugin is at work.
    pub(crate) fn is_at(&self, point: ExtensionPoint) -> bool {
        self.under_way.is_some_and(|under_way| under_way.point == point)
    }

    fn begin(&mut self, point: ExtensionPoint, begun: Moment) {
        self.under_way = Some(UnderWay {
            point,
            begun,
            plugin_begun: None,
        });
    }

    fn plugin_ended(&mut self, plugin: Option<&'static str>, code: Code, ended: Moment) {
        let Some(under_way) = &mut self.under_way else { return };
        let begun = under_way.plugin_begun.take();
        if let (true, Some(plugin), Some(begun)) = (self.detailed, plugin, begun) {
            self.timeline.plugins.push(PluginRun {
                plugin,
                point: under_way.point,
                begun,
                ended,
                code,
                nodes: 1,
            });
        }
    }

    fn end(&mut self, code: Code, ended: Moment) {
        if let Some(UnderWay { point, begun, .. }) = self.under_way.take() {
            self.timeline.points.push(PointRun {
                point,
                begun,
                ended,
                code,
            });
        }
    }
}
