//! A container: a process with a root file system of its own, as its pod says.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec, VolumeMount};
use kube::Client;
use plimsoll_controlplane::Process;

use super::image::{ENTRY_POINT, Image, USER, below};
use super::mount::Mount;
use super::volumes::{Content, read};
use super::{Host, field};

/// Makes the file systems and becomes the program. Everything is bound once more below the root, which can only be read.
const ENTER: &str = r#"
set -eu
root=$1; user=$2; name=$3; shift 3
printf %s "$name" > /proc/sys/kernel/hostname
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --rbind /proc "$root/proc"
while [ "$1" != -- ]; do
    mount --bind "$2" "$root$3"
    [ "$1" = rw ] || mount -o remount,bind,ro "$root$3"
    shift 3
done
shift
# Whoever is root only here cannot become anybody else.
[ "$user" != - ] || exec chroot "$root" "$@"
exec chroot --userspec="$user" --groups= "$root" "$@"
"#;

/// A container's folders, and its process.
#[derive(Debug)]
pub(super) struct Running {
    /// The process, which may have ended.
    pub(super) process: Process,
    /// Volumes with files, by name.
    mounts: BTreeMap<String, Mount>,
    token: Option<String>,
}

/// Whether this machine lets a container be made, and why not. It takes root, or a kernel that lets everybody have name
/// spaces of their own.
pub fn possible() -> Result<(), String> {
    let mut tried = Command::new("unshare");
    tried.args(enter_flags()).args(["--", "true"]).stdin(Stdio::null());
    match tried.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("unshare: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("unshare: {error}")),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn enter_flags() -> Vec<&'static str> {
    let mut flags = vec!["--mount", "--propagation", "private", "--uts"];
    if !is_root() {
        flags.extend(["--user", "--map-root-user"]);
    }
    flags
}

impl Running {
    /// Starts the pod's only container below `folder`, which is made. What differs from what kubelets would start: the pod's
    /// address is one of this machine's, so that the process is told to listen there alone, by an argument behind those of
    /// the pod. A port that the pod names is the one that is served.
    pub(super) async fn start(
        client: &Client,
        host: &Host,
        image: &Image,
        pod: &Pod,
        address: Ipv4Addr,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let spec = pod.spec.as_ref().context("a pod without a spec")?;
        let [container] = spec.containers.as_slice() else {
            bail!("{} containers", spec.containers.len());
        };
        let root = folder.join("root");
        image.unpack(&root)?;
        let mut token = None;
        let mut mounts = BTreeMap::new();
        let mut arguments: Vec<String> = enter_flags().into_iter().map(str::to_owned).collect();
        let user = user(spec, container);
        arguments.extend(["--", "sh", "-c", ENTER, "sh"].map(str::to_owned));
        let name = pod.metadata.name.as_deref().unwrap_or("pod");
        arguments.extend([root.display().to_string(), user, name.to_owned()]);
        for mount in container.volume_mounts.iter().flatten() {
            let (from, mode) = self::volume(client, host, pod, mount, folder, &mut mounts, &mut token).await?;
            let point = below(&root, Path::new(&mount.mount_path));
            if from.is_dir() {
                fs::create_dir_all(&point)?;
            } else {
                fs::create_dir_all(point.parent().context("a volume without a place")?)?;
                fs::write(&point, "")?;
            }
            arguments.extend([mode.to_owned(), from.display().to_string(), mount.mount_path.clone()]);
        }
        arguments.push("--".to_owned());
        let mut own = match container.command.as_deref() {
            None | Some([]) => vec![ENTRY_POINT.to_owned()],
            Some(command) => command.to_vec(),
        };
        own.extend(container.args.iter().flatten().cloned());
        let serves = own.iter().any(|argument| argument.starts_with("--secure-port"));
        arguments.extend(own);
        if serves {
            arguments.push(format!("--bind-address={address}"));
        }
        let environment = environment(host, pod, container, address)?;
        let mut all = vec!["-i".to_owned()];
        all.extend(environment.iter().map(|(name, value)| format!("{name}={value}")));
        all.push("unshare".to_owned());
        all.extend(arguments);
        let process = Process::spawn(name, Path::new("env"), &all, &[], &folder.join("log"))?;
        Ok(Self { process, mounts, token })
    }

    /// Brings volumes up to date, as a kubelet does within a minute or so.
    pub(super) async fn refresh(&mut self, client: &Client, pod: &Pod) -> anyhow::Result<()> {
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        for volume in volumes {
            if let Some(mount) = self.mounts.get_mut(&volume.name)
                && let Content::Files(files) = read(client, pod, volume, &mut self.token).await?
            {
                mount.update(&files)?;
            }
        }
        Ok(())
    }
}

/// As whom, for `chroot`.
fn user(spec: &PodSpec, container: &Container) -> String {
    let own = container.security_context.as_ref();
    let pod = spec.security_context.as_ref();
    let user = own.and_then(|own| own.run_as_user).or_else(|| pod?.run_as_user);
    let group = own.and_then(|own| own.run_as_group).or_else(|| pod?.run_as_group);
    let (user, group) = user.map_or(USER, |user| (user, group.unwrap_or_default()));
    if is_root() {
        format!("{user}:{group}")
    } else {
        "-".to_owned()
    }
}

/// What the container sees at a mount, and whether it may write there.
async fn volume(
    client: &Client,
    host: &Host,
    pod: &Pod,
    mount: &VolumeMount,
    folder: &Path,
    mounts: &mut BTreeMap<String, Mount>,
    token: &mut Option<String>,
) -> anyhow::Result<(PathBuf, &'static str)> {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref());
    let volume = volumes
        .into_iter()
        .flatten()
        .find(|volume| volume.name == mount.name)
        .with_context(|| format!("no volume {}", mount.name))?;
    let own = folder.join("volumes").join(&volume.name);
    let mode = if mount.read_only == Some(true) { "ro" } else { "rw" };
    match read(client, pod, volume, token).await? {
        Content::Files(files) => {
            mounts.insert(volume.name.clone(), Mount::new(&own, &files)?);
            Ok((own, "ro"))
        }
        Content::Empty => {
            use std::os::unix::fs::PermissionsExt;
            fs::create_dir_all(&own)?;
            // Kubelets let everybody write there, too.
            fs::set_permissions(&own, fs::Permissions::from_mode(0o777))?;
            Ok((own, mode))
        }
        Content::Host(path) => Ok((host.file(&path)?, mode)),
    }
}

fn environment(
    host: &Host,
    pod: &Pod,
    container: &Container,
    address: Ipv4Addr,
) -> anyhow::Result<BTreeMap<String, String>> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned();
    let mut all = BTreeMap::from([
        ("PATH".to_owned(), path),
        ("KUBERNETES_SERVICE_HOST".to_owned(), "127.0.0.1".to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), host.api_server_port.to_string()),
    ]);
    let value = |variable: &EnvVar| match &variable.value_from {
        None => Ok(variable.value.clone().unwrap_or_default()),
        Some(source) => match &source.field_ref {
            Some(wanted) if wanted.field_path == "status.podIP" => Ok(address.to_string()),
            Some(wanted) => field(pod, &wanted.field_path),
            None => bail!("no kubelet here knows where {} comes from", variable.name),
        },
    };
    for variable in container.env.iter().flatten() {
        all.insert(variable.name.clone(), value(variable)?);
    }
    Ok(all)
}
