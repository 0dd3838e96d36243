#include "ridgeline/compile/plan_memory.h"

#include <algorithm>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void find_lifetimes(Plan& plan) {
  for (Buffer& b : plan.buffers) {
    b.first = -1;
    b.last = -1;
  }
  const auto touch = [&](int index, int launch) {
    Buffer& b = plan.buffers[static_cast<std::size_t>(index)];
    if (b.first < 0) b.first = launch;
    b.last = launch;
  };
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    for (int b : launch.inputs) touch(b, static_cast<int>(i));
    for (int b : launch.outputs) touch(b, static_cast<int>(i));
    if (launch.scratch >= 0) touch(launch.scratch, static_cast<int>(i));
  }
  for (int b : plan.buffer_of_return) touch(b, static_cast<int>(plan.launches.size()));
}

// Writes results over operands that are not needed afterwards.
void reuse_operands(Plan& plan) {
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    Launch& launch = plan.launches[i];
    if (launch.kind != LaunchKind::kernel) continue;
    const std::vector<int>& in_place = launch.kernel->in_place;
    for (std::size_t result = 0; result < in_place.size(); ++result) {
      if (in_place[result] < 0) continue;
      const int from = launch.outputs[result];
      const int to = launch.inputs[static_cast<std::size_t>(in_place[result])];
      Buffer& made = plan.buffers[static_cast<std::size_t>(from)];
      Buffer& used = plan.buffers[static_cast<std::size_t>(to)];
      // A part of another buffer has its place already.
      if (from == to || made.within >= 0 || made.home != BufferHome::arena || used.home != BufferHome::arena ||
          made.device != used.device || made.bytes != used.bytes || used.last != static_cast<int>(i) ||
          std::count(launch.inputs.begin(), launch.inputs.end(), to) != 1 ||
          std::count(launch.outputs.begin(), launch.outputs.end(), to) != 0) {
        continue;
      }
      used.last = made.last;
      made.first = made.last = -1;
      for (Launch& other : plan.launches) {
        std::replace(other.inputs.begin(), other.inputs.end(), from, to);
        std::replace(other.outputs.begin(), other.outputs.end(), from, to);
      }
      std::replace(plan.buffer_of_value.begin(), plan.buffer_of_value.end(), from, to);
      std::replace(plan.buffer_of_return.begin(), plan.buffer_of_return.end(), from, to);
    }
  }
}

// How far one lane may get ahead of another, in launches, before it waits for memory that the other still reads.
constexpr int kAhead = 16;

void keep_in_sections(Plan& plan) {
  for (const Section& section : plan.sections) {
    for (Buffer& b : plan.buffers) {
      if (b.last >= section.first && b.last < section.last) b.last = std::min(section.last - 1, b.last + kAhead);
    }
  }
}

// A buffer that others are parts of is needed from the first of them to the last.
void keep_for_parts(Plan& plan) {
  for (const Buffer& part : plan.buffers) {
    if (part.within < 0 || part.first < 0) continue;
    Buffer& whole = plan.buffers[static_cast<std::size_t>(part.within)];
    whole.first = whole.first < 0 ? part.first : std::min(whole.first, part.first);
    whole.last = std::max(whole.last, part.last);
  }
}

// Best fit for one device: the smallest gap between neighbours in time and space that is large enough.
std::size_t place(std::vector<Buffer*>& buffers, bool reuse) {
  std::sort(buffers.begin(), buffers.end(), [](const Buffer* a, const Buffer* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
  });
  std::vector<const Buffer*> placed;
  std::size_t total = 0;
  for (Buffer* b : buffers) {
    std::vector<const Buffer*> rivals;
    for (const Buffer* p : placed) {
      if (!reuse || (p->first <= b->last && b->first <= p->last)) rivals.push_back(p);
    }
    std::sort(rivals.begin(), rivals.end(), [](const Buffer* x, const Buffer* y) { return x->offset < y->offset; });
    std::size_t end = 0;
    std::size_t best = 0;
    std::size_t best_gap = SIZE_MAX;
    for (const Buffer* r : rivals) {
      if (r->offset > end && r->offset - end >= aligned(b->bytes) && r->offset - end < best_gap) {
        best = end;
        best_gap = r->offset - end;
      }
      end = std::max(end, r->offset + aligned(r->bytes));
    }
    b->offset = best_gap == SIZE_MAX ? end : best;
    total = std::max(total, b->offset + aligned(b->bytes));
    placed.push_back(b);
  }
  return total;
}

