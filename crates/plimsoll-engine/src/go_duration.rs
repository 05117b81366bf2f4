use std::time::Duration;

/// A duration as Go writes it, for texts that users know from kube-scheduler: `1h2m3s`, `15m0s`, `1.5s`, `20ms`.
pub(crate) fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(nanos, 1_000_000)),
        _ => whole(nanos),
    }
}

fn whole(nanos: u128) -> String {
    let minutes = nanos / 60_000_000_000;
    let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(nanos: u128, unit: u128) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{whole}.{}", format!("{rest:0digits$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_look_as_in_go() {
        let cases = [
            (Duration::ZERO, "0s"),
            (Duration::from_nanos(12), "12ns"),
            (Duration::from_nanos(1_100), "1.1µs"),
            (Duration::from_millis(20), "20ms"),
            (Duration::from_millis(1_500), "1.5s"),
            (Duration::from_secs(10), "10s"),
            (Duration::from_mins(15), "15m0s"),
            (Duration::from_secs(3_723), "1h2m3s"),
            (Duration::from_hours(1), "1h0m0s"),
        ];
        for (duration, text) in cases {
            assert_eq!(go_duration(duration), text);
        }
    }
}
