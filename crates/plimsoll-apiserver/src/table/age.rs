//! Ages as `kubectl` prints them: two or three significant figures.

use jiff::Timestamp;
use serde_json::{Value, json};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Time from the timestamp at `pointer` to `now`; `<unknown>` when there is none.
pub(super) fn since(object: &Value, pointer: &str, now: Timestamp) -> String {
    match timestamp(object.pointer(pointer)) {
        Some(then) => human(now.as_second() - then.as_second()),
        None => "<unknown>".to_owned(),
    }
}

/// A cell with the object's age.
pub(super) fn cell(object: &Value, now: Timestamp) -> Value {
    json!(since(object, "/metadata/creationTimestamp", now))
}

/// Reads an RFC 3339 time.
pub(super) fn timestamp(value: Option<&Value>) -> Option<Timestamp> {
    value?.as_str()?.parse().ok()
}

fn human(seconds: i64) -> String {
    let with_rest = |whole: i64, unit: char, rest: i64, rest_unit: char| {
        if rest == 0 {
            format!("{whole}{unit}")
        } else {
            format!("{whole}{unit}{rest}{rest_unit}")
        }
    };
    match seconds {
        // A clock may be off by a second; two seconds in the future is a mistake.
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => with_rest(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => with_rest(seconds / HOUR, 'h', seconds % HOUR / MINUTE, 'm'),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => with_rest(seconds / DAY, 'd', seconds % DAY / HOUR, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => with_rest(seconds / YEAR, 'y', seconds % YEAR / DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_or_three_figures() {
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (700, "11m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (9 * HOUR + 5 * MINUTE, "9h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3 * HOUR, "2d3h"),
            (9 * DAY + 3 * HOUR, "9d"),
            (2 * YEAR + DAY, "2y1d"),
            (9 * YEAR, "9y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }
}
