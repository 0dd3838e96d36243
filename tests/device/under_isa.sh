#!/bin/sh
# Runs a test program under an instruction set: under_isa.sh ISA PROGRAM [gtest arguments]. Exits with 77, which ctest
# takes for skipped, where the machine does not have it, or has nothing above it, so that its tests have run under it.
export RIDGELINE_ISA=$1
shift
if [ "$RIDGELINE_ISA" = avx2 ] && ! grep -q -m 1 avx512f /proc/cpuinfo; then
  echo "skipped: avx2 is this machine's own, every test runs under it"
  exit 77
fi
# The question is asked whole also where the tests are divided.
if ! said=$(env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX "$@" --gtest_filter=Isa.TheOneInForceIsOneOfTheMachines 2>&1); then
  missing=$(echo "$said" | grep -o -m 1 "RIDGELINE_ISA=.* but this machine has only [a-z0-9_, ]*")
  if [ -n "$missing" ]; then
    echo "skipped: $missing"
    exit 77
  fi
fi
exec "$@"
