#!/usr/bin/env bash
# Builds Prometheus and promtool from their Go module into a cache folder outside the tree, once per version, and prints that
# folder. Service discovery of clouds is left out: it is most of what there would be to build.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^.*github.com\/prometheus\/prometheus \(v[0-9.]*\).*/\1/p' go.mod | head -n 1)
key="$version-$(cat go.mod go.sum build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_PROMETHEUS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/prometheus}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
for name in prometheus promtool; do
    [ -x "$cache/$name" ] && continue
    echo "building $name $version (minutes when cold, once per machine)" >&2
    CGO_ENABLED=0 go build -trimpath -tags remove_all_sd -ldflags '-s -w' -o "$cache/.$name.partial" \
        "github.com/prometheus/prometheus/cmd/$name" >&2
    mv "$cache/.$name.partial" "$cache/$name"
done
echo "$cache"
