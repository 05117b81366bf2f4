#!/usr/bin/env bash
# Takes the definitions of the kinds that the chart uses and no API server has by itself out of the Go modules of those
# who define them, into a cache folder outside the tree, once per version, and prints that folder.
set -euo pipefail
cd "$(dirname "$0")"
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
certificates=github.com/cert-manager/cert-manager@v1.21.2
key=$(sha256sum find.sh | cut -c1-12)
cache="${PLIMSOLL_CRDS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/crds}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
folder() { # module
    # Outside of any module of ours.
    (cd "$cache" && go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
}
if [ ! -f "$cache/.complete" ]; then
    for kind in servicemonitors podmonitors prometheusrules; do
        cp "$(folder $operator)/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" "$cache"
    done
    cp "$(folder $certificates)/deploy/crds/cert-manager.io_certificates.yaml" "$cache"
    chmod -R u+w "$cache"
    touch "$cache/.complete"
fi
echo "$cache"
