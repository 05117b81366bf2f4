//! The kubelets of a cluster whose nodes are names only, as the chart's tests play them: pods of Plimsoll are processes,
//! started as their own specifications say, and all others are said to run.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use plimsoll_chart::{Ended, Host, Kubelet, wait_for_account};
use plimsoll_controlplane::{ControlPlane, User};

use crate::workplace::Workplace;

/// What the images of all pages are called, whatever registry they are pulled from.
const IMAGE: &str = "plimsoll";

/// How long controllers may take to make a namespace ready for pods, on a machine that does much else.
const LIMIT: Duration = Duration::from_mins(5);

/// All kubelets together, which play while this lives.
#[derive(Debug)]
pub struct Kubelets {
    kubelet: Kubelet,
}

impl Kubelets {
    /// Kubelets of this control plane that start `plimsoll` of the workplace. Its controllers have to run already: this waits
    /// until pods can be created in these namespaces.
    ///
    /// # Errors
    /// When the API server does not answer, or the controllers do nothing.
    pub async fn new(control_plane: &ControlPlane, place: &Workplace, namespaces: &[&str]) -> anyhow::Result<Self> {
        let client = control_plane.client(&User::admin()).await?;
        for namespace in namespaces {
            wait_for_account(&client, namespace, LIMIT).await?;
        }
        let host = Host {
            folder: place.path("pods"),
            api_server_port: control_plane.server().port(),
            files: BTreeMap::new(),
        };
        let kubelet = Kubelet::start(client, host, IMAGE, &place.path("bin/plimsoll"))?;
        Ok(Self { kubelet })
    }

    /// Looks whether all is as it should be.
    ///
    /// # Errors
    /// When a process failed, or ended in another way than well when it was asked to.
    pub fn look(&self) -> anyhow::Result<()> {
        for Ended { pod, code, asked, log } in self.kubelet.ended() {
            ensure!(code == Some(0), "{pod} ended with {code:?}, asked to: {asked}\n{log}");
        }
        Ok(())
    }
}
