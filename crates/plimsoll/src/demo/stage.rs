//! What the audience sees: lines and a progress bar on a terminal, lines alone elsewhere.

use std::io::{IsTerminal, Write, stdout};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::kubelet::Census;

/// Without a terminal a line is written each time another tenth of the pods is placed.
const TENTHS: usize = 10;

/// Standard output, and the bar on it.
pub(super) struct Stage {
    bar: Option<ProgressBar>,
    tenths_told: usize,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            bar: None,
            tenths_told: 0,
        }
    }

    /// One line, above the bar while there is one.
    pub(super) fn say(&self, line: &str) -> std::io::Result<()> {
        match &self.bar {
            Some(bar) => {
                bar.println(line);
                Ok(())
            }
            None => writeln!(stdout().lock(), "{line}"),
        }
    }

    /// Puts the bar up.
    pub(super) fn open(&mut self, total: usize) -> anyhow::Result<()> {
        if stdout().is_terminal() {
            let bar = ProgressBar::with_draw_target(u64::try_from(total).ok(), ProgressDrawTarget::stdout());
            bar.set_style(ProgressStyle::with_template(
                "  {elapsed:>4} [{bar:48}] {pos}/{len} pods placed, {msg}",
            )?);
            self.bar = Some(bar);
        }
        Ok(())
    }

    /// Moves the bar.
    pub(super) fn progress(&mut self, census: Census) -> std::io::Result<()> {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} told why not", census.explained));
            bar.set_position(u64::try_from(census.placed).unwrap_or(u64::MAX));
            return Ok(());
        }
        let tenths = census.placed * TENTHS / census.total.max(1);
        if tenths > self.tenths_told {
            self.tenths_told = tenths;
            self.say(&format!(
                "  {:>5}/{} pods placed, {} told why not",
                census.placed, census.total, census.explained
            ))?;
        }
        Ok(())
    }

    /// Takes the bar down.
    pub(super) fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.abandon();
        }
    }
}
