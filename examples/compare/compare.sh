#!/usr/bin/env bash
# Compares what kube-scheduler and Plimsoll decide, on copies of a cluster: see docs/migrating.md. The cluster of the current
# kubeconfig is read, and nothing is written to it; both schedulers work on API servers in memory on this machine.
set -euo pipefail

usage() {
    echo "usage: $0 --namespace NAMESPACE [--config FILE]" >&2
    echo "  --namespace  whose pods are taken off their nodes in the copies and placed anew by both" >&2
    echo "  --config     the configuration of both schedulers; kube-scheduler's defaults unless given" >&2
    exit 2
}

namespace='' config=''
while [ $# -gt 0 ]; do
    case $1 in
        --namespace) namespace=${2-} && shift 2 || usage ;;
        --config) config=${2-} && shift 2 || usage ;;
        *) usage ;;
    esac
done
[ -n "$namespace" ] || usage
for program in plimsoll kube-scheduler kubectl curl; do
    command -v "$program" >/dev/null || { echo "$program is not on the PATH" >&2; exit 2; }
done

work=$(mktemp -d)
started=()
finish() {
    [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT

# As YAML, so that lines can be left out: what the API server sets itself, and where the pods to be placed are.
own='^    \(uid\|resourceVersion\|creationTimestamp\|generation\|deletionTimestamp\|deletionGracePeriodSeconds\): '
read_kind() { # kind, more arguments of kubectl
    kubectl get "$@" --output yaml | sed "/$own/d"
}
kinds='nodes namespaces priorityclasses storageclasses csidrivers csinodes persistentvolumes persistentvolumeclaims services'
kinds+=' replicationcontrollers replicasets statefulsets poddisruptionbudgets'
for kind in $kinds; do
    read_kind "$kind" --all-namespaces >"$work/$kind.yaml"
done
alive='status.phase!=Succeeded,status.phase!=Failed'
bound="$alive,spec.nodeName!="
read_kind pods --all-namespaces --field-selector "$bound,metadata.namespace!=$namespace" >"$work/staying.yaml"
read_kind pods --namespace "$namespace" --field-selector "$alive" | sed '/^    nodeName: /d' >"$work/placing.yaml"

wait_for() { # file that a server writes when it serves
    for _ in $(seq 100); do
        [ -s "$1" ] && return
        sleep 0.1
    done
    echo "$1 did not come" >&2
    exit 2
}

pending() { # kubeconfig: how many pods no scheduler has said anything about yet
    kubectl --kubeconfig "$1" get pods --namespace "$namespace" --output \
        jsonpath='{range .items[*]}{.spec.nodeName}|{.status.conditions[?(@.type=="PodScheduled")].status}{"\n"}{end}' |
        grep -c '^|$' || true
}

decide() { # name, program of the scheduler
    local name=$1 kubeconfig="$work/$1.kubeconfig"
    plimsoll apiserver --port 0 --kubeconfig-out "$kubeconfig" >"$work/$name-api.log" 2>&1 &
    started+=($!)
    wait_for "$kubeconfig"
    for kind in $kinds; do
        # What every cluster has is there already.
        kubectl --kubeconfig "$kubeconfig" apply --server-side --force-conflicts --filename "$work/$kind.yaml" \
            >>"$work/$name-copy.log" 2>&1 || [ "$(grep -c '^- apiVersion' "$work/$kind.yaml")" -eq 0 ] ||
            { tail -5 "$work/$name-copy.log" >&2; exit 2; }
    done
    for pods in staying placing; do
        [ "$(grep -c '^- apiVersion' "$work/$pods.yaml")" -eq 0 ] ||
            kubectl --kubeconfig "$kubeconfig" create --filename "$work/$pods.yaml" >>"$work/$name-copy.log"
    done
    local file="$work/$name-config.yaml"
    if [ -n "$config" ]; then
        plimsoll config convert "$config" --to kube >"$file"
    else
        plimsoll config default --to kube >"$file"
    fi
    # Whatever the file says of election and the way to the API server, here it is this. The one in memory takes JSON.
    sed -i -e "s|^  kubeconfig: .*|  kubeconfig: $kubeconfig|" -e 's|^  leaderElect: .*|  leaderElect: false|' \
        -e 's|^  contentType: .*|  contentType: application/json|' "$file"
    "$2" --config "$file" --secure-port 0 >"$work/$name.log" 2>&1 &
    started+=($!)
    for _ in $(seq 600); do
        [ "$(pending "$kubeconfig")" -eq 0 ] && break
        kill -0 "${started[-1]}" 2>/dev/null || { tail -3 "$work/$name.log" >&2; exit 2; }
        sleep 0.1
    done
    kubectl --kubeconfig "$kubeconfig" get pods --namespace "$namespace" --output \
        jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.spec.nodeName}{"\t"}{.status.conditions[?(@.type=="PodScheduled")].message}{"\n"}{end}' |
        sort >"$work/$name.decided"
    # Two schedulers at a time would only slow each other down.
    kill "${started[@]}"
    wait "${started[@]}" || true
    started=()
}

decide kube-scheduler kube-scheduler
decide plimsoll plimsoll
join -t $'\t' "$work/kube-scheduler.decided" "$work/plimsoll.decided" | awk -F '\t' '
    $2 == $4 && ($2 != "" || $3 == $5) { alike++; next }
    $2 != "" && $4 != "" { other++; printf "other node  %s: kube-scheduler %s, plimsoll %s\n", $1, $2, $4; next }
    { different++; printf "DIFFERENT   %s: kube-scheduler %s, plimsoll %s\n", $1, $2 $3, $4 $5 }
    END {
        printf "%d pods: %d alike, %d on another node, %d different\n", alike + other + different, alike, other, different
        exit different > 0
    }'
