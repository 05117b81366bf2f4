//! Makes lines of what places in the code say, with what the spans around them know.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use foldhash::fast::FixedState;
use jiff::Timestamp;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::fields::{Fields, Value};
use super::line::{Line, Place, Severity};
use super::repeats::{Omitted, Repeats, WINDOW};
use super::streams::Streams;
use super::{LogFormat, json, text};

thread_local! {
    /// One line at a time, in memory that is there already.
    static BUFFER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The layer that writes the log.
pub(super) struct Lines {
    omissions: Arc<Omissions>,
}

/// Lines that are left out, and the way to tell of them.
pub(super) struct Omissions {
    repeats: Mutex<Repeats>,
    begun: Instant,
    format: LogFormat,
    streams: Arc<Streams>,
}

impl Lines {
    #[expect(
        clippy::disallowed_methods,
        reason = "the log is of this process, and no decision hangs on it"
    )]
    pub(super) fn new(format: LogFormat, streams: Arc<Streams>) -> Self {
        Self {
            omissions: Arc::new(Omissions {
                repeats: Mutex::new(Repeats::default()),
                begun: Instant::now(),
                format,
                streams,
            }),
        }
    }

    pub(super) fn repeats(&self) -> &Arc<Omissions> {
        &self.omissions
    }
}

impl Omissions {
    /// Tells of what was left out in windows that are over.
    pub(super) fn tell(&self) {
        let over = self.with_repeats(|repeats| repeats.over(self.begun.elapsed()));
        self.tell_of(over);
    }

    fn with_repeats<T>(&self, ask: impl FnOnce(&mut Repeats) -> T) -> T {
        // What a panic left there is a count like any other.
        ask(&mut self.repeats.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell_of(&self, over: Vec<Omitted>) {
        for Omitted { place, message, lines } in over {
            let said = Fields {
                message: "Lines that repeat were left out".to_owned(),
                values: vec![
                    ("place", Value::Text(format!("{}:{}", place.name(), place.line))),
                    ("lines", Value::Plain(lines.to_string())),
                    ("seconds", Value::Plain(WINDOW.as_secs().to_string())),
                    ("message", Value::Text(message)),
                ],
            };
            // It stands where they would have stood.
            self.write(place, &said);
        }
    }

    fn write(&self, place: Place, said: &Fields) {
        let line = Line {
            place,
            time: Timestamp::now(),
            said,
        };
        let write = |to: &mut String| {
            match self.format {
                LogFormat::Text => text::write(&line, to),
                LogFormat::Json => json::write(&line, to),
            }
            self.streams.write(place.severity, to);
        };
        BUFFER.with(|buffer| match buffer.try_borrow_mut() {
            Ok(mut buffer) => {
                buffer.clear();
                write(&mut buffer);
            }
            Err(_) => write(&mut String::new()),
        });
    }

    fn admits(&self, place: Place, said: &Fields) -> bool {
        let hash = FixedState::with_seed(0);
        let at = hash.hash_one((place.file, place.line));
        let mut words = hash.hash_one((at, &said.message));
        for (name, value) in &said.values {
            words = match value {
                Value::Text(text) | Value::Plain(text) => hash.hash_one((words, name, text)),
                Value::Real(number) => hash.hash_one((words, name, number.to_bits())),
            };
        }
        let mut over = Vec::new();
        let now = self.begun.elapsed();
        let admitted = self.with_repeats(|repeats| repeats.admits(place, (words, at), &said.message, now, &mut over));
        self.tell_of(over);
        admitted
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let place = Place::of(event.metadata());
        let mut said = Fields::default();
        event.record(&mut said);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<Fields>() {
                said.complete(fields);
            }
        }
        if !self.omissions.admits(place, &said) {
            return;
        }
        self.omissions.write(place, &said);
        if place.severity == Severity::Error {
            // Whoever reads the error wants to see what came before it.
            self.omissions.streams.flush();
        }
    }
}

#[cfg(test)]
mod tests;
