//! Pages of what the queue has.

use std::collections::BTreeSet;

use super::*;

#[test]
fn pages_together_show_every_pod_once_with_its_place() {
    let mut f = Fixture::new();
    let mut expected = BTreeSet::new();
    for (number, place) in PLACES.into_iter().enumerate() {
        let pod = f.add_at(place, &format!("p{number}"));
        expected.insert(pod.uid.clone());
    }
    let mut shown = BTreeSet::new();
    let mut start = Some(0);
    while let Some(at) = start {
        let page = f.queue.page(at, 2);
        assert!(page.pods.len() <= 2);
        for queued in page.pods {
            assert_eq!(f.queue.place_of(&queued.pod.uid), Some(queued.place));
            assert!(shown.insert(queued.pod.uid.clone()), "{} came twice", queued.pod.name);
        }
        start = page.next;
    }
    assert_eq!(shown, expected);
    let beyond = f.queue.page(1_000, 2);
    assert!(beyond.pods.is_empty() && beyond.next.is_none());
}
