#!/usr/bin/env bash
# Builds the tests for 64-bit Arm and runs them under qemu: scripts/test_aarch64.sh [FOLDER...]
#
# By default core, format, image, data, graph, device, compile, infer and train; of the last two, only tests that are
# not too slow under emulation. Prints what is left out and why. Needs scripts/setup.sh --cross aarch64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/say.sh

folders=("$@")
((${#folders[@]})) || folders=(core format image data graph device compile infer train)
declare -A left_out=() only=()
leave_out() {  # leave_out FOLDER REASON TEST...
  local folder=$1 reason=$2
  shift 2
  left_out[$folder]+="${left_out[$folder]:+:}$(IFS=: && echo "$*")"
  [[ " ${folders[*]} " == *" $folder "* ]] && say "$folder" "left out: $* ($reason)"
  return 0
}

if [[ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]]; then
  why="they start a program of the build, which this system cannot do: no binfmt_misc for aarch64"
  leave_out data "$why" 'ExamplePrograms.*' Runtime.WorkersThatCannotBeStarted*
  leave_out compile "$why" 'ComputeTeam.AStepEndsWhere*'
  leave_out infer "$why" CInfer.TheExampleNamesWhatItSees
  leave_out device "$why" 'IsaDeathTest.*'
fi
leave_out core "qemu does not limit the addresses of the program that it runs" \
  LaneThreads.WhereTheSystemHasNoMoreThreadsThatIsAnError Memory.IsNoMoreThanTheProcessMayTake
leave_out data "qemu keeps memory of its own for every thread that was" Faults.AThousandStartsAndStops*
leave_out image "thousands of damaged files or millions of colours, an hour under qemu" 'FuzzCorpora.*' 'Colour.HueOfAll*'
leave_out image "libjpeg's vector code rounds the coefficients of damaged files in each architecture's own way" \
  'JpegAhead.DamagedLargeFiles*' 'JpegFast.DamagedFiles*'
leave_out device "kernels of tile registers alone, by plain loops" 'TileHalves.*' '*FirstLayersByBlocks*'
leave_out device "layers in the size of real models, or hundreds of them in f64" '*ModelLayers*' 'HugeShapes.*' 'LargeTeams.*' \
  'FamilyErrors.*' 'TilePooledGradient.EveryWay*'
[[ " ${folders[*]} " == *" device "* ]] && say device "8 random shapes of each family of kernels (RIDGELINE_KERNEL_SHAPES=8)"
only[train]='Trainer.*:Loop.*:Checkpoint.*:Metrics.*:TrainSteps.*:MixedBatches.*:RowMask.*:GradientOptions.*:PrecisionModes.*'
[[ " ${folders[*]} " == *" train "* ]] && say train "only ${only[train]} (what an emulated machine gets through)"

qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
  die "no qemu-aarch64: run scripts/setup.sh --cross aarch64"
jobs=$(nproc)
failed=()
without_bf16='Isa.*:Bf16Dots.*:CpuDevice.*:KernelTable.*:NarrowKernels.*:*.RandomShapes*:Convolution.*:Dense.*'
export QEMU_LD_PREFIX=$PWD/.deps/aarch64/sysroot OMP_WAIT_POLICY=passive RIDGELINE_KERNEL_SHAPES=8

# Tests of a folder, some on each core: run_tests FOLDER FILTER WHERE [PROCESSOR]
run_tests() {
  local folder=$1 filter=$2 where=$3 processor=${4:-} begin=$SECONDS good=1 pids=() logs pid shard count skipped
  logs=build-aarch64/tests/logs/$folder${processor:+-$processor}
  rm -rf "$logs" && mkdir -p "$logs"
  for ((shard = 0; shard < jobs; ++shard)); do
    GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$shard "$qemu" ${processor:+-cpu "$processor"} \
      "build-aarch64/tests/test_$folder" --gtest_brief=1 --gtest_filter="$filter" >"$logs/$shard" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || good=0; done
  count=$(cat "$logs"/* | sed -nE 's/^\[==========\] ([0-9]+) tests? .* ran.*/\1/p' | awk '{n += $1} END {print n + 0}')
  skipped=$(cat "$logs"/* | sed -nE 's/^\[  SKIPPED \] ([0-9]+) tests?.*/\1/p' | awk '{n += $1} END {print n + 0}')
  if ((good)); then
    say "$folder" "$count tests $where, $skipped of them skipped, $(duration $((SECONDS - begin)))"
  else
    failed+=("$folder")
    grep -hE '^\[  FAILED  \]' "$logs"/* | sort -u >&2 || true
    say "$folder" "FAILED $where: logs in $logs"
  fi
}

for folder in "${folders[@]}"; do
  [[ -d tests/$folder ]] || die "scripts/test_aarch64.sh: no folder tests/$folder"
  scripts/build.sh aarch64 "test_$folder" || die "test_$folder does not build for aarch64"
  run_tests "$folder" "${only[$folder]:-*}-${left_out[$folder]:-}" "under qemu"
  if [[ $folder == image ]]; then
    # Vectors of qemu's own processor are longer than those that files with long_vectors.h are made for.
    run_tests image 'Normalize.*:GaussianBlur.*:ResampleConventions.*:Dali.*' "with SVE of 256 bits" max,sve-max-vq=2
  fi
  if [[ $folder == device ]]; then
    # qemu's own processor has every instruction, so these ran under neon_bf16 and neon. One without those for bf16 ends
    # where it meets one: what is made for all processors must have none.
    run_tests device "$without_bf16-${left_out[device]}" "on a processor without bf16" cortex-a76
  fi
done
((${#failed[@]} == 0)) || die "failed under qemu: ${failed[*]}"