// The sum over all devices.
std::size_t place_all(Plan& plan, bool reuse) {
  plan.arena_bytes.clear();
  keep_for_parts(plan);
  for (Device* device : plan.devices) {
    std::vector<Buffer*> mine;
    for (Buffer& b : plan.buffers) {
      if (b.home == BufferHome::arena && b.device == device && b.first >= 0 && b.within < 0) mine.push_back(&b);
    }
    plan.arena_bytes.push_back(place(mine, reuse));
  }
  for (Buffer& part : plan.buffers) {
    if (part.within >= 0) part.offset = plan.buffers[static_cast<std::size_t>(part.within)].offset + part.within_offset;
  }
  return std::accumulate(plan.arena_bytes.begin(), plan.arena_bytes.end(), std::size_t{0});
}

// Below that a copy costs less than memory of its own, which is whole pages on every rank.
constexpr std::size_t kLeastShared = std::size_t{1} << 20;

// Large values that ranks exchange lie where all of them see them, and are exchanged without a copy there: the block of
// a packed exchange, or the operand of one that reads it in place. Bytes that they take. Nothing else is placed there
// but other such operands, behind the end of the exchange. All ranks ask for that memory together: not for what two
// stages of a pipeline have between them.
std::size_t share_exchanges(Plan& plan) {
  std::size_t bytes = 0;
  std::vector<int> blocks;
  for (Launch& launch : plan.launches) {
    if (launch.kind != LaunchKind::start || launch.ranks->size() == 1) continue;
    const Node& node = plan.graph.nodes[static_cast<std::size_t>(launch.node)];
    if (collective_rule(node).between_two || (!launch.kernel && !collective_rule(node).read_in_place)) continue;
    const int index = launch.kernel ? launch.outputs[0] : launch.inputs[0];
    Buffer& block = plan.buffers[static_cast<std::size_t>(index)];
    if (block.home != BufferHome::arena || block.within >= 0 || !block.device->host_memory() ||
        block.bytes < kLeastShared)
      continue;
    const auto over = std::find_if(blocks.begin(), blocks.end(), [&](int other) {
      const Buffer& b = plan.buffers[static_cast<std::size_t>(other)];
      return !launch.kernel && b.bytes >= block.bytes && b.last < block.first;
    });
    block.home = BufferHome::kept;
    if (over != blocks.end()) {
      block.within = *over;
      plan.buffers[static_cast<std::size_t>(*over)].last = block.last;
      continue;
    }
    launch.shared = index;
    blocks.push_back(index);
    bytes += block.bytes;
  }
  return bytes;
}

}  // namespace

MemoryReport plan_memory(Plan& plan, bool reuse) {
  find_lifetimes(plan);
  keep_for_parts(plan);
  MemoryReport report;
  const std::size_t shared = share_exchanges(plan);
  report.activations += shared;
  for (const Buffer& b : plan.buffers) {
    if (b.home == BufferHome::input) report.inputs += b.bytes;
    if (b.home == BufferHome::derived || (b.home == BufferHome::kept && b.within < 0)) report.derived += b.bytes;
    if (b.home == BufferHome::arena && b.first >= 0 && b.within < 0) {
      if (b.scratch)
        report.scratch = std::max(report.scratch, b.bytes);
      else
        report.activations += b.bytes;
    }
  }
  report.derived -= shared;  // counted as activations
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
  if (reuse) reuse_operands(plan);
  report.activations_peak = shared + place_all(plan, reuse);
  if (reuse && !plan.sections.empty()) {
    const std::size_t in_order = report.activations_peak;
    keep_in_sections(plan);
    report.activations_peak = shared + place_all(plan, reuse);
    report.side_by_side = report.activations_peak - std::min(in_order, report.activations_peak);
  }
  return report;
}

}  // namespace ridgeline
