//! How many requests were made of the API server, and spans of a collector, as the programs count them themselves.

use std::collections::BTreeMap;

/// Requests by what they are, such as `POST` or `POST pods/binding`.
pub(crate) type Requests = BTreeMap<String, f64>;

/// What a scheduler says that it asked for, by method; lists and watches are one each, however long.
pub(crate) fn of_scheduler(metrics: &str) -> Requests {
    let mut requests = Requests::new();
    for (labels, value) in series(metrics, "rest_client_requests_total") {
        let method = label(labels, "method").unwrap_or_default();
        *requests.entry(method.to_owned()).or_default() += value;
    }
    requests
}

/// What the API server says that all its clients wrote, by verb and resource.
pub(crate) fn of_api_server(metrics: &str) -> Requests {
    let mut requests = Requests::new();
    for (labels, value) in series(metrics, "apiserver_request_total") {
        let part = |name| label(labels, name).unwrap_or_default();
        if !["POST", "PUT", "PATCH", "DELETE"].contains(&part("verb")) {
            continue;
        }
        let mut what = format!("{} {}", part("verb"), part("resource"));
        if !part("subresource").is_empty() {
            what = format!("{what}/{}", part("subresource"));
        }
        *requests.entry(what).or_default() += value;
    }
    requests
}

/// What a scheduler says has become of spans: `exported`, or the reason for which they were dropped. Without those of which
/// there were none.
pub(crate) fn spans(metrics: &str) -> BTreeMap<String, f64> {
    let exported = metrics
        .lines()
        .find_map(|line| line.strip_prefix("plimsoll_spans_exported_total ")?.trim().parse().ok());
    let dropped = series(metrics, "plimsoll_spans_dropped_total");
    let dropped = dropped.filter_map(|(labels, value)| Some((label(labels, "reason")?.to_owned(), value)));
    let all = exported
        .map(|value| ("exported".to_owned(), value))
        .into_iter()
        .chain(dropped);
    all.filter(|(_, value)| *value > 0.0).collect()
}

/// What came to be since, for so many pods each, without what was none.
pub(crate) fn per_pod(before: &Requests, after: &Requests, own: &BTreeMap<String, u64>, pods: f64) -> Requests {
    let since = |(what, count): (&String, &f64)| {
        #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
        let own = own.get(what).copied().unwrap_or(0) as f64;
        let count = count - before.get(what).copied().unwrap_or(0.0) - own;
        (count > 0.0).then(|| (what.clone(), count / pods))
    };
    after.iter().filter_map(since).collect()
}

/// Labels and value of each series of a family in the Prometheus text format.
fn series<'a>(metrics: &'a str, family: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    metrics.lines().filter_map(move |line| {
        let rest = line.strip_prefix(family)?.strip_prefix('{')?;
        let (labels, value) = rest.rsplit_once("} ")?;
        Some((labels, value.split_whitespace().next()?.parse().ok()?))
    })
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    labels.split(',').find_map(|label| {
        let value = label.strip_prefix(name)?.strip_prefix("=\"")?;
        value.strip_suffix('"')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULER: &str = "# TYPE rest_client_requests_total counter\n\
        rest_client_requests_total{code=\"201\",host=\"127.0.0.1:6443\",method=\"POST\"} 20\n\
        rest_client_requests_total{code=\"409\",host=\"127.0.0.1:6443\",method=\"POST\"} 2\n\
        rest_client_requests_total{code=\"200\",host=\"127.0.0.1:6443\",method=\"PATCH\"} 5\n\
        rest_client_requests_total_of_others{method=\"POST\"} 7\n";

    #[test]
    fn requests_are_added_up_by_method() {
        assert_eq!(
            of_scheduler(SCHEDULER),
            Requests::from([("PATCH".to_owned(), 5.0), ("POST".to_owned(), 22.0)])
        );
    }

    #[test]
    fn spans_are_told_by_what_has_become_of_them() {
        let text = "# TYPE plimsoll_spans_exported_total counter\n\
            plimsoll_spans_exported_total 12\n\
            plimsoll_spans_dropped_total{reason=\"queue_full\"} 3\n\
            plimsoll_spans_dropped_total{reason=\"export_failed\"} 0\n";
        let expected = [("exported".to_owned(), 12.0), ("queue_full".to_owned(), 3.0)];
        assert_eq!(spans(text), BTreeMap::from(expected));
        assert!(spans(SCHEDULER).is_empty());
    }

    #[test]
    fn writes_are_added_up_by_resource_and_the_loaders_own_are_left_out() {
        let text = "apiserver_request_total{code=\"201\",resource=\"pods\",subresource=\"binding\",verb=\"POST\"} 100\n\
            apiserver_request_total{code=\"201\",resource=\"pods\",subresource=\"\",verb=\"POST\"} 101\n\
            apiserver_request_total{code=\"200\",resource=\"pods\",subresource=\"\",verb=\"WATCH\"} 3\n\
            apiserver_request_total{code=\"201\",resource=\"events\",subresource=\"\",verb=\"POST\"} 1.5e+02\n";
        let before = Requests::from([("POST events".to_owned(), 50.0)]);
        let own = BTreeMap::from([("POST pods".to_owned(), 101)]);
        let each = per_pod(&before, &of_api_server(text), &own, 100.0);
        let expected = [("POST events".to_owned(), 1.0), ("POST pods/binding".to_owned(), 1.0)];
        assert_eq!(each, Requests::from(expected));
    }
}
