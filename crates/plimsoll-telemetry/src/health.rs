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

/// The answer of a health endpoint: whether all is well, and the text, as kube-scheduler words it.
pub(crate) fn answer(endpoint: &str, checks: &[Check], verbose: bool, excluded: &[String]) -> (bool, String) {
    use std::fmt::Write as _;

    let mut lines = String::new();
    let mut failed = false;
    for check in checks {
        // Writing to a string cannot fail.
        let _ = if excluded.iter().any(|name| name == check.name) {
            writeln!(lines, "[+]{} excluded: ok", check.name)
        } else if check.result.is_ok() {
            writeln!(lines, "[+]{} ok", check.name)
        } else {
            failed = true;
            writeln!(lines, "[-]{} failed: reason withheld", check.name)
        };
    }
    let unknown: Vec<String> = excluded
        .iter()
        .filter(|name| !checks.iter().any(|check| check.name == name.as_str()))
        .map(|name| format!("{name:?}"))
        .collect();
    if !unknown.is_empty() {
        let _ = writeln!(
            lines,
            "warn: some health checks cannot be excluded: no matches for {}",
            unknown.join(",")
        );
    }
    match (failed, verbose) {
        (true, _) => (false, format!("{lines}{endpoint} check failed\n")),
        (false, true) => (true, format!("{lines}{endpoint} check passed\n")),
        (false, false) => (true, "ok".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_kube_scheduler() {
        let well = [Check::new("ping", Ok(()))];
        assert_eq!(answer("livez", &well, false, &[]), (true, "ok".to_owned()));
        assert_eq!(
            answer("livez", &well, true, &[]),
            (true, "[+]ping ok\nlivez check passed\n".to_owned())
        );
        let ill = [
            Check::new("sched-handler-sync", Err("secret".to_owned())),
            Check::new("shutdown", Ok(())),
        ];
        let text = "[-]sched-handler-sync failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n";
        assert_eq!(answer("readyz", &ill, false, &[]), (false, text.to_owned()));
        let excluded = ["sched-handler-sync".to_owned()];
        assert_eq!(answer("readyz", &ill, false, &excluded), (true, "ok".to_owned()));
    }
}
