//! Gates at which requests are held until a test lets them go.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

#[derive(Default)]
struct Gate {
    open: bool,
    waiting: usize,
}

#[derive(Default)]
pub(super) struct Gates {
    gates: Mutex<BTreeMap<String, Gate>>,
    opened: Notify,
}

impl Gates {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Gate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn release(&self, name: &str) {
        self.lock().entry(name.to_owned()).or_default().open = true;
        self.opened.notify_waiters();
    }

    pub(super) fn release_all(&self) {
        self.lock().values_mut().for_each(|gate| gate.open = true);
        self.opened.notify_waiters();
    }

    pub(super) fn close(&self, name: &str) {
        self.lock().entry(name.to_owned()).or_default().open = false;
    }

    pub(super) fn waiting(&self, name: &str) -> usize {
        self.lock().get(name).map_or(0, |gate| gate.waiting)
    }

    /// Waits until the gate is open.
    pub(super) async fn pass(&self, name: &str) {
        let _presence = Presence::enter(self, name);
        loop {
            let mut opened = std::pin::pin!(self.opened.notified());
            opened.as_mut().enable();
            if self.lock().get(name).is_some_and(|gate| gate.open) {
                return;
            }
            opened.await;
        }
    }
}

/// Counts a request as waiting for as long as it is there, even when it is dropped.
struct Presence<'a> {
    gates: &'a Gates,
    name: &'a str,
}

impl<'a> Presence<'a> {
    fn enter(gates: &'a Gates, name: &'a str) -> Self {
        gates.lock().entry(name.to_owned()).or_default().waiting += 1;
        Self { gates, name }
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gates.lock().get_mut(self.name) {
            gate.waiting = gate.waiting.saturating_sub(1);
        }
    }
}
