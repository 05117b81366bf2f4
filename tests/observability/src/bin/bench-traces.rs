//! `bench-traces [--pods N] [--nodes N] [--rounds R] [--protocol P] [--told all|some|both]`: how fast pods are placed without
//! traces and with them, when their collector is well and when it is not. See `docs/performance.md`.
//!
//! Each run drains pods that were there before the scheduler, on an embedded API server of its own: the scheduler is what is
//! measured. Who begins changes from round to round; ratios are those of one round.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_bench::contestant::Contestant;
use plimsoll_bench::machine::Machine;
use plimsoll_bench::run::{Measured, Mode, Setting, run};
use plimsoll_bench::workload::{CreateNodes, CreatePods, Operation, Preparation, Workload};
use plimsoll_observability::{Case, Collector, Pairs, Sampling};

const LIMIT: Duration = Duration::from_mins(10);

/// How late the slow collector answers.
const LATE: Duration = Duration::from_secs(1);

struct Arguments {
    pods: usize,
    nodes: usize,
    rounds: usize,
    protocol: String,
    /// How many pods are told of.
    told: Vec<Sampling>,
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut found = Arguments {
        pods: 20_000,
        nodes: 1_000,
        rounds: 1,
        protocol: "http/protobuf".to_owned(),
        told: Sampling::ALL.to_vec(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} wants a value"))?;
        match argument.as_str() {
            "--pods" => found.pods = value.parse()?,
            "--nodes" => found.nodes = value.parse()?,
            "--rounds" => found.rounds = value.parse()?,
            "--told" => found.told = told(&value)?,
            "--protocol" => found.protocol = value,
            other => anyhow::bail!("unknown argument {other}"),
        }
    }
    Ok(found)
}

fn told(value: &str) -> anyhow::Result<Vec<Sampling>> {
    match value {
        "all" => Ok(vec![Sampling::All]),
        "some" => Ok(vec![Sampling::OnePercent]),
        "both" => Ok(Sampling::ALL.to_vec()),
        other => anyhow::bail!("--told {other}: all, some or both"),
    }
}

/// Pods that are alike, on nodes that are alike.
fn workload(arguments: &Arguments) -> Workload {
    let nodes = CreateNodes {
        count: arguments.nodes,
        template: None,
        preparation: Preparation::None,
    };
    let pods = CreatePods {
        count: arguments.pods,
        namespace: None,
        template: None,
        volume: None,
        collect: true,
        wait: true,
        steady: None,
    };
    Workload {
        topic: "traces".to_owned(),
        case: "Plain".to_owned(),
        name: format!("{}Nodes_{}Pods", arguments.nodes, arguments.pods),
        labels: BTreeSet::new(),
        gates: std::collections::BTreeMap::new(),
        threshold: None,
        config: None,
        operations: vec![Operation::CreateNodes(nodes), Operation::CreatePods(pods)],
        lacking: None,
    }
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}")
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(Box::pin(measure(&arguments()?)))
}

async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let (taking, slow) = (Collector::taking().await?, Collector::slow(LATE).await?);
    let (hanging, refusing) = (Collector::hanging().await?, Collector::refusing().await?);
    let down = Collector::down()?;
    let collectors = [
        ("takes", taking.address()),
        ("down", down.as_str()),
        ("hangs", hanging.address()),
        ("slow", slow.address()),
        ("refuses", refusing.address()),
    ];
    let mut cases = vec![(Case::untraced(), None)];
    for sampling in arguments.told.iter().copied() {
        cases.extend(collectors.map(|(name, address)| (Case::traced(name, sampling), Some(address))));
    }
    let workload = workload(arguments);
    let mut machine = Machine::look();
    let mut pairs = Pairs::default();
    say(Pairs::runs_heading())?;
    for round in 0..arguments.rounds {
        let mut order = cases.clone();
        // By more than one: a case does not always come behind the same one's warmth.
        order.rotate_left(round * 4 % cases.len());
        for (case, address) in order {
            let Some(measured) = Box::pin(one(&workload, case, address, arguments)).await? else {
                return say("*** no control plane on this machine: nothing is measured ***").map_err(Into::into);
            };
            say(&pairs.add(round, case, &measured))?;
        }
    }
    machine.look_again();
    say(&format!("\n{machine}\n\n{pairs}"))?;
    Ok(())
}

/// One run; `None` when this machine has no control plane.
async fn one(
    workload: &Workload,
    case: Case,
    address: Option<&str>,
    arguments: &Arguments,
) -> anyhow::Result<Option<Measured>> {
    let mut env: Vec<(&str, &str)> = case.environment();
    if let Some(address) = address {
        env.push(("OTEL_EXPORTER_OTLP_ENDPOINT", address));
        env.push(("OTEL_EXPORTER_OTLP_PROTOCOL", &arguments.protocol));
    }
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let setting = Setting {
        mode: Mode::Null,
        contestant: Contestant::Plimsoll,
        rate: 0.0,
        all_nodes: false,
        limit: LIMIT,
        binder: None,
        env: env.into_iter().map(owned).collect(),
    };
    let Some(outcome) = Box::pin(run(workload, setting)).await? else {
        return Ok(None);
    };
    let broken = outcome.judged.as_ref().filter(|judged| judged.violations > 0);
    ensure!(broken.is_none(), "{case}: {broken:?}");
    outcome
        .measured
        .into_iter()
        .next()
        .context("nothing was measured")
        .map(Some)
}
