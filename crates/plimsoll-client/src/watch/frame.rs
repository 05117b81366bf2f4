use bytes::{Bytes, BytesMut};
use memchr::memchr;

/// No object that the API server accepts comes near this, even escaped; more than this without a newline is no watch.
const LONGEST_LINE: usize = 16 << 20;

/// Cuts a stream of chunks into lines. A line within one chunk is a slice of it; only one that spans chunks is copied.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    chunk: Bytes,
    partial: BytesMut,
}

impl Lines {
    /// Takes the next chunk; the one before must have been read to its end.
    pub(crate) fn feed(&mut self, chunk: Bytes) -> Result<(), LineTooLong> {
        debug_assert!(self.chunk.is_empty(), "lines are left");
        let partial = self.partial.len() + memchr(b'\n', &chunk).unwrap_or(chunk.len());
        if partial > LONGEST_LINE {
            return Err(LineTooLong);
        }
        self.chunk = chunk;
        Ok(())
    }

    /// The next whole line, without its newline; none until another chunk comes.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        loop {
            let Some(end) = memchr(b'\n', &self.chunk) else {
                self.partial.extend_from_slice(&self.chunk);
                self.chunk = Bytes::new();
                return None;
            };
            let rest = self.chunk.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.chunk, rest);
            line.truncate(end);
            if !self.partial.is_empty() {
                self.partial.extend_from_slice(&line);
                line = std::mem::take(&mut self.partial).freeze();
            }
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }

    /// Whether the stream, should it end here, ends within a line.
    pub(crate) fn is_cut(&self) -> bool {
        !self.partial.trim_ascii().is_empty()
    }
}

/// A line that is longer than any object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineTooLong;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str]) -> (Vec<String>, bool) {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        for chunk in chunks {
            lines.feed(Bytes::copy_from_slice(chunk.as_bytes())).unwrap();
            while let Some(line) = lines.next() {
                out.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        (out, lines.is_cut())
    }

    #[test]
    fn lines_are_the_same_wherever_the_chunks_are_cut() {
        let text = "{\"a\":1}\n{\"b\":22}\n\n{\"c\":3}\n";
        let (whole, cut) = lines(&[text]);
        assert_eq!((whole.len(), cut), (3, false));
        for at in 0..=text.len() {
            let (left, right) = text.split_at(at);
            assert_eq!(lines(&[left, right]), (whole.clone(), false), "cut at {at}");
        }
    }

    #[test]
    fn the_end_of_the_stream_within_a_line_is_noticed() {
        assert_eq!(lines(&["{}\n{\"a\":"]), (vec!["{}".to_owned()], true));
    }

    #[test]
    fn a_whole_line_is_not_copied() {
        let chunk = Bytes::from_static(b"{\"a\":1}\n{}\n");
        let mut lines = Lines::default();
        lines.feed(chunk.clone()).unwrap();
        assert_eq!(lines.next().unwrap().as_ptr(), chunk.as_ptr());
    }

    #[test]
    fn memory_for_a_line_that_never_ends_is_bounded() {
        let mut lines = Lines::default();
        let chunk = Bytes::from(vec![b'x'; 1 << 20]);
        let mut fed = 0;
        while lines.feed(chunk.clone()).is_ok() {
            assert_eq!(lines.next(), None);
            fed += 1;
        }
        assert_eq!(fed, 16);
    }
}
