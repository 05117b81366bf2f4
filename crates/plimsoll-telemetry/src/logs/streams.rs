//! Where lines go: standard error, or standard output for all but errors.

use std::io::{BufWriter, Write, stderr, stdout};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Routing;
use super::line::Severity;

type Stream = Mutex<Box<dyn Write + Send>>;

/// What was installed, for [`flush`].
static OF_PROCESS: OnceLock<Arc<Streams>> = OnceLock::new();

pub(super) fn remember(streams: &Arc<Streams>) {
    // There is one log for a process, and it was just installed.
    let _ = OF_PROCESS.set(Arc::clone(streams));
}

/// Writes whatever waits: for whoever ends the process.
pub fn flush() {
    if let Some(streams) = OF_PROCESS.get() {
        streams.flush();
    }
}

/// One or two streams.
pub(super) struct Streams {
    errors: Stream,
    /// For everything else, if it goes elsewhere.
    others: Option<Stream>,
}

impl Streams {
    pub(super) fn of_process(routing: Routing) -> Self {
        Self::new(routing, Box::new(stderr()), Box::new(stdout()))
    }

    pub(super) fn new(routing: Routing, errors: Box<dyn Write + Send>, others: Box<dyn Write + Send>) -> Self {
        let buffered = |stream| -> Box<dyn Write + Send> {
            match routing.info_buffer {
                0 => Box::new(Unbuffered(stream)),
                size => Box::new(BufWriter::with_capacity(size, stream)),
            }
        };
        Self {
            errors: Mutex::new(errors),
            others: routing.split.then(|| Mutex::new(buffered(others))),
        }
    }

    pub(super) fn write(&self, severity: Severity, line: &str) {
        let stream = match (&self.others, severity) {
            (Some(others), Severity::Info | Severity::Warning) => others,
            _ => &self.errors,
        };
        // Where the log cannot be written there is nowhere to say so.
        let _ = lock(stream).write_all(line.as_bytes());
    }

    pub(super) fn flush(&self) {
        if let Some(others) = &self.others {
            let _ = lock(others).flush();
        }
    }
}

/// A panic of another thread leaves at worst half a line behind.
fn lock(stream: &Stream) -> std::sync::MutexGuard<'_, Box<dyn Write + Send>> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Standard output keeps what has no line end yet, and more than that when it is no terminal.
struct Unbuffered(Box<dyn Write + Send>);

impl Write for Unbuffered {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(buffer)?;
        self.0.flush()?;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
            lock_sink(self).extend_from_slice(buffer);
            Ok(buffer.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn lock_sink(sink: &Sink) -> std::sync::MutexGuard<'_, Vec<u8>> {
        sink.0.lock().expect("nobody panics")
    }

    fn written(sink: &Sink) -> String {
        String::from_utf8(lock_sink(sink).clone()).expect("text")
    }

    fn streams(split: bool, info_buffer: usize) -> (Streams, Sink, Sink) {
        let (errors, others) = (Sink::default(), Sink::default());
        let routing = Routing { split, info_buffer };
        let streams = Streams::new(routing, Box::new(errors.clone()), Box::new(others.clone()));
        (streams, errors, others)
    }

    #[test]
    fn everything_goes_to_one_stream_unless_it_is_split() {
        let (streams, errors, others) = streams(false, 0);
        streams.write(Severity::Info, "i\n");
        streams.write(Severity::Error, "e\n");
        assert_eq!((written(&errors).as_str(), written(&others).as_str()), ("i\ne\n", ""));
    }

    #[test]
    fn split_streams_have_errors_apart() {
        let (streams, errors, others) = streams(true, 0);
        streams.write(Severity::Info, "i\n");
        streams.write(Severity::Warning, "w\n");
        streams.write(Severity::Error, "e\n");
        assert_eq!(
            (written(&errors).as_str(), written(&others).as_str()),
            ("e\n", "i\nw\n")
        );
    }

    #[test]
    fn a_buffer_keeps_lines_until_it_is_flushed_or_full_and_errors_never_wait() {
        let (streams, errors, others) = streams(true, 8);
        streams.write(Severity::Info, "1234\n");
        streams.write(Severity::Error, "e\n");
        assert_eq!((written(&errors).as_str(), written(&others).as_str()), ("e\n", ""));
        streams.write(Severity::Info, "5678\n");
        assert_eq!(written(&others), "1234\n");
        streams.flush();
        assert_eq!(written(&others), "1234\n5678\n");
    }
}
