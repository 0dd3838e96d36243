#include "ridgeline/compile/lower/plan_memory.h"

#include <algorithm>
#include <numeric>

#include "ridgeline/compile/lower/lifetimes.h"
#include "ridgeline/compile/lower/place_arena.h"
#include "ridgeline/compile/lower/places.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline {
namespace {

// Below this a copy costs less than separate memory, which takes full pages on every rank.
constexpr std::size_t kLeastShared = std::size_t{1} << 20;

// The buffer of a start that may be in memory of the communicator: the block of a packed exchange, or the operand of
// one that reads it in place; else -1. All ranks allocate that memory together, so transfers between two stages of a
// pipeline are excluded.
int shared_block(const Plan& plan, const Launch& launch) {
  if (launch.kind != LaunchKind::start || launch.ranks->size() == 1) return -1;
  const CollectiveRule& rule = collective_rule(plan.graph.nodes[static_cast<std::size_t>(launch.node)]);
  if (rule.between_two || (!launch.kernel && !rule.read_in_place)) return -1;
  const int index = launch.kernel ? launch.outputs[0] : launch.inputs[0];
  const Buffer& block = plan.buffers[static_cast<std::size_t>(index)];
  const bool may = block.home == BufferHome::arena && block.within < 0 && block.device->host_memory();
  return may && block.bytes >= kLeastShared ? index : -1;
}

// Puts large exchanged values into memory that all ranks see, where they are exchanged without a copy. Returns its
// bytes. Nothing else is placed there but what is written over their parts, and other such operands behind the end of
// the exchange. Which those are follows from the order of launches alone, before anything is written over an operand:
// all ranks must come to the same.
std::size_t share_exchanges(Plan& plan, Occupants& occupants, bool reuse) {
  std::size_t bytes = 0;
  std::vector<const Launch*> owners;
  for (Launch& launch : plan.launches) {
    const int index = shared_block(plan, launch);
    if (index < 0) continue;
    const std::size_t size = plan.buffers[static_cast<std::size_t>(index)].bytes;
    const auto over = std::find_if(owners.begin(), owners.end(), [&](const Launch* other) {
      return reuse && !launch.kernel && other->ranks == launch.ranks &&
             plan.buffers[static_cast<std::size_t>(other->shared)].bytes >= size &&
             occupants.whole(other->shared).last < occupants.whole(index).first;
    });
    if (over != owners.end()) {
      occupants.move(plan, index, (*over)->shared, 0);
      continue;
    }
    occupants.keep(plan, index);
    launch.shared = index;
    owners.push_back(&launch);
    bytes += size;
  }
  return bytes;
}

// Memory that values of a run share over time. Everything else kept is made once a load.
bool of_a_run(const Buffer& b) { return b.home == BufferHome::arena || (b.home == BufferHome::kept && b.within >= 0); }

// Lets results overwrite operands that are not needed afterwards.
void reuse_operands(Plan& plan, Occupants& occupants) {
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    if (launch.kind != LaunchKind::kernel) continue;
    const std::vector<int>& in_place = launch.kernel->in_place;
    for (std::size_t result = 0; result < in_place.size(); ++result) {
      if (in_place[result] < 0) continue;
      const int made_index = launch.outputs[result];
      const int used_index = launch.inputs[static_cast<std::size_t>(in_place[result])];
      const Buffer& made = plan.buffers[static_cast<std::size_t>(made_index)];
      const Buffer& used = plan.buffers[static_cast<std::size_t>(used_index)];
      // A buffer within another has its place already.
      if (made_index == used_index || made.within >= 0 || made.home != BufferHome::arena || !of_a_run(used) ||
          made.device != used.device || made.bytes != used.bytes ||
          occupants.life(used_index).last != static_cast<int>(i) ||
          occupants.life(made_index).first != static_cast<int>(i) ||
          std::count(launch.inputs.begin(), launch.inputs.end(), used_index) != 1) {
        continue;
      }
      const int whole = whole_of(plan, used_index);
      const std::size_t begin = used.within_offset;
      if (!occupants.free(whole, begin, begin + used.bytes, occupants.life(made_index), used_index)) continue;
      occupants.move(plan, made_index, whole, begin);
    }
  }
}

