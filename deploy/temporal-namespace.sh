#!/bin/sh
# Creates the namespace when it does not exist yet. TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE are
# read by the temporal command itself.
set -eu

tries=0
until temporal operator cluster health; do
  tries=$((tries + 1))
  [ "$tries" -lt 30 ] || { echo "Temporal at $TEMPORAL_ADDRESS does not become healthy" >&2; exit 1; }
  sleep 2
done

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
