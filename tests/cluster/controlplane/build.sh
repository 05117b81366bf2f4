#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kube-controller-manager and kube-scheduler from Go modules into a cache folder outside
# the tree, once per version, and prints that folder. KUBEBUILDER_ASSETS, when set, is used for etcd and kube-apiserver.
set -euo pipefail
cd "$(dirname "$0")"
. ./flags.sh
key="$version-$(cat go.mod go.sum flags.sh build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_CONTROLPLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/controlplane}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
build() { # name, package
    [ -x "$cache/$1" ] && return
    echo "building $1 $version (minutes when cold, once per machine)" >&2
    go build "${flags[@]}" -o "$cache/.$1.partial" "$2" >&2
    mv "$cache/.$1.partial" "$cache/$1"
}
for name in etcd kube-apiserver; do
    if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$name" ]; then
        ln -sf "$KUBEBUILDER_ASSETS/$name" "$cache/$name"
    fi
done
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
echo "$cache"
