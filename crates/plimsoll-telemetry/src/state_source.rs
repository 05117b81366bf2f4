use futures::future::BoxFuture;

use crate::Check;

/// Who knows how the process is and what it is doing.
pub trait StateSource: Send + Sync + 'static {
    /// The checks of `/healthz`.
    fn healthz(&self) -> BoxFuture<'_, Vec<Check>>;
    /// The checks of `/readyz`.
    fn readyz(&self) -> BoxFuture<'_, Vec<Check>>;
    /// Brings those gauges up to date that cost too much to be kept so all the time.
    fn before_scrape(&self) -> BoxFuture<'_, ()>;
    /// What `/debug/audit` shows of an audit made now, or why there is none.
    fn audit(&self) -> BoxFuture<'_, Result<String, String>>;
    /// What `/metrics/resources` shows, or why that is not known; a standby shows nothing.
    fn resources(&self) -> BoxFuture<'_, Result<String, String>>;
    /// What `/debug/waiting-pods` shows of the pods that wait at Permit, or why that is not known.
    fn waiting_pods(&self) -> BoxFuture<'_, Result<String, String>>;
}
