//! Commands of the documentation that no test here runs, each with the reason.

use std::path::Path;

use plimsoll_documents::{Command, Page};

/// A command by the page and what it begins with.
pub(crate) struct NotRun {
    /// The page.
    pub(crate) page: &'static str,
    /// What the command begins with.
    pub(crate) begins: &'static str,
    /// Why it is not run.
    pub(crate) because: &'static str,
}

const BUILT: &str = "the tests are given the program; building it here would compile it anew";
const CI: &str = "`.ci/run` does it, and it would run the tests within a test";
const ENGINE: &str = "needs a container engine and a registry; tests/image assembles and runs the same layers";
const KUBELETS: &str = "needs kubelets, which the cluster of the tests has not";
const LONG: &str = "a measurement of many minutes";
const OWN: &str = "tests/image runs it";

/// Waits for a port-forward, and takes it away.
const ASKS_FORWARD: &str = "curl --insecure --silent --retry 30 --retry-connrefused https://127.0.0.1:10259/healthz";
const ENDS_FORWARD: &str = "kill \"$FORWARD\"";

/// All of them.
pub(crate) const NOT_RUN: &[NotRun] = &[
    not("README.md", "make demo", CI),
    not("README.md", "make test", CI),
    not("deploy/README.md", "docker ", ENGINE),
    not("docs/benchmarks.md", "make bench", LONG),
    not(
        "docs/explain.md",
        "kubectl --namespace plimsoll-system port-forward",
        KUBELETS,
    ),
    not("docs/explain.md", ASKS_FORWARD, KUBELETS),
    not("docs/explain.md", ENDS_FORWARD, KUBELETS),
    not("docs/getting-started.md", "docker ", ENGINE),
    not(
        "docs/getting-started.md",
        "kubectl --namespace plimsoll-system port-forward",
        KUBELETS,
    ),
    not("docs/getting-started.md", ASKS_FORWARD, KUBELETS),
    not("docs/getting-started.md", ENDS_FORWARD, KUBELETS),
    not("docs/getting-started.md", "make binary", BUILT),
    not("docs/installing.md", "docker ", ENGINE),
    not(
        "docs/observability.md",
        "go tool pprof",
        "opens a browser, and ends when somebody ends it",
    ),
    not("docs/performance.md", "make bench", LONG),
    not("docs/performance.md", "cargo bench ", LONG),
    not(
        "docs/plugins.md",
        "cargo run ",
        "tests of crates/plimsoll run both examples and read what they print",
    ),
    not("docs/security.md", "make image", OWN),
    not("docs/security.md", "make sbom", OWN),
    not(
        "docs/troubleshooting.md",
        "kubectl --namespace plimsoll-system logs",
        KUBELETS,
    ),
];

const fn not(page: &'static str, begins: &'static str, because: &'static str) -> NotRun {
    NotRun { page, begins, because }
}

/// Why a command is not run; none if it is to be.
pub(crate) fn reason(page: &Page, command: &Command) -> Option<&'static NotRun> {
    NOT_RUN
        .iter()
        .find(|listed| page.path == Path::new(listed.page) && command.text.starts_with(listed.begins))
}
