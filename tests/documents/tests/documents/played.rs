//! Pages played on a real control plane: every command that is not listed, in the order of the page.

use std::fs;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_chart::{KUBEADM_MANIFEST, possible};
use plimsoll_cluster::fixtures::node;
use plimsoll_cluster::{Cluster, Scheduler, suite};
use plimsoll_controlplane::{User, free_port};
use plimsoll_documents::{Kubelets, Page, Performance, StaticPods, Workplace, top};

use crate::not_run;

/// What a page needs, and must come to.
struct Part {
    /// What stands on the page for something of the reader's own, and what it is here.
    replace: &'static [(&'static str, &'static str)],
    /// What the reader is said to have done before.
    before: &'static str,
    /// What takes away what the page leaves.
    after: &'static str,
    /// What must be among what the commands print.
    prints: &'static [&'static str],
}

const NOTHING: Part = Part {
    replace: &[],
    before: "",
    after: "",
    prints: &[],
};

/// Stands for a port that is free.
const FREE_PORTS: [&str; 2] = ["FREE_PORT_1", "FREE_PORT_2"];

/// The chart in its mode `second`, and two pods: one that is placed, and one that fits nowhere.
macro_rules! second {
    ($more:literal) => {
        concat!(
            "
helm install plimsoll charts/plimsoll --namespace plimsoll-system --create-namespace
kubectl --namespace plimsoll-system rollout status deployment/plimsoll --timeout=180s
kubectl create namespace shop
kubectl --namespace shop wait serviceaccount default --for=create --timeout=180s
kubectl --namespace shop run web --image=pause --overrides='{\"spec\":{\"schedulerName\":\"plimsoll\"}}'
kubectl --namespace shop run giant --image=pause --overrides='{\"spec\":{\"schedulerName\":\"plimsoll\",
  \"containers\":[{\"name\":\"giant\",\"image\":\"pause\",\"resources\":{\"requests\":{\"cpu\":\"1000\"}}}]}}'
kubectl --namespace shop wait --for=condition=PodScheduled pod/web --timeout=180s
kubectl --namespace shop wait --for=condition=PodScheduled=false pod/giant --timeout=180s
ln -sf \"$(command -v plimsoll)\" \"$HOME/kubectl-plimsoll\"
export PATH=\"$HOME:$PATH\"
",
            $more
        )
    };
}

/// Takes it away again.
macro_rules! no_second {
    ($more:literal) => {
        concat!(
            "
kubectl delete namespace shop --timeout=180s
helm uninstall plimsoll --namespace plimsoll-system
kubectl --namespace plimsoll-system wait pod --for=delete --all --timeout=180s
kubectl --namespace kube-system delete lease plimsoll
kubectl delete namespace plimsoll-system
",
            $more
        )
    };
}

/// Makes a test of each page, and the list of all.
macro_rules! played {
    ($($name:ident: $page:literal => $part:expr;)+) => {
        /// The pages whose commands are run.
        pub(crate) const PLAYED: &[&str] = &[$($page),+];

        $(
            #[test]
            fn $name() -> anyhow::Result<()> {
                play($page, &$part)
            }
        )+
    };
}

