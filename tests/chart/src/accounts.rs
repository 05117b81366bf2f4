use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};
use tokio::time::{Instant, sleep};

/// Waits until controllers have given a namespace the account that each of its pods needs: nobody can create one before.
///
/// # Errors
/// When the API server does not answer, or there is none by the limit.
pub async fn wait_for_account(client: &Client, namespace: &str, limit: Duration) -> anyhow::Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let deadline = Instant::now() + limit;
    while accounts.get_opt("default").await?.is_none() {
        ensure!(Instant::now() < deadline, "no service account in {namespace}");
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
