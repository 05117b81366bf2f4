use serde_json::json;

use super::world::{World, explanation, node, requesting};

const CALLS: u64 = 10_000;
const PODS_AT_ONCE: usize = 100;
/// Seldom enough that most attempts get through filter, prioritize and bind.
const RATE: f64 = 0.25;
const FAULTS: &[&str] = &[
    "status:500",
    "status:404",
    "redirect:302:http://127.0.0.1:1/",
    "close",
    "reset",
    "lost",
    "cut",
    "junk",
    "deep",
    "error:no",
    "unknown",
    "nulls",
    "types",
    "nothing",
    "more",
    "chunked",
    "late:0.05",
    "hang:2",
    "wire:junk\\r\\n\\r\\n",
    "wire:HTTP/1.1 200 OK\\r\\nContent-Length: 18446744073709551615\\r\\n\\r\\n{}",
];

fn calls(world: &World) -> u64 {
    let report = world.python.report().unwrap();
    let calls = report["calls"].as_object().unwrap();
    calls.values().filter_map(serde_json::Value::as_u64).sum()
}

/// Ten thousand calls of three verbs, a quarter of which go wrong in twenty ways. Every pod is bound or has been told why not,
/// at any moment in between and at the end.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_with_faults_lose_no_pod() {
    let Some(mut world) = World::start(20).await else {
        return;
    };
    world.python.faults(1876, RATE, FAULTS).unwrap();
    world.schedule(
        "- urlPrefix: URL\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  bindVerb: bind\n  weight: 1\n  \
         nodeCacheCapable: true\n  httpTimeout: 200ms",
    );
    let mut created = 0;
    let mut memory = Vec::new();
    while calls(&world) < CALLS {
        for _ in 0..PODS_AT_ONCE {
            world.create(&format!("p{created}"), &requesting(&json!({ "cpu": "1m" })));
            created += 1;
        }
        world
            .until("most of these pods are bound", |world| {
                let pending = world.pods().iter().filter(|pod| node(pod).is_none()).count();
                (pending <= PODS_AT_ONCE / 4).then_some(())
            })
            .await;
        memory.push(world.resident());
        unexplained(&mut world).await;
    }
    // The first rounds fill caches and pools.
    let early = memory[memory.len() / 4];
    let grown = world.resident().saturating_sub(early);
    assert!(grown < 60_000, "memory grew by {grown} kB: {memory:?}");
    let report = world.python.report().unwrap();
    assert_eq!(
        report["faults"].as_object().unwrap().len(),
        FAULTS.len(),
        "{}",
        report["faults"]
    );

    world.python.faults(0, 0.0, &[]).unwrap();
    world
        .until("every pod is bound", |world| {
            world.pods().iter().all(|pod| node(pod).is_some()).then_some(())
        })
        .await;
    assert_eq!(world.pods().len(), created);
    world.ensure_running();
    assert!(!world.has_panicked(), "{}", world.logs());
}

/// A pod may be in a cycle just now; none is without node and explanation for long.
async fn unexplained(world: &mut World) {
    let silent = |world: &World| -> Vec<String> {
        let pods = world.pods();
        let silent = pods
            .iter()
            .filter(|pod| node(pod).is_none() && explanation(pod).is_none());
        silent.map(|pod| pod["metadata"]["name"].to_string()).collect()
    };
    world
        .until("every pod is bound or told why not", |world| {
            silent(world).is_empty().then_some(())
        })
        .await;
}
