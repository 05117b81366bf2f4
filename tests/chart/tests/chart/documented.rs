//! The commands of `docs/installing.md`, run in their order.

use std::fs;

use anyhow::{Context, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use plimsoll_chart::top;
use plimsoll_cluster::suite;
use serde_json::json;

use crate::helm;
use crate::release::of_cluster;

/// The lines between ```` ```sh ```` and its end that call Helm.
fn commands() -> anyhow::Result<Vec<Vec<String>>> {
    let page = fs::read_to_string(top().join("docs/installing.md"))?;
    let mut shell = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            shell = line == "```sh";
        } else if let Some(arguments) = line.strip_prefix("helm ").filter(|_| shell) {
            commands.push(arguments.split_whitespace().map(str::to_owned).collect());
        }
    }
    Ok(commands)
}

#[test]
fn every_helm_command_of_the_page_works_in_the_order_of_the_page() -> anyhow::Result<()> {
    let Some(helm) = helm()? else { return Ok(()) };
    suite::run_with_service_accounts(async |cluster| {
        let helm = of_cluster(helm, cluster)?;
        // As of a kube-scheduler that stands for election.
        let leases: Api<Lease> = Api::namespaced(cluster.client().clone(), "kube-system");
        let lease = serde_json::from_value(json!({ "metadata": { "name": "kube-scheduler" } }))?;
        leases.create(&PostParams::default(), &lease).await?;
        let mut verbs = Vec::new();
        for command in commands()? {
            let verb = command.first().context("an empty command")?.clone();
            // That one needs replicas; see the tests that have them.
            if verb != "test" {
                helm.run(&command).with_context(|| command.join(" "))?;
            }
            verbs.push(verb);
        }
        for verb in ["install", "test", "upgrade", "rollback", "uninstall"] {
            ensure!(verbs.iter().any(|other| other == verb), "the page does not {verb}");
        }
        // The page leaves the replacement in place.
        helm.run(&["uninstall", "plimsoll", "--namespace", "kube-system"])?;
        Ok(())
    })
}
