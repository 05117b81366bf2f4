//! Every object of a kind as it is written, for what reacts to objects as controllers do.

use std::fmt::Debug;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use serde::de::DeserializeOwned;

/// What is open at the moment: the changes after a version.
struct Watching<K> {
    api: Api<K>,
    version: String,
    open: Option<BoxStream<'static, kube::Result<WatchEvent<K>>>>,
}

/// Every object there is, then every one that is written, until the watch fails: with an error, and never otherwise.
/// Deletions are left out. It is begun anew by whoever wants to go on.
pub fn written<K>(api: Api<K>) -> impl Stream<Item = anyhow::Result<K>> + Send
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let begun = async move {
        let list = api.list(&ListParams::default()).await?;
        let watching = Watching {
            api,
            version: list.metadata.resource_version.unwrap_or_default(),
            open: None,
        };
        let present = futures::stream::iter(list.items.into_iter().map(Ok));
        anyhow::Ok(present.chain(later(watching)))
    };
    futures::stream::once(Box::pin(begun)).try_flatten()
}

fn later<K>(watching: Watching<K>) -> impl Stream<Item = anyhow::Result<K>> + Send
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let changes = futures::stream::try_unfold(watching, |mut watching| async move {
        let mut open = if let Some(open) = watching.open.take() {
            open
        } else {
            let params = WatchParams::default();
            watching.api.watch(&params, &watching.version).await?.boxed()
        };
        // A watch that has ended is followed by another from the last version seen.
        let Some(change) = open.try_next().await? else {
            return Ok(Some((None, watching)));
        };
        let object = match change {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                watching.version = object.meta().resource_version.clone().unwrap_or_default();
                Some(object)
            }
            WatchEvent::Deleted(object) => {
                watching.version = object.meta().resource_version.clone().unwrap_or_default();
                None
            }
            WatchEvent::Bookmark(mark) => {
                watching.version = mark.metadata.resource_version;
                None
            }
            WatchEvent::Error(status) => return Err(anyhow::Error::from(kube::Error::Api(status))),
        };
        watching.open = Some(open);
        Ok(Some((object, watching)))
    });
    changes.try_filter_map(|object| std::future::ready(Ok(object)))
}
