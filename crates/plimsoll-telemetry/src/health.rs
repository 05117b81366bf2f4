use std::collections::BTreeSet;

/// One named health check and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The name, as kube-scheduler has it.
    pub name: &'static str,
    /// Why it fails, if it does; shown only to those who may see the single check.
    pub result: Result<(), String>,
}

impl Check {
    /// A check and its result.
    pub fn new(name: &'static str, result: Result<(), String>) -> Self {
        Self { name, result }
    }
}

/// The answer of a health endpoint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Whether all is well.
    pub(crate) well: bool,
    /// The text, as kube-scheduler words it.
    pub(crate) body: String,
    /// For the log, when something is not: which checks fail and why.
    pub(crate) log: String,
}

/// Puts an answer together from the results of checks, as kube-scheduler does.
pub(crate) fn answer(endpoint: &str, checks: &[Check], verbose: bool, excluded: &[&str]) -> Answer {
    use std::fmt::Write as _;

    let mut lines = String::new();
    let mut failed = Vec::new();
    let mut reasons = String::new();
    for check in checks {
        // Writing to a string cannot fail.
        let _ = match &check.result {
            _ if excluded.contains(&check.name) => writeln!(lines, "[+]{} excluded: ok", check.name),
            Ok(()) => writeln!(lines, "[+]{} ok", check.name),
            Err(reason) => {
                failed.push(check.name);
                let _ = write!(reasons, "\n[-]{} failed: {reason}", check.name);
                writeln!(lines, "[-]{} failed: reason withheld", check.name)
            }
        };
    }
    let known = |name: &&str| checks.iter().any(|check| check.name == *name);
    let unknown: BTreeSet<_> = excluded.iter().filter(|name| !known(name)).collect();
    if !unknown.is_empty() {
        let quoted: Vec<_> = unknown.into_iter().map(|name| format!("{name:?}")).collect();
        let _ = writeln!(
            lines,
            "warn: some health checks cannot be excluded: no matches for {}",
            quoted.join(",")
        );
    }
    let well = failed.is_empty();
    let body = match (well, verbose) {
        (false, _) => format!("{lines}{endpoint} check failed\n"),
        (true, true) => format!("{lines}{endpoint} check passed\n"),
        (true, false) => "ok".to_owned(),
    };
    let log = format!("{} check failed: {endpoint}{reasons}", failed.join(","));
    Answer { well, body, log }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(endpoint: &str, checks: &[Check], verbose: bool, excluded: &[&str]) -> (bool, String) {
        let answer = answer(endpoint, checks, verbose, excluded);
        (answer.well, answer.body)
    }

    #[test]
    fn texts_are_those_of_kube_scheduler() {
        let well = [Check::new("ping", Ok(()))];
        assert_eq!(shown("livez", &well, false, &[]), (true, "ok".to_owned()));
        assert_eq!(
            shown("livez", &well, true, &[]),
            (true, "[+]ping ok\nlivez check passed\n".to_owned())
        );
        let ill = [
            Check::new("sched-handler-sync", Err("secret".to_owned())),
            Check::new("shutdown", Ok(())),
        ];
        let text = "[-]sched-handler-sync failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n";
        assert_eq!(shown("readyz", &ill, false, &[]), (false, text.to_owned()));
        let excluded = ["sched-handler-sync"];
        assert_eq!(shown("readyz", &ill, false, &excluded), (true, "ok".to_owned()));
        let unknown = ["b", "shutdown", "sched-handler-sync", "a"];
        let text = "[+]sched-handler-sync excluded: ok\n[+]shutdown excluded: ok\n\
                    warn: some health checks cannot be excluded: no matches for \"a\",\"b\"\nreadyz check passed\n";
        assert_eq!(shown("readyz", &ill, true, &unknown), (true, text.to_owned()));
    }

    #[test]
    fn why_a_check_fails_goes_to_the_log_alone() {
        let ill = [Check::new("shutdown", Err("secret".to_owned()))];
        let answer = answer("readyz", &ill, false, &[]);
        assert!(!answer.body.contains("secret"));
        assert_eq!(answer.log, "shutdown check failed: readyz\n[-]shutdown failed: secret");
    }
}
