//! Making, replacing and deleting what is no measured pod.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval};

use super::Run;
use crate::load::Loader;
use crate::object::Objects;
use crate::observer::Which;
use crate::workload::{ChangeAny, Churn, DeletePods, UpdateAny};

impl Run<'_> {
    pub(super) async fn create_any(&mut self, change: &ChangeAny) -> anyhow::Result<()> {
        if let Some(namespace) = &change.namespace {
            self.loader.namespace(namespace).await?;
            self.unawaited.entry(namespace.clone()).or_default();
        }
        let objects = Objects::any(&change.template, change.count)?;
        for index in 0..change.count {
            let object = objects.object(index)?;
            self.loader.priority_class_of(&object).await?;
            self.loader.create(change.namespace.as_deref(), object).await?;
        }
        Ok(())
    }

    pub(super) async fn update_any(&mut self, update: &UpdateAny) -> anyhow::Result<()> {
        let ChangeAny {
            namespace,
            template,
            count,
        } = &update.change;
        let objects = Objects::any(template, *count)?;
        let part = update.subresources.join("/");
        let mut ticks = ticks(update.per_second);
        for index in 0..*count {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let object = objects.object(index)?;
            self.loader.replace(namespace.as_deref(), &object, &part).await?;
            self.loader.replace(namespace.as_deref(), &object, "status").await?;
        }
        Ok(())
    }

    pub(super) async fn delete_pods(&mut self, delete: &DeletePods) -> anyhow::Result<()> {
        let within = std::slice::from_ref(&delete.namespace);
        let labels = &delete.labels;
        let keys = self.observer.ask(|seen| {
            seen.keys(Which {
                namespaces: within,
                labels,
            })
        })?;
        let (loader, delete) = (self.loader.clone(), delete.clone());
        let wait = delete.wait;
        let deleting = async move {
            let Some(mut ticks) = ticks(delete.per_second) else {
                return loader.delete_pods(&delete.namespace, &delete.labels, false).await;
            };
            for key in keys {
                ticks.tick().await;
                loader.delete_pod(&key).await?;
            }
            Ok(())
        };
        if wait {
            return deleting.await;
        }
        self.beside.spawn(deleting);
        Ok(())
    }

    pub(super) async fn churn(&mut self, number: usize, churn: &Churn) -> anyhow::Result<()> {
        // What goes on from here on may change how many there are.
        self.knows_all_nodes().await?;
        let namespace = churn.namespace.clone().unwrap_or_else(|| format!("namespace-{number}"));
        self.loader.namespace(&namespace).await?;
        let mut objects = Vec::new();
        for template in &churn.templates {
            let object = Objects::any(template, 1)?.object(0)?;
            self.loader.priority_class_of(&object).await?;
            objects.push(object);
        }
        let (loader, churn) = (self.loader.clone(), churn.clone());
        self.beside.spawn(async move {
            let mut names = vec![vec![None; churn.number.max(1)]; objects.len()];
            let mut ticks = interval(churn.interval);
            let mut round: usize = 0;
            while churn.recreate || churn.number == 0 || round < churn.number {
                ticks.tick().await;
                for (object, names) in objects.iter().zip(&mut names) {
                    if churn.recreate {
                        let slot = round % names.len();
                        names[slot] = make_or_delete(&loader, &namespace, object, names[slot].take()).await?;
                    } else {
                        make_or_delete(&loader, &namespace, object, None).await?;
                    }
                }
                round += 1;
            }
            Ok(())
        });
        Ok(())
    }
}

/// Makes the object and returns its name, or deletes the one of that name.
async fn make_or_delete(
    loader: &Loader,
    namespace: &str,
    object: &Value,
    name: Option<String>,
) -> anyhow::Result<Option<String>> {
    let namespace = loader.namespace_of(object, namespace).await?;
    if let Some(name) = name {
        loader.delete(namespace, object, &name).await?;
        return Ok(None);
    }
    loader.create(namespace, object.clone()).await.map(Some)
}

/// None for as fast as can be.
fn ticks(per_second: usize) -> Option<tokio::time::Interval> {
    let every = Duration::from_secs(1).checked_div(u32::try_from(per_second).ok()?)?;
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Some(ticks)
}
