#include <algorithm>

#include "ridgeline/compile/lower/place_arena.h"
#include "ridgeline/compile/lower/plan_checks.h"
#include "ridgeline/compile/lower/plan_text.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/derived_casts.h"

namespace ridgeline {
namespace {

class ShapeCheck {
 public:
  ShapeCheck(const Plan& plan, PlanStage stage) : plan_(plan), stage_(stage), used_(plan.buffers.size(), false) {}

  void check() {
    names();
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (used_[b]) buffer(static_cast<int>(b));
    }
    launched_.assign(plan_.graph.nodes.size(), 0);
    computed_.assign(plan_.graph.nodes.size(), false);
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) launch(static_cast<int>(i));
    ops();
    exchanges();
    sections();
  }

 private:
  const Buffer& at(int b) const { return plan_.buffers[static_cast<std::size_t>(b)]; }
  const Launch& launch_at(int i) const { return plan_.launches[static_cast<std::size_t>(i)]; }
  const Node& node_of(const Launch& launch) const { return plan_.graph.nodes[static_cast<std::size_t>(launch.node)]; }
  bool is_buffer(int b) const { return b >= 0 && static_cast<std::size_t>(b) < plan_.buffers.size(); }

  [[noreturn]] void fault(const std::string& what) const { plan_fault(plan_, what); }
  void need(bool holds, int launch, const char* what) const {
    if (!holds) fault(launch_text(plan_, launch) + " " + what);
  }

