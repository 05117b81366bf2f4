//! How well pods lie, as a table: what the judge measured of the final state.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Record;
use crate::check::Quality;

/// Of each run that was judged.
pub(super) fn table(text: &mut String, runs: &[Record]) {
    let judged = |record: &Record| {
        let judged = record.outcome.as_ref()?.judged.as_ref()?;
        Some(line(record, &judged.quality))
    };
    let lines: Vec<String> = runs.iter().filter_map(judged).collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nHow pods lie: what nodes have given away on average (± how far nodes are from it), and when a pod was first told that it \
         fits nowhere; and how many points of 200 better the best node was than the chosen one:\n\n\
         | workload | mode | round | | nodes used | CPU | memory | at the first refusal: pods, CPU, memory | regret mean / most |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
}

fn line(record: &Record, quality: &Quality) -> String {
    let filled = |resource: &str| match quality.filled.get(resource) {
        Some(filled) => format!("{} ± {}", percent(filled.mean), percent(filled.deviation)),
        None => "–".to_owned(),
    };
    let refusal = match quality.placed_at_first_refusal {
        Some(pods) => format!("{pods}, {}", shares(&quality.utilisation_at_first_refusal)),
        None => "none".to_owned(),
    };
    let regret = match &quality.regret {
        Some(regret) => format!("{:.2} / {:.1}", regret.mean, regret.most),
        None => "–".to_owned(),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {refusal} | {regret} |",
        record.workload,
        record.mode.name(),
        record.round,
        record.contestant.name(),
        quality.nodes_used,
        filled("cpu"),
        filled("memory"),
    )
}

fn shares(of: &BTreeMap<&'static str, f64>) -> String {
    let share = |resource| of.get(resource).map_or_else(|| "–".to_owned(), |share| percent(*share));
    format!("{}, {}", share("cpu"), share("memory"))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Filled, Judged, Regret};
    use crate::contestant::Contestant;
    use crate::run::{Mode, Outcome};

    fn record(judged: Option<Judged>) -> Record {
        Record {
            workload: "quality/a/b".to_owned(),
            mode: Mode::Null,
            contestant: Contestant::Plimsoll,
            drained: true,
            round: 1,
            rate: None,
            threshold: None,
            outcome: Some(Outcome {
                measured: Vec::new(),
                judged,
            }),
            failure: None,
        }
    }

    #[test]
    fn each_judged_run_says_how_full_nodes_are_and_how_much_better_places_were() {
        let mean = |mean| Filled { mean, deviation: 0.021 };
        let quality = Quality {
            nodes_used: 7,
            filled: [("cpu", mean(0.95)), ("memory", mean(0.5))].into(),
            utilisation_at_first_refusal: [("cpu", 0.934)].into(),
            placed_at_first_refusal: Some(120),
            regret: Some(Regret {
                mean: 0.05,
                most: 2.5,
                of: 120,
            }),
        };
        let judged = Judged {
            quality,
            ..Judged::default()
        };
        let mut text = String::new();
        table(
            &mut text,
            &[record(None), record(Some(judged)), record(Some(Judged::default()))],
        );
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| quality")).collect();
        assert_eq!(
            lines,
            [
                "| quality/a/b | null, drain | 1 | plimsoll | 7 | 95.0 % ± 2.1 % | 50.0 % ± 2.1 % | 120, 93.4 %, – | 0.05 / 2.5 |",
                "| quality/a/b | null, drain | 1 | plimsoll | 0 | – | – | none | – |",
            ]
        );
        let mut nothing = String::new();
        table(&mut nothing, &[record(None)]);
        assert_eq!(nothing, "");
    }
}
