#!/usr/bin/env bash
# Builds kubectl from its Go module into a cache folder outside the tree, once per version, and prints the program's path.
set -euo pipefail
cd "$(dirname "$0")"
. ../../cluster/controlplane/flags.sh
key="$version-$(cat go.mod go.sum build.sh ../../cluster/controlplane/flags.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_KUBECTL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/kubectl}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/kubectl" ]; then
    echo "building kubectl $version (minutes when cold, once per machine)" >&2
    go build "${flags[@]}" -o "$cache/.kubectl.partial" k8s.io/kubernetes/cmd/kubectl >&2
    mv "$cache/.kubectl.partial" "$cache/kubectl"
fi
echo "$cache/kubectl"
