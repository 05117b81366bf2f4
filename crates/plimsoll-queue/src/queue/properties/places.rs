use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::{Moment, Uid};
use proptest::prelude::*;

use super::step::{Step, step};
use super::world::{World, setup};
use crate::alike::Likeness;
use crate::groups::Band;
use crate::record::State;
use crate::{Place, backoff};

impl World {
    /// Every pending pod is in one place with a deadline, nothing else is anywhere, and the containers agree.
    fn check(&self) {
        let queue = &self.f.queue;
        let mut places = crate::Counts::default();
        let listed: BTreeMap<&Uid, (Place, Moment)> =
            queue.pods().map(|(uid, place, look)| (uid, (place, look))).collect();
        assert_eq!(listed.len(), queue.pods().count(), "a pod is listed twice");
        let last_look = queue.deadline(self.f.now);
        for known in &self.known {
            let found = listed.get(&known.pod.uid);
            assert_eq!(found.is_some(), known.pending, "{known:?}");
            assert_eq!(queue.place_of(&known.pod.uid), found.map(|(place, _)| *place));
            if let Some((place, look)) = found {
                *places.of(*place) += 1;
                assert!(*look <= last_look, "{place:?} until {look:?}");
                assert_eq!(known.attempt.is_some(), *place == Place::InFlight);
                if matches!(place, Place::Backoff | Place::ErrorBackoff) {
                    assert_eq!(*look, backoff::over(&queue.config, known.until(&self.f)));
                }
            }
        }
        assert_eq!(places, queue.counts());
        assert_eq!(
            queue.deadlines.len(),
            places.unschedulable + places.gated + places.placed
        );
        for ((due, arrival), slot) in &queue.deadlines {
            let record = &queue.records[*slot];
            assert_eq!(record.arrival, *arrival);
            let (State::Parked { due: own } | State::Placed { due: own }) = record.state else {
                unreachable!("{record:?} has a deadline")
            };
            assert_eq!(own, *due);
        }
        self.check_groups();
        if self.known.iter().all(|known| known.attempt.is_none()) {
            assert!(queue.in_flight_events().is_empty(), "events kept for nobody");
        }
    }

    /// Exactly the parked pods are in groups, and those of a group that no event has woken are alike in all that matters.
    fn check_groups(&self) {
        let queue = &self.f.queue;
        let mut members = BTreeMap::new();
        for (group, slot) in queue.groups.members() {
            let record = &queue.records[slot];
            assert_eq!(record.group, group);
            assert!(matches!(record.state, State::Parked { .. }), "{record:?} is in a group");
            members.entry(group).or_insert_with(Vec::new).push(record);
        }
        let grouped: usize = members.values().map(Vec::len).sum();
        let counts = queue.counts();
        assert_eq!(grouped, counts.unschedulable + counts.gated);
        assert_eq!(members.len(), queue.groups.count());
        let mut kinds = Vec::new();
        for (group, records) in members.iter().filter(|(group, _)| !queue.groups.is_woken(**group)) {
            let kind = (Band::of(records[0]), Likeness::of(&records[0].pod, true));
            assert!(!kinds.contains(&kind), "two groups for one kind");
            for record in records {
                assert_eq!(
                    (Band::of(record), &record.pod.spec),
                    (kind.0, &records[0].pod.spec),
                    "{group:?}"
                );
            }
            kinds.push(kind);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_pod_is_in_one_place_none_is_forgotten_and_pops_come_in_order(
        setup in setup(), steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut world = World::new(setup);
        for step in &steps {
            world.run(step);
            world.check();
        }
        // Whatever happened, every pod that nothing holds is handed out in the end.
        world.run(&Step::ShutBarrier(false));
        while world.known.iter().any(|known| known.attempt.is_some()) {
            world.run(&Step::Reject(0, 0));
        }
        world.f.pass(Duration::from_secs(302));
        world.run(&Step::Tick);
        world.check();
        while world.pop() {}
        world.check();
        for known in world.known.iter().filter(|known| known.pending) {
            let held = !known.pod.spec.scheduling_gates.is_empty();
            prop_assert_eq!(world.f.place(&known.pod), Some(if held { Place::Gated } else { Place::InFlight }));
        }
    }

    #[test]
    fn the_same_calls_give_the_same_pods(setup in setup(), steps in prop::collection::vec(step(), 1..60)) {
        let history = |steps: &[Step]| {
            let mut world = World::new(setup);
            for step in steps {
                world.run(step);
            }
            let pods: Vec<_> =
                world.f.queue.pods().map(|(uid, place, look)| (uid.clone(), place, look)).collect();
            (pods, world.f.queue.take_metrics())
        };
        prop_assert_eq!(history(&steps), history(&steps));
    }
}
