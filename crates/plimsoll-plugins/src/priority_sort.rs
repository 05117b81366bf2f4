//! `PrioritySort`: higher priority first, then who has waited longer.

use std::cmp::Ordering;
use std::sync::Arc;

use plimsoll_framework::{Extensions, Plugin, QueueOrder, QueueSort};

/// Name in profiles, metrics and messages.
pub const NAME: &str = "PrioritySort";

/// Orders pods by priority and age in the queue.
#[derive(Debug, Clone, Copy)]
pub struct PrioritySort;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().queue_sort(Arc::new(PrioritySort))
}

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl QueueSort for PrioritySort {
    fn compare(&self, a: QueueOrder<'_>, b: QueueOrder<'_>) -> Ordering {
        b.pod
            .priority()
            .cmp(&a.pod.priority())
            .then_with(|| a.timestamp.cmp(&b.timestamp))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Moment;

    use super::*;
    use crate::fixture::pod;

    #[test]
    fn priority_decides_and_then_the_time_in_the_queue() {
        use Ordering::{Equal, Greater, Less};
        let cases = [
            ((Some(2), 9), (Some(1), 1), Less),
            ((Some(1), 1), (Some(2), 9), Greater),
            ((Some(1), 1), (Some(1), 2), Less),
            ((Some(1), 2), (Some(1), 1), Greater),
            ((Some(1), 1), (Some(1), 1), Equal),
            ((None, 1), (Some(0), 1), Equal),
            ((None, 9), (Some(-1), 1), Less),
            ((Some(i32::MIN), 1), (Some(i32::MAX), 2), Greater),
        ];
        for (a, b, expected) in cases {
            let [pod_a, pod_b] = [a.0, b.0].map(|priority: Option<i32>| {
                pod(&priority.map_or_else(|| "{}".to_owned(), |priority| format!(r#"{{"priority":{priority}}}"#)))
            });
            let order = PrioritySort.compare(
                QueueOrder {
                    pod: &pod_a,
                    timestamp: Moment::from_nanos(a.1),
                },
                QueueOrder {
                    pod: &pod_b,
                    timestamp: Moment::from_nanos(b.1),
                },
            );
            assert_eq!(order, expected, "{a:?} {b:?}");
        }
    }
}
