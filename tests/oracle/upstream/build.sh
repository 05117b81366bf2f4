#!/usr/bin/env bash
# Builds the program that asks kube-scheduler's own plugins, into a cache folder outside the tree, once per version of its
# sources, and prints its path.
set -euo pipefail
cd "$(dirname "$0")"
. ../../cluster/controlplane/flags.sh
key="$version-$(cat go.mod go.sum ./*.go ../../cluster/controlplane/flags.sh build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_ORACLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/oracle}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/upstream" ]; then
    echo "building the oracle from kube-scheduler $version (minutes when cold, once per machine)" >&2
    go build "${flags[@]}" -o "$cache/.upstream.partial" . >&2
    mv "$cache/.upstream.partial" "$cache/upstream"
fi
echo "$cache/upstream"
