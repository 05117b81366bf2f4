//! Which build this is, and which kube-scheduler it stands in for.

/// The version of this build, such as `v0.1.0`.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));
/// The minor version of Kubernetes whose scheduler this is in place of.
pub const KUBE_SCHEDULER: &str = "1.36";

/// The line of `--version`.
pub fn line() -> String {
    format!("Plimsoll {VERSION} (in place of kube-scheduler {KUBE_SCHEDULER})")
}

/// The line of `--version=raw`, with all there is to know.
pub fn raw() -> String {
    format!(
        "plimsoll.Version{{Version:{VERSION:?}, KubeScheduler:{KUBE_SCHEDULER:?}, Platform:\"{}/{}\"}}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// Operating system and architecture by the names that Go has for them, such as `linux/amd64`.
pub fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{arch}", std::env::consts::OS)
}

/// Checks a version that the process is to report in place of its own, as distributors mark their builds: it has to begin
/// with the same three numbers.
///
/// # Errors
/// Why it cannot be reported.
pub fn check_reported(text: &str) -> Result<(), String> {
    let numbers_end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(numbers_end);
    if !is_three_numbers(numbers) || !is_mark(rest) {
        return Err(format!("could not parse {text:?} as version"));
    }
    if numbers != VERSION {
        return Err(format!(
            "version {text:?} must match major/minor/patch of default version {VERSION:?}"
        ));
    }
    Ok(())
}

fn is_three_numbers(text: &str) -> bool {
    let number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    };
    let parts: Vec<_> = text.trim_start_matches('v').split('.').collect();
    parts.len() == 3 && parts.into_iter().all(number)
}

/// Behind the numbers: nothing, `-` with what comes before a release, `+` with what a build was made of, or both.
fn is_mark(text: &str) -> bool {
    let part = |part: &str| {
        let letters = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        !part.is_empty() && letters
    };
    let parts = |text: &str| text.split('.').all(part);
    let (before, made_of) = match text.split_once('+') {
        None => (text, None),
        Some((before, made_of)) => (before, Some(made_of)),
    };
    let before = before.strip_prefix('-').or_else(|| (!before.is_empty()).then_some(""));
    before.is_none_or(parts) && made_of.is_none_or(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distributor_may_mark_its_build_and_nobody_may_claim_another_version() {
        let marks = ["", "-acme.1", "+git.0a1b", "-rc.0+git.0a1b"];
        for mark in marks {
            let version = format!("{VERSION}{mark}");
            assert_eq!(check_reported(&version), Ok(()), "{version}");
        }
        let other = "v1.36.3-acme";
        let refused = format!("version {other:?} must match major/minor/patch of default version {VERSION:?}");
        assert_eq!(check_reported(other), Err(refused));
        for none in ["vx", "v1.2", "v01.2.3", "v1.2.3-", "v1.2.3+", "v1.2.3-a..b", "v1.2.3-ü"] {
            let refused = format!("could not parse {none:?} as version");
            assert_eq!(check_reported(none), Err(refused), "{none}");
        }
    }
}
