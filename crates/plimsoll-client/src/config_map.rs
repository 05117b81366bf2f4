use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ApiClient;
use crate::api_client::get;

#[derive(Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: BTreeMap<String, String>,
}

/// The texts of a `ConfigMap` by key, read once.
///
/// # Errors
/// With what the API server said, or why it could not be asked.
pub async fn read_config_map(
    client: &ApiClient,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, String>, String> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
    let reply = client.send(get(&path)).await.map_err(|error| error.to_string())?;
    if !reply.status.is_success() {
        return Err(reply.refusal().message);
    }
    let map: ConfigMap = serde_json::from_slice(&reply.body).map_err(|error| error.to_string())?;
    Ok(map.data)
}
