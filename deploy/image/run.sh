#!/usr/bin/env bash
# Runs the program of an image that assemble.sh made as a container would: with the image's files for its root, which it cannot
# write, as the image's user, and without a way to more rights. Network and processes are this machine's.
set -euo pipefail
volumes=()
while [ "${1-}" = --volume ]; do
    volumes+=("${2:?}")
    shift 2
done
if [ $# -lt 1 ]; then
    echo "usage: $0 [--volume FOLDER:PATH]… IMAGE_FOLDER [ARGUMENT…]" >&2
    exit 2
fi
image=$(realpath "$1")
shift
config=$(sed 's/.*"config":{[^}]*"digest":"sha256:\([0-9a-f]*\)".*/\1/' \
    "$image/oci/blobs/sha256/$(sed 's/.*"digest":"sha256:\([0-9a-f]*\)".*/\1/' "$image/oci/index.json")")
config="$image/oci/blobs/sha256/$config"
user=$(sed 's/.*"User":"\([^"]*\)".*/\1/' "$config")
entry=$(sed 's/.*"Entrypoint":\["\([^"]*\)"\].*/\1/' "$config")
export image entry
mounts=$(IFS=$'\n'; echo "${volumes[*]-}")
export mounts

# Root of a namespace of one's own can mount and change the root as well, but has no second user to become there.
own=()
become=(--userspec="$user")
if [ "$(id -u)" -ne 0 ]; then
    own=(--user --map-root-user)
    become=()
fi
export count=${#become[@]}
# shellcheck disable=SC2016 # Expanded by the inner shell.
exec unshare "${own[@]}" --mount -- bash -c '
    set -euo pipefail
    mount --bind "$image/rootfs" "$image/rootfs"
    mount --rbind /proc "$image/rootfs/proc"
    mount --rbind /dev "$image/rootfs/dev"
    while IFS=: read -r from to; do
        [ -z "$from" ] || mount --bind "$from" "$image/rootfs$to"
    done <<<"$mounts"
    mount -o remount,bind,ro "$image/rootfs"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt HOME=/home/nonroot \
        "$(command -v setpriv)" --no-new-privs "$(command -v chroot)" "${@:1:count}" "$image/rootfs" "$entry" "${@:count + 1}"
' run "${become[@]}" "$@"
