#!/bin/sh
# Runs test_device under an instruction set: under_isa.sh ISA PROGRAM [gtest arguments]. Exits with 77, which ctest takes
# for skipped, where the program says that the machine does not have it.
export RIDGELINE_ISA=$1
shift
if ! said=$("$@" --gtest_filter=Isa.TheOneInForceIsOneOfTheMachines 2>&1); then
  missing=$(echo "$said" | grep -o -m 1 "RIDGELINE_ISA=.* but this machine has only [a-z0-9_, ]*")
  if [ -n "$missing" ]; then
    echo "skipped: $missing"
    exit 77
  fi
fi
exec "$@"
