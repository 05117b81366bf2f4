use std::io::Write;

use tracing_subscriber::layer::SubscriberExt;

use super::*;
use crate::logs::{Routing, V2};

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What was written while `say` ran, without what changes from line to line.
fn written(format: LogFormat, say: impl FnOnce()) -> Vec<String> {
    let sink = Sink::default();
    let routing = Routing::default();
    let streams = Streams::new(routing, Box::new(sink.clone()), Box::new(std::io::sink()));
    let subscriber = tracing_subscriber::registry().with(Lines::new(format, Arc::new(streams)));
    tracing::subscriber::with_default(subscriber, say);
    let bytes = sink.0.lock().expect("nobody panics").clone();
    String::from_utf8(bytes)
        .expect("text")
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_line_has_its_message_its_values_and_what_the_spans_around_know() {
    let lines = written(LogFormat::Text, || {
        let span = tracing::info_span!("pod", trace_id = "0f", handling = tracing::field::Empty);
        span.record("handling", "Pod");
        let _entered = span.enter();
        tracing::error!(pod = %"default/a", trace_id = "ab", error = "no", "It failed");
    });
    let (_, said) = lines[0].split_once("] ").expect("a header");
    assert_eq!(
        said,
        "\"It failed\" pod=\"default/a\" trace_id=\"ab\" err=\"no\" handling=\"Pod\""
    );
    assert!(
        lines[0].starts_with('E') && lines[0].contains(" tests.rs:"),
        "{lines:?}"
    );
}

#[test]
fn json_tells_the_level_that_the_place_is_named_for() {
    let lines = written(LogFormat::Json, || {
        tracing::info!(name: V2, pod = %"default/a", nodes = 3, "Done");
        tracing::info!("Always");
    });
    let levels = lines.iter().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["v"].as_u64()
    });
    assert_eq!(levels.collect::<Vec<_>>(), [Some(2), Some(0)]);
}

#[test]
fn what_one_place_says_over_and_over_is_left_out() {
    let lines = written(LogFormat::Text, || {
        for _ in 0..50 {
            tracing::warn!(kind = "pods", "Trying again");
        }
        tracing::warn!(kind = "nodes", "Trying again");
    });
    assert_eq!(lines.len(), 11);
}
