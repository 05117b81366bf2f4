//! The file of `--config`, read again and again.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

/// A mounted `ConfigMap` changes a minute or so after the object; looking more often than this would not help.
const EVERY: Duration = Duration::from_secs(2);

/// More than any configuration; kube-apiserver does not take larger config maps by far.
const LONGEST: u64 = 16 << 20;

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The text.
    pub(super) text: String,
    /// SHA-256 in hexadecimal digits, as `sha256sum` prints it.
    pub(super) hash: String,
}

/// Reads a file, following links anew.
pub(super) async fn read(path: &Path) -> io::Result<Content> {
    let mut bytes = Vec::new();
    File::open(path)
        .await?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .await?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the file is larger than 16 MiB",
        ));
    }
    content(bytes)
}

fn content(bytes: Vec<u8>) -> io::Result<Content> {
    let mut hash = String::new();
    for byte in digest(&SHA256, &bytes).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(hash, "{byte:02x}");
    }
    let text =
        String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8"))?;
    Ok(Content { text, hash })
}

/// What is compared of a file: its hash, or in which way it could not be read.
type Sight = Result<String, String>;

fn sight(read: &io::Result<Content>) -> Sight {
    read.as_ref()
        .map(|content| content.hash.clone())
        .map_err(ToString::to_string)
}

/// Looks at the content of a file, so that links that are exchanged, as in a mounted `ConfigMap`, are changes too.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    /// What was last told.
    told: Sight,
    /// Seen once; told when it is seen again, so that a file is not taken half written.
    seen: Option<Sight>,
}

impl ConfigFile {
    /// A file whose present content is known.
    pub(super) fn new(path: PathBuf, known: &Content) -> Self {
        Self {
            path,
            told: Ok(known.hash.clone()),
            seen: None,
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the file holds something else, or cannot be read any more.
    pub(super) async fn changed(&mut self) -> io::Result<Content> {
        loop {
            tokio::time::sleep(EVERY).await;
            let read = read(&self.path).await;
            if self.is_news(sight(&read)) {
                return read;
            }
        }
    }

    fn is_news(&mut self, sight: Sight) -> bool {
        if sight == self.told {
            self.seen = None;
            return false;
        }
        if self.seen.as_ref() != Some(&sight) {
            self.seen = Some(sight);
            return false;
        }
        self.told = sight;
        self.seen = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Content {
        content(text.into()).unwrap()
    }

    #[test]
    fn the_hash_is_the_one_that_sha256sum_prints() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of("").hash, empty);
    }

    #[test]
    fn a_change_is_told_once_and_only_when_it_stays() {
        let mut file = ConfigFile::new("unused".into(), &of("a"));
        let mut look = |text: Result<&str, &str>| file.is_news(text.map(str::to_owned).map_err(str::to_owned));
        let (a, b, c) = (of("a").hash, of("b").hash, of("c").hash);
        let steps = [
            (Ok(a.as_str()), false),
            (Ok(&b), false),
            (Ok(&c), false),
            (Ok(&c), true),
            (Ok(&c), false),
            (Err("gone"), false),
            (Ok(&c), false),
            (Err("gone"), false),
            (Err("gone"), true),
            (Err("gone"), false),
            (Ok(&a), false),
            (Ok(&a), true),
        ];
        for (step, (sight, news)) in steps.into_iter().enumerate() {
            assert_eq!(look(sight), news, "{step}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(content(vec![0xff]).unwrap_err().to_string(), "the file is not UTF-8");
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_is_exchanged_is_a_change() {
        let folder = std::env::temp_dir().join(format!("plimsoll-config-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        for (name, text) in [("one", "1"), ("two", "2")] {
            std::fs::write(at(name), text).unwrap();
        }
        std::os::unix::fs::symlink("one", at("config")).unwrap();
        let mut file = ConfigFile::new(at("config"), &read(&at("config")).await.unwrap());
        std::os::unix::fs::symlink("two", at("next")).unwrap();
        std::fs::rename(at("next"), at("config")).unwrap();
        assert_eq!(file.changed().await.unwrap().text, "2");
        std::fs::remove_file(at("config")).unwrap();
        assert!(file.changed().await.is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
