//! `bench-traces [--pods N] [--rounds R]`: how fast pods are placed without traces and with every pod traced, when the
//! collector is down, never answers or refuses. All in one run, in turn, on one real control plane. Prints a line for each
//! and the ratios to the first.

use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_cluster::measure::{Measured, measure_with};
use plimsoll_cluster::{Scheduler, suite};
use plimsoll_controlplane::Storage;
use plimsoll_observability::Collector;

const LIMIT: Duration = Duration::from_mins(10);
const NODES: usize = 200;

fn main() -> anyhow::Result<()> {
    let (mut pods, mut rounds) = (1_000, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments
            .next()
            .with_context(|| format!("{argument} wants a number"))?
            .parse()?;
        match argument.as_str() {
            "--pods" => pods = value,
            "--rounds" => rounds = value,
            other => anyhow::bail!("unknown argument {other}"),
        }
    }
    suite::run_alone(Storage::Protobuf, async |control_plane| {
        let (hanging, refusing) = (Collector::hanging().await?, Collector::refusing().await?);
        let down = Collector::down()?;
        let collectors = [
            ("no traces", None),
            ("collector down", Some(down.as_str())),
            ("collector hangs", Some(hanging.address())),
            ("collector refuses", Some(refusing.address())),
        ];
        suite::say(&format!("    {:<20}{}", "", Measured::heading()));
        let mut number = 0;
        for _ in 0..rounds {
            let mut first = None;
            for (name, endpoint) in collectors {
                let env = endpoint.map(|endpoint| ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint));
                let env: Vec<_> = env.into_iter().collect();
                let of = (Scheduler::Plimsoll, env.as_slice());
                let measured = Box::pin(measure_with(&control_plane, of, number, NODES, pods, LIMIT)).await?;
                ensure!(measured.violations.is_empty(), "{:?}", measured.violations);
                number += 1;
                let first = *first.get_or_insert_with(|| measured.took());
                let ratio = measured.took().as_secs_f64() / first.as_secs_f64();
                suite::say(&format!("    {name:<20}{measured}    time x {ratio:.3}"));
            }
        }
        Ok(())
    })
}