  // Checks every index before anything is looked up by one.
  void names() {
    const auto use = [&](int b, const char* who, std::size_t i) {
      if (!is_buffer(b))
        fault(std::string(who) + " " + std::to_string(i) + " names b" + std::to_string(b) + ", which does not exist");
      used_[static_cast<std::size_t>(b)] = true;
    };
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      const Launch& launch = plan_.launches[i];
      for (const auto* all : {&launch.inputs, &launch.outputs, &launch.writes_forms}) {
        for (int b : *all) use(b, "launch", i);
      }
      for (int b : {launch.scratch, launch.derives, launch.shared}) {
        if (b != -1) use(b, "launch", i);
      }
      if (launch.node < -1 || launch.node >= static_cast<int>(plan_.graph.nodes.size()))
        fault("launch " + std::to_string(i) + " serves no op of the graph");
    }
    if (plan_.buffer_of_value.size() != plan_.graph.values.size() ||
        plan_.buffer_of_return.size() != plan_.graph.returns.size())
      fault("values or returned values of the graph have no buffers");
    for (std::size_t v = 0; v < plan_.buffer_of_value.size(); ++v) {
      if (plan_.buffer_of_value[v] != -1) use(plan_.buffer_of_value[v], "value", v);
    }
    for (std::size_t r = 0; r < plan_.buffer_of_return.size(); ++r) use(plan_.buffer_of_return[r], "return", r);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (used_[b] && plan_.buffers[b].within != -1) use(plan_.buffers[b].within, "buffer", b);
    }
    for (const Section& section : plan_.sections) {
      for (const std::vector<int>& lane : section.lanes) {
        for (int i : lane) {
          if (i < section.first || i >= section.last)
            fault("a lane of section " + std::to_string(section.first) + " runs launch " + std::to_string(i));
        }
      }
    }
  }

  void buffer(int b) const {
    const auto need = [&](bool holds, const char* what) {
      if (!holds) fault(buffer_text(plan_, b) + " " + what);
    };
    const Buffer& buffer = at(b);
    const auto device = std::find(plan_.devices.begin(), plan_.devices.end(), buffer.device);
    if (device == plan_.devices.end()) fault("b" + std::to_string(b) + " is on no device of the plan");
    const bool named =
        buffer.home == BufferHome::store || buffer.home == BufferHome::derived || buffer.home == BufferHome::input;
    need(!named || !buffer.name.empty(), "has no name");
    if (buffer.within >= 0) {
      const Buffer& whole = at(buffer.within);
      need(whole.within < 0, "is a part of a part");
      need(whole.device == buffer.device && whole.home == buffer.home, "lies in memory of another kind");
      need(buffer.within_offset + buffer.bytes <= whole.bytes, "does not lie inside of what it is a part of");
      need(buffer.within_offset % kMemoryAlignment == 0, "begins between two multiples of the alignment");
    } else if (buffer.home == BufferHome::arena && stage_ != PlanStage::launches) {
      const auto d = static_cast<std::size_t>(device - plan_.devices.begin());
      if (plan_.arena_bytes.size() != plan_.devices.size()) fault("a device has no arena");
      need(buffer.offset + buffer.bytes <= plan_.arena_bytes[d], "does not lie inside of its arena");
      need(buffer.offset % kMemoryAlignment == 0, "begins between two multiples of the alignment");
    }
  }

  void launch(int i) {
    const Launch& launch = launch_at(i);
    if (std::find(plan_.devices.begin(), plan_.devices.end(), launch.device) == plan_.devices.end())
      fault("launch " + std::to_string(i) + " is on no device of the plan");
    if (launch.node >= 0 && !launch.converts && launch.kind != LaunchKind::copy) {
      ++launched_[static_cast<std::size_t>(launch.node)];
      if (launch.kind == LaunchKind::kernel) computed_[static_cast<std::size_t>(launch.node)] = true;
    }
    for (int b : launch.outputs) need(at(b).home != BufferHome::input, i, "writes an input");
    need(launch.derives < 0 || at(launch.derives).home == BufferHome::derived, i, "makes a form that is none");
    switch (launch.kind) {
      case LaunchKind::copy: copy(i); break;
      case LaunchKind::kernel: kernel(i); break;
      case LaunchKind::start:
      case LaunchKind::done: need(!launch.constant && launch.derives < 0, i, "exchanges in some runs only"); break;
    }
  }

  void copy(int i) const {
    const Launch& launch = launch_at(i);
    need(launch.inputs.size() == 1 && launch.outputs.size() == 1 && launch.scratch < 0, i, "is not from one to one");
    const Buffer &from = at(launch.inputs[0]), &to = at(launch.outputs[0]);
    need(from.bytes == to.bytes && from.layout == to.layout && from.type.dtype == to.type.dtype, i,
         "copies between buffers that differ in type or layout");
  }

  void runs(int i, const Kernel& kernel) const {
    const Launch& launch = launch_at(i);
    const auto reaches = [&](int b) {
      return at(b).device == launch.device || (at(b).device->host_memory() && launch.device->host_memory());
    };
    need(std::all_of(launch.inputs.begin(), launch.inputs.end(), reaches) &&
             std::all_of(launch.outputs.begin(), launch.outputs.end(), reaches),
         i, "runs where it cannot reach its buffers");
    need(kernel.scratch_bytes == 0 || launch.scratch >= 0, i, "has no workspace");
    if (launch.scratch >= 0) {
      const Buffer& scratch = at(launch.scratch);
      need(scratch.scratch && scratch.home == BufferHome::arena && reaches(launch.scratch) &&
               scratch.bytes >= kernel.scratch_bytes,
           i, "has a workspace that is too small, or none of its own");
    }
  }

  void kernel(int i) const {
    const Launch& launch = launch_at(i);
    need(launch.kernel != nullptr, i, "has no kernel");
    runs(i, *launch.kernel);
    const std::vector<int>& in_place = launch.kernel->in_place;
    need(in_place.size() <= launch.outputs.size() &&
             std::all_of(in_place.begin(), in_place.end(),
                         [&](int from) { return from < static_cast<int>(launch.inputs.size()); }),
         i, "writes results over operands that it does not have");
    if (launch.converts || launch.node < 0) {
      need(launch.inputs.size() == 1 && launch.outputs.size() == 1, i, "is not from one to one");
      return;
    }
    const Node& node = node_of(launch);
    need(launch.inputs.size() == node.inputs.size(), i, "has not the operands of its op");
    const std::size_t own = node.outputs.size();
    need(launch.outputs.size() == own + launch.writes_forms.size() &&
             std::equal(launch.writes_forms.begin(), launch.writes_forms.end(),
                        launch.outputs.begin() + static_cast<std::ptrdiff_t>(own)),
         i, "has not the results of its op, with the forms that it writes behind them");
    need(std::all_of(launch.writes_forms.begin(), launch.writes_forms.end(),
                     [&](int b) { return at(b).home == BufferHome::derived; }),
         i, "writes a form that is none");
  }

  // Views of what another op has written need no launch, nor do casts of parameters that no launch reads in that form.
  void ops() const {
    const std::map<ValueId, ValueId> casts = derived_casts(plan_.graph);
    for (std::size_t n = 0; n < launched_.size(); ++n) {
      const Node& node = plan_.graph.nodes[n];
      const OpDef& def = op_def(node.op);
      const bool exchanges = def.has(kStart) || def.has(kDone);
      if (launched_[n] == 1 && computed_[n] != exchanges) continue;
      if (launched_[n] == 0 && (def.has(kView) || casts.contains(node.outputs[0]))) continue;
      fault("op " + node.name + " (" + node.op + ") is launched " + std::to_string(launched_[n]) + " times");
    }
  }

  // One start and one done of each event, the starts in the order of the graph.
  void exchanges() const {
    std::vector<int> started(static_cast<std::size_t>(plan_.events), -1), ended = started;
    int node = -1;
    for (int i = 0; i < static_cast<int>(plan_.launches.size()); ++i) {
      const Launch& launch = launch_at(i);
      const bool start = launch.kind == LaunchKind::start;
      need(start || launch.shared < 0, i, "shares memory with other ranks and exchanges nothing");
      if (!start && launch.kind != LaunchKind::done) continue;
      need(launch.node >= 0 && launch.event >= 0 && launch.event < plan_.events, i, "is of no exchange");
      int& from = started[static_cast<std::size_t>(launch.event)];
      int& to = ended[static_cast<std::size_t>(launch.event)];
      need((start ? from : to) < 0, i, "is a second one of its exchange");
      (start ? from : to) = i;
      if (start) {
        need(launch.node > node, i, "begins out of turn");
        node = launch.node;
        begins(i);
      } else {
        need(from >= 0, i, "ends what has not begun");
        ends(i, from);
      }
    }
    for (std::size_t e = 0; e < started.size(); ++e) {
      if (started[e] < 0 || ended[e] < 0) fault("exchange " + std::to_string(e) + " does not begin or does not end");
    }
  }

  void begins(int i) const {
    const Launch& launch = launch_at(i);
    need(launch.exchange != nullptr && launch.ranks != nullptr && op_def(node_of(launch).op).has(kStart), i,
         "exchanges nothing");
    const Node& node = node_of(launch);
    need(launch.inputs.size() == node.inputs.size() && launch.outputs.size() == 1, i,
         "has not the operands and the result of its op");
    need((launch.kernel != nullptr) == collective_rule(node).packed, i, "packs otherwise than its rule says");
    if (launch.kernel) runs(i, *launch.kernel);
    if (launch.shared < 0) return;
    const int exchanged = launch.kernel ? launch.outputs[0] : launch.inputs[0];
    need(launch.shared == exchanged && at(exchanged).home == BufferHome::kept && at(exchanged).within < 0, i,
         "shares other memory than what it exchanges");
  }

  // What the exchange reads and writes is an operand of the done, so it stays until then.
  void ends(int i, int from) const {
    const Launch &done = launch_at(i), &start = launch_at(from);
    const Node& node = node_of(done);
    need(op_def(node.op).has(kDone) && node.inputs[0] == node_of(start).outputs[0], i, "ends another exchange");
    const bool packed = start.kernel != nullptr;
    need(done.outputs.size() == (packed ? node.outputs.size() : 0), i, "has not the results of its op");
    std::vector<int> held = start.inputs;
    if (packed) held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(node.outputs.size()));
    held.push_back(start.outputs[0]);
    need(done.inputs == held, i, "does not hold what is exchanged");
  }

  void sections() const {
    std::vector<bool> inside(plan_.launches.size(), false);
    int end = 0;
    for (const Section& section : plan_.sections) {
      if (section.first < end || section.last <= section.first ||
          section.last > static_cast<int>(plan_.launches.size()))
        fault("section " + std::to_string(section.first) + " overlaps another one or is empty");
      end = section.last;
      for (int i = section.first; i < section.last; ++i) {
        inside[static_cast<std::size_t>(i)] = true;
        need(launch_at(i).kind == LaunchKind::kernel || launch_at(i).kind == LaunchKind::copy, i,
             "runs beside others, and exchanges begin and end in one order on all ranks");
        need(launch_at(i).device->side_by_side(), i, "runs beside others on a device that runs one after the other");
      }
      if (stage_ == PlanStage::lanes) lanes(section);
    }
    for (int i = 0; i < static_cast<int>(plan_.launches.size()); ++i) {
      const bool dealt = inside[static_cast<std::size_t>(i)] && stage_ == PlanStage::lanes;
      need(dealt || launch_at(i).waits_for.empty(), i, "waits outside of a section");
    }
  }

  void lanes(const Section& section) const {
    std::vector<int> times(static_cast<std::size_t>(section.last - section.first), 0);
    for (const std::vector<int>& lane : section.lanes) {
      for (std::size_t k = 0; k < lane.size(); ++k) {
        ++times[static_cast<std::size_t>(lane[k] - section.first)];
        need(k == 0 || lane[k - 1] < lane[k], lane[k], "runs in its lane before one that it stands behind");
      }
    }
    for (int i = section.first; i < section.last; ++i) {
      need(times[static_cast<std::size_t>(i - section.first)] == 1, i, "is not in one lane of its section");
      for (int other : launch_at(i).waits_for)
        need(other >= section.first && other < i, i, "waits for one that does not run in front of it in its section");
    }
  }

  const Plan& plan_;
  PlanStage stage_;
  std::vector<bool> used_;      // by buffer
  std::vector<int> launched_;   // by op: how often
  std::vector<bool> computed_;  // by op: by a kernel, and not begun or ended
};

}  // namespace

void check_shape(const Plan& plan, PlanStage stage) { ShapeCheck(plan, stage).check(); }

}  // namespace ridgeline
