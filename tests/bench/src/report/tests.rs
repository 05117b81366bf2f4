use super::*;
use crate::check::Judged;
use crate::latency::Latency;
use crate::throughput::Throughput;

fn record(contestant: Contestant, round: usize, pods_per_second: f64, cpu: f64) -> Record {
    let measured = Measured {
        name: String::new(),
        throughput: Throughput {
            pods: 100,
            drained: Some(pods_per_second),
            first_after: 1.0,
            lasted: 2.0,
            ..Throughput::default()
        },
        latency: Latency::of(vec![pods_per_second], true),
        cpu_ms_per_pod: Some(cpu),
        cpu_ms_per_pod_with_start: 2.0 * cpu,
        api_server_cpu_ms_per_pod: 1.0,
        peak_memory: 2 << 20,
        last_memory: 1 << 20,
        asked_per_pod: [("POST".to_owned(), 2.0)].into(),
        spans: BTreeMap::new(),
        served_per_pod: BTreeMap::new(),
    };
    let judged = Judged {
        violations: round,
        ..Judged::default()
    };
    Record {
        workload: "a/b/c".to_owned(),
        mode: Mode::Drain,
        contestant,
        drained: true,
        round,
        rate: None,
        threshold: None,
        outcome: Some(Outcome {
            measured: vec![measured],
            judged: Some(judged),
        }),
        failure: None,
    }
}

fn failed(contestant: Contestant, round: usize) -> Record {
    Record {
        outcome: None,
        failure: Some("it ended\nand more".to_owned()),
        ..record(contestant, round, 1.0, 1.0)
    }
}

#[test]
fn medians_are_over_rounds_and_ratios_of_the_same_round() {
    let (ours, theirs) = (Contestant::Plimsoll, Contestant::KubeScheduler);
    let runs = [
        record(ours, 0, 1000.0, 0.1),
        record(theirs, 0, 100.0, 1.0),
        record(theirs, 1, 50.0, 2.0),
        record(ours, 1, 500.0, 0.2),
        // Without its counterpart.
        record(ours, 2, 90_000.0, 0.001),
        failed(theirs, 2),
    ];
    let comparisons = compare(&runs);
    let [comparison] = &comparisons[..] else {
        panic!("one workload in one mode")
    };
    let medians = &comparison.medians[&ours];
    assert_eq!(
        (medians.pods_per_second, medians.cpu_ms_per_pod),
        (Some(1000.0), Some(0.1))
    );
    assert_eq!((medians.violations, medians.runs, medians.failures), (Some(3), 3, 0));
    assert_eq!(medians.requests_per_pod, Some(2.0));
    assert_eq!(comparison.medians[&theirs].failures, 1);
    let faster = comparison.ratios.pods_per_second.unwrap();
    assert!((faster.value - 10.0).abs() < 1e-9 && faster.of == 2, "{faster:?}");
    assert!((comparison.ratios.cpu.unwrap().value - 10.0).abs() < 1e-9);
    // The higher latency of whom is faster, here, makes that ratio less than 1.
    assert!((comparison.ratios.latency_p99.unwrap().value - 0.1).abs() < 1e-9);
    assert_eq!(comparison.ratios.latency_p99_beyond_floor, None);
    let means = means(&comparisons);
    assert_eq!((means.len(), means[0].workloads), (1, 1));
    assert!((means[0].cpu.unwrap() - 10.0).abs() < 1e-9);
}

#[test]
fn pods_whose_first_takes_longer_than_all_others_are_counted_from_the_start() {
    let late = |contestant, first_after| {
        let mut record = record(contestant, 0, 5000.0, 1.0);
        let measured = &mut record.outcome.as_mut().unwrap().measured[0];
        measured.throughput.first_after = first_after;
        measured.throughput.lasted = 0.2;
        measured.throughput.overall = Some(100.0 / (first_after + 0.2));
        record
    };
    let runs = [late(Contestant::Plimsoll, 1.8), late(Contestant::KubeScheduler, 19.8)];
    let [comparison] = &compare(&runs)[..] else {
        panic!("one workload in one mode")
    };
    let faster = comparison.ratios.pods_per_second.unwrap();
    assert!((faster.value - 10.0).abs() < 1e-9, "{faster:?}");
    // A start that is slow for one alone is no reason.
    let runs = [late(Contestant::Plimsoll, 0.1), late(Contestant::KubeScheduler, 19.8)];
    let faster = compare(&runs)[0].ratios.pods_per_second.unwrap();
    assert!((faster.value - 1.0).abs() < 1e-9, "{faster:?}");
}

#[test]
fn the_floor_of_latencies_is_the_dumb_binders() {
    let runs = [
        record(Contestant::Plimsoll, 0, 12.0, 1.0),
        record(Contestant::KubeScheduler, 0, 30.0, 1.0),
        record(Contestant::DumbBinder, 0, 10.0, 1.0),
    ];
    let beyond = compare(&runs)[0].ratios.latency_p99_beyond_floor.unwrap();
    assert!((beyond.value - 10.0).abs() < 1e-9, "{beyond:?}");
}

#[test]
fn the_table_has_a_line_for_each_and_tells_what_failed_and_what_was_left_out() {
    let runs = vec![
        record(Contestant::Plimsoll, 0, 1000.0, 0.1),
        record(Contestant::KubeScheduler, 0, 100.0, 1.0),
        failed(Contestant::KubeScheduler, 1),
    ];
    let comparisons = compare(&runs);
    let report = Report {
        machine: Machine::default(),
        command: "bench".to_owned(),
        means: means(&comparisons),
        comparisons,
        runs,
        skipped: vec![Skipped {
            workload: "d/e/f".to_owned(),
            mode: None,
            reason: "no devices".to_owned(),
        }],
    };
    let text = table(&report);
    assert!(text.contains("| a/b/c | real, drain | plimsoll | 1000.0 |"), "{text}");
    assert!(text.contains("kube-scheduler, 1 of 2 failed"), "{text}");
    assert!(text.contains("| 2 / 1 |"), "{text}");
    assert!(
        text.contains("| a/b/c | real, drain | **ratio** | **10.00** |"),
        "{text}"
    );
    assert!(
        text.contains("- a/b/c (real, drain, kube-scheduler): it ended"),
        "{text}"
    );
    assert!(text.contains("- d/e/f: no devices"), "{text}");
    let line = report.runs[2].to_string();
    assert!(
        line.contains("failed: it ended |") && !line.contains("and more"),
        "{line}"
    );
    serde_json::to_string(&report).unwrap();
}