played! {
    getting_started_works_as_it_is_pasted: "docs/getting-started.md" => Part {
        replace: &[
            ("6443", "FREE_PORT_1"),
            ("--secure-port 10259", "--secure-port FREE_PORT_2"),
            ("target/release-lite/plimsoll", "../bin/plimsoll"),
            // Without a port-forward.
            ("--scheduler https://127.0.0.1:10259", "--leader-elect-resource-name plimsoll"),
            ("unset KUBECONFIG", "export KUBECONFIG=\"$CLUSTER\""),
        ],
        before: "export CLUSTER=\"$KUBECONFIG\"",
        prints: &["cpu: needs 6, the whole node has 4", "cpu: needs 1000, the whole node has"],
        ..NOTHING
    };
    installing_works_as_it_is_pasted: "docs/installing.md" => Part {
        // The page leaves the replacement in place.
        after: "kubectl --namespace kube-system delete lease plimsoll --ignore-not-found
            helm uninstall plimsoll --namespace kube-system
            kubectl --namespace kube-system wait pod --for=delete --selector app.kubernetes.io/name=plimsoll --timeout=180s",
        prints: &["Phase:          Succeeded"],
        ..NOTHING
    };
    migrating_and_rolling_back_work_as_they_are_pasted: "docs/migrating.md" => Part {
        replace: &[("/etc/kubernetes", "$ETC")],
        before: "
            kubectl create namespace shop
            kubectl --namespace shop create deployment web --image=pause --replicas=6
            kubectl --namespace shop wait deployment web --for=condition=Available --timeout=180s
            kubectl --namespace shop run giant --image=pause --overrides='{\"spec\":{\"containers\":[{\"name\":\"giant\",
              \"image\":\"pause\",\"resources\":{\"requests\":{\"cpu\":\"1000\"}}}]}}'
            kubectl --namespace shop wait --for=condition=PodScheduled=false pod/giant --timeout=180s
        ",
        after: "kubectl delete namespace shop --timeout=180s",
        prints: &["7 pods: ", " 0 different"],
    };
    troubleshooting_works_as_it_is_pasted: "docs/troubleshooting.md" => Part {
        before: second!(""),
        after: no_second!(""),
        prints: &["schedulerName: plimsoll", "Insufficient cpu", "cpu: needs 1000, the whole node has"],
        ..NOTHING
    };
    the_security_model_can_be_asked_for_as_it_is_pasted: "docs/security.md" => Part {
        before: second!(""),
        after: no_second!(""),
        prints: &["yes", "no", "pod-security.kubernetes.io/enforce=restricted"],
        ..NOTHING
    };
    the_manifests_are_applied_as_they_are_pasted: "deploy/README.md" => Part {
        // One of them at a time, as the page says.
        replace: &[(
            "sed 's#image: plimsoll:0.1.0#image: registry.example/plimsoll:0.1.0#' deploy/plimsoll.yaml",
            "kubectl delete --filename deploy/second.yaml --ignore-not-found || true
            sed 's#image: plimsoll:0.1.0#image: registry.example/plimsoll:0.1.0#' deploy/plimsoll.yaml",
        )],
        after: "kubectl delete --filename deploy/plimsoll.yaml
            kubectl --namespace kube-system wait pod --for=delete --selector app.kubernetes.io/name=plimsoll --timeout=180s",
        prints: &["deployment.apps/plimsoll created"],
        ..NOTHING
    };
    explain_answers_as_it_is_pasted: "docs/explain.md" => Part {
        replace: &[
            ("--scheduler https://127.0.0.1:10259", "--leader-elect-resource-name plimsoll"),
            ("explain pod shop/web\n", "explain pod shop/web --leader-elect-resource-name plimsoll --insecure-skip-tls-verify\n"),
        ],
        before: second!(""),
        after: no_second!(""),
        prints: &["State:        Bound"],
    };
    running_says_what_works: "docs/running.md" => Part {
        replace: &[("explain pod shop/giant", "explain pod shop/giant --leader-elect-resource-name plimsoll --insecure-skip-tls-verify")],
        before: second!(""),
        after: no_second!(""),
        prints: &["State:        Unschedulable"],
    };
    what_it_is_held_against_works_as_it_is_pasted: "docs/held-against-kube-scheduler.md" => NOTHING;
    watching_it_works_as_it_is_pasted: "docs/observability.md" => Part {
        replace: &[
            ("REPLICA:10259", "$REPLICA:10259"),
            ("ACCOUNT", "--namespace plimsoll-system watcher"),
            ("Bearer TOKEN", "Bearer $TOKEN"),
            ("seconds=30", "seconds=1"),
        ],
        before: second!("
            kubectl --namespace plimsoll-system create serviceaccount watcher
            kubectl create clusterrolebinding watcher --clusterrole=cluster-admin --serviceaccount=plimsoll-system:watcher
            TOKEN=$(kubectl --namespace plimsoll-system create token watcher)
            REPLICA=$(kubectl --namespace plimsoll-system get pods --output jsonpath='{.items[0].status.podIP}')
        "),
        after: no_second!("kubectl delete clusterrolebinding watcher"),
        prints: &["scheduler_pending_pods"],
    };
}

/// Controllers whose work pages count on.
const CONTROLLERS: [&str; 8] = [
    "deployment-controller",
    "replicaset-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "disruption-controller",
];

fn play(path: &str, part: &Part) -> anyhow::Result<()> {
    let scripts = ["tests/documents/kubectl/build.sh", "tests/chart/helm/build.sh"];
    let mut built = Vec::new();
    for script in scripts {
        let Some(program) = plimsoll_documents::built(&top().join(script))? else {
            static BANNER: Once = Once::new();
            let line = "*".repeat(100);
            BANNER.call_once(|| {
                suite::say(&format!(
                    "\n{line}\n*  THE DOCUMENTATION IS NOT PLAYED: no Go toolchain\n{line}\n"
                ));
            });
            return Ok(());
        };
        built.push(program);
    }
    suite::run_with_service_accounts(async |cluster| {
        if Scheduler::under_test() != Scheduler::Plimsoll {
            return Ok(());
        }
        if let Err(reason) = possible() {
            let reason = plimsoll_go_programs::skip("containers", reason)?;
            suite::say(&format!("\n*** {path} IS NOT PLAYED: {reason}\n"));
            return Ok(());
        }
        let place = Workplace::new()?;
        let outcome = Box::pin(on(cluster, &place, &built, path, part)).await;
        if outcome.is_err() {
            place.keep();
        }
        outcome
    })
}

async fn on(
    cluster: &mut Cluster<'_>,
    place: &Workplace,
    built: &[std::path::PathBuf],
    path: &str,
    part: &Part,
) -> anyhow::Result<()> {
    let control_plane = cluster.control_plane();
    for (name, program) in ["kubectl", "helm"].into_iter().zip(built) {
        place.program(name, program)?;
    }
    for scheduler in [Scheduler::Plimsoll, Scheduler::KubeScheduler] {
        place.program(scheduler.name(), &scheduler.program(control_plane)?)?;
    }
    let server = control_plane.server();
    let identity = server.kubeconfig(&User::scheduler(User::REPLICAS))?;
    fs::copy(identity, place.etc().join("scheduler.conf"))?;
    fs::write(place.etc().join("manifests/kube-scheduler.yaml"), KUBEADM_MANIFEST)?;
    let kubeconfig = server.kubeconfig(&User::admin())?;
    let _controllers = control_plane.start_controllers(&CONTROLLERS).await?;
    let kubelets = Kubelets::new(control_plane, place, &["default", "kube-system"]).await?;
    let mut static_pods = StaticPods::new();
    cluster.create_nodes(["n1", "n2", "n3"].map(node)).await?;

    let ports = [free_port()?, free_port()?].map(|port| port.to_string());
    let etc = place.etc().display().to_string();
    let mut replace: Vec<(&str, &str)> = part.replace.to_vec();
    replace.extend(FREE_PORTS.into_iter().zip(ports.iter().map(String::as_str)));
    replace.push(("$ETC", &etc));
    let page = Page::read(Path::new(path))?;
    let performance = Performance {
        page: &page,
        runs: |page, command| not_run::reason(page, command).is_none(),
        replace: &replace,
        before: part.before,
        after: part.after,
        // Seconds are enough on a machine that does nothing else.
        limit: Duration::from_mins(5),
    };
    let world = async || {
        static_pods.look(place).await?;
        kubelets.look()
    };
    let played = Box::pin(performance.play(place, Some(&kubeconfig), world)).await?;
    for expected in part.prints {
        ensure!(
            played.output.contains(expected),
            "{path}: {expected:?} is not printed:\n{}",
            played.output
        );
    }
    suite::say(&format!("    {path}: {} commands", played.commands));
    static_pods.end().await.context("the static pods")
}