// How many launches one lane may get ahead of another before it waits for memory that the other still reads.
constexpr int kAhead = 16;

void keep_in_sections(const Plan& plan, std::vector<ArenaBlock>& blocks) {
  for (const Section& section : plan.sections) {
    for (ArenaBlock& b : blocks) {
      if (b.when.last >= section.first && b.when.last < section.last)
        b.when.last = std::min(section.last - 1, b.when.last + kAhead);
    }
  }
}

// Places every arena; the sum over all devices. `in_order`: what that would be if no launch ran beside others.
std::size_t place_arenas(Plan& plan, const Occupants& occupants, bool reuse, std::size_t& in_order) {
  in_order = 0;
  for (Device* device : plan.devices) {
    std::vector<ArenaBlock> blocks;
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& b = plan.buffers[i];
      if (b.home != BufferHome::arena || b.device != device || b.within >= 0) continue;
      const Lifetime when = occupants.whole(static_cast<int>(i));
      if (when.used()) blocks.push_back({.buffer = static_cast<int>(i), .bytes = b.bytes, .when = when});
    }
    if (reuse && !plan.sections.empty()) {
      std::vector<ArenaBlock> alone = blocks;
      in_order += place_arena(alone, reuse);
      keep_in_sections(plan, blocks);
    }
    plan.arena_bytes.push_back(place_arena(blocks, reuse));
    for (const ArenaBlock& b : blocks) plan.buffers[static_cast<std::size_t>(b.buffer)].offset = b.offset;
  }
  return std::accumulate(plan.arena_bytes.begin(), plan.arena_bytes.end(), std::size_t{0});
}

// Bytes by category, while every value still has memory of its own.
MemoryReport count_memory(const Plan& plan, const Occupants& occupants) {
  MemoryReport report;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& b = plan.buffers[i];
    // The caller's memory, or two sets on the device, whichever steps read.
    const bool copied = std::any_of(plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& other) {
      return other.home == BufferHome::input && other.name == b.name && !other.device->host_memory();
    });
    if (b.home == BufferHome::input && copied == !b.device->host_memory()) report.inputs += b.bytes * (copied ? 2 : 1);
    if (b.home == BufferHome::derived || b.home == BufferHome::kept) report.derived += b.bytes;
    if (b.home != BufferHome::arena || b.within >= 0 || !occupants.whole(static_cast<int>(i)).used()) continue;
    if (b.scratch)
      report.scratch = std::max(report.scratch, b.bytes);
    else
      report.activations += b.bytes;
  }
  std::vector<bool> counted(plan.buffers.size(), false);
  for (std::size_t v = 0; v < plan.graph.values.size(); ++v) {
    const int index = plan.buffer_of_value[v];
    if (index < 0 || plan.graph.values[v].kind != ValueKind::grad || counted[static_cast<std::size_t>(index)]) continue;
    counted[static_cast<std::size_t>(index)] = true;
    const Buffer& b = plan.buffers[static_cast<std::size_t>(index)];
    if (b.home == BufferHome::arena || b.home == BufferHome::kept) report.gradients += b.bytes;
  }
  for (ValueId id : plan.graph.arguments) {
    const ValueInfo& info = plan.graph.value(id);
    const Buffer& b = plan.buffers[static_cast<std::size_t>(plan.buffer_of_value[static_cast<std::size_t>(id)])];
    if (info.kind == ValueKind::param) report.parameters += b.bytes;
    if (info.kind == ValueKind::state) report.states += b.bytes;
  }
  return report;
}

}  // namespace

MemoryReport plan_memory(Plan& plan, bool reuse) {
  Occupants occupants(plan);
  MemoryReport report = count_memory(plan, occupants);
  const std::size_t shared = share_exchanges(plan, occupants, reuse);
  if (reuse) reuse_operands(plan, occupants);
  std::size_t in_order = 0;
  const std::size_t placed = place_arenas(plan, occupants, reuse, in_order);
  report.activations_peak = shared + placed;
  if (reuse && !plan.sections.empty()) report.side_by_side = placed - std::min(in_order, placed);
  return report;
}

}  // namespace ridgeline
