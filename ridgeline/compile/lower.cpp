#include "ridgeline/compile/lower.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "ridgeline/compile/layout_groups.h"
#include "ridgeline/core/error.h"
#include "ridgeline/device/conversion_kernel.h"

namespace ridgeline {
namespace {

class Lowering {
 public:
  Lowering(Graph graph, Session& session, bool soft_placement)
      : session_(session), soft_placement_(soft_placement), groups_(graph) {
    plan_.graph = std::move(graph);
    plan_.buffer_of_value.assign(plan_.graph.values.size(), -1);
    plan_.devices.push_back(&session.device());
    if (&session.cpu() != &session.device()) plan_.devices.push_back(&session.cpu());
  }

  Plan run() {
    for (ValueId id : plan_.graph.arguments) add_argument(id);
    for (std::size_t i = 0; i < plan_.graph.nodes.size(); ++i) {
      node_ = static_cast<int>(i);
      lower_node(plan_.graph.nodes[i]);
    }
    node_ = -1;
    return_host_copies();
    apply_updates();
    fix_homes();
    return std::move(plan_);
  }

 private:
  const ValueInfo& value(ValueId id) const { return plan_.graph.value(id); }
  int& buffer_of(ValueId id) { return plan_.buffer_of_value[static_cast<std::size_t>(id)]; }
  Buffer& buffer(int index) { return plan_.buffers[static_cast<std::size_t>(index)]; }

  int add_buffer(Buffer b) {
    b.bytes = b.layout.bytes(b.type);
    plan_.buffers.push_back(std::move(b));
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  void add_argument(ValueId id) {
    const ValueInfo& info = value(id);
    Buffer b{.name = info.name, .type = info.type};
    if (info.kind == ValueKind::param || info.kind == ValueKind::state) {
      const auto& entry = session_.parameters().declare(info.name, info.type, info.kind);
      b.home = BufferHome::store;
      b.device = &session_.device();
      b.layout = entry.home;
      if (entry.home_fixed && groups_.grouped(id) && !groups_.layout(id)) groups_.settle(id, entry.home);
    } else {
      b.home = BufferHome::input;
      b.device = &session_.cpu();
    }
    buffer_of(id) = add_buffer(std::move(b));
  }

  // The buffer of `id` on `device` in `layout`, copying and converting if need be. Copies are made once.
  int materialize(ValueId id, Device* device, const Layout& layout) {
    int current = buffer_of(id);
    if (buffer(current).device == device && buffer(current).layout == layout) return current;
    auto& copies = copies_[id];
    for (int copy : copies) {
      if (buffer(copy).device == device && buffer(copy).layout == layout) return copy;
    }
    // Conversions run on the CPU: only its library knows blocked layouts.
    if (buffer(current).layout != layout) {
      Device* where = &session_.cpu();
      if (buffer(current).device != where) current = add_copy(current, where, id);
      current = add_conversion(current, layout, id);
      copies.push_back(current);
    }
    if (buffer(current).device != device) {
      current = add_copy(current, device, id);
      copies.push_back(current);
    }
    return current;
  }

  int add_copy(int from, Device* device, ValueId id) {
    const int to = add_buffer(
        {.name = buffer(from).name, .device = device, .layout = buffer(from).layout, .type = value(id).type});
    Launch launch;
    launch.kind = LaunchKind::copy;
    launch.device = buffer(from).device->host_memory() ? device : buffer(from).device;
    launch.inputs = {from};
    launch.outputs = {to};
    launch.node = node_;
    plan_.launches.push_back(std::move(launch));
    return to;
  }

  int add_conversion(int from, const Layout& layout, ValueId id) {
    const ValueType& type = value(id).type;
    const int to =
        add_buffer({.name = buffer(from).name, .device = buffer(from).device, .layout = layout, .type = type});
    Launch launch;
    launch.device = buffer(from).device;
    launch.kernel = make_conversion_kernel(type, buffer(from).layout, layout);
    launch.inputs = {from};
    launch.outputs = {to};
    launch.scratch = add_scratch(*launch.kernel, launch.device);
    launch.node = node_;
    launch.converts = true;
    plan_.launches.push_back(std::move(launch));
    return to;
  }

  // A kernel's workspace, or -1 if it needs none.
  int add_scratch(const Kernel& kernel, Device* device) {
    if (kernel.scratch_bytes == 0) return -1;
    const ValueType bytes{DType::u8, Shape{static_cast<std::int64_t>(kernel.scratch_bytes)}};
    return add_buffer({.device = device, .type = bytes, .scratch = true});
  }

  void lower_node(const Node& node) {
    const OpDef& def = op_def(node.op);
    if (def.has(kView)) {
      const int source = buffer_of(node.inputs[0]);
      if (buffer(source).home == BufferHome::arena && buffer(source).layout.plain()) {
        buffer_of(node.outputs[0]) = source;
        return;
      }
    }
    std::string refusals;
    for (Device* device : plan_.devices) {
      if (device != plan_.devices.front() && !soft_placement_) break;
      if (auto kernel = choose(def, node, *device, refusals)) {
        if (device != plan_.devices.front()) {
          session_.log().trace("placement", "op " + node.name + " (" + node.op + ") moved from " +
                                                std::string(plan_.devices.front()->name()) + " to " +
                                                std::string(device->name()) + ": " + refusals);
        }
        add_launch(node, std::move(kernel), device);
        return;
      }
    }
    std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
    throw Error("op " + node.name + " (" + node.op + ")" + where + " has no kernel on device " +
                std::string(plan_.devices.front()->name()) +
                (soft_placement_ ? "" : " and allow_soft_placement is off") + ": " +
                (refusals.empty() ? "the device does not know the op" : refusals));
  }

  // Parameters and states that no kernel has settled yet may be laid out as the next kernel likes.
  bool free_layout(const OpDef& def, ValueId id) const {
    return !def.has(kPointwise) && groups_.grouped(id) && !groups_.layout(id);
  }

  std::unique_ptr<Kernel> choose(const OpDef& def, const Node& node, Device& device, std::string& refusals) {
    KernelRequest request{def, node, {}, {}};
    for (ValueId id : node.inputs) {
      KernelOperand operand{value(id).type, {}, free_layout(def, id)};
      if (groups_.grouped(id) && groups_.layout(id)) operand.layout = *groups_.layout(id);
      request.inputs.push_back(std::move(operand));
    }
    for (ValueId id : node.outputs) {
      KernelOperand operand{value(id).type, {}, false};
      if (groups_.grouped(id) && groups_.layout(id)) operand.layout = *groups_.layout(id);
      request.outputs.push_back(std::move(operand));
    }
    for (const KernelEntry& entry : device.kernels(node.op)) {
      KernelChoice choice = entry.make(request);
      if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
        session_.log().trace("dispatch", node.name + ": " + (*kernel)->name);
        return std::move(*kernel);
      }
      const std::string& reason = std::get<Refusal>(choice).reason;
      session_.log().trace("dispatch", node.name + ": " + std::string(entry.name) + " refuses: " + reason);
      refusals += (refusals.empty() ? "" : "; ") + std::string(entry.name) + ": " + reason;
    }
    return nullptr;
  }

  void add_launch(const Node& node, std::unique_ptr<Kernel> kernel, Device* device) {
    Launch launch;
    launch.device = device;
    launch.node = node_;
    const OpDef& def = op_def(node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Layout wanted = kernel->input_layouts.empty() ? Layout{} : kernel->input_layouts[i];
      if (free_layout(def, node.inputs[i])) settle(node.inputs[i], wanted);
      launch.inputs.push_back(materialize(node.inputs[i], device, wanted));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Layout made = kernel->output_layouts.empty() ? Layout{} : kernel->output_layouts[i];
      const int b = add_buffer({.device = device, .layout = made, .type = value(node.outputs[i]).type});
      buffer_of(node.outputs[i]) = b;
      launch.outputs.push_back(b);
    }
    launch.scratch = add_scratch(*kernel, device);
    launch.kernel = std::move(kernel);
    plan_.launches.push_back(std::move(launch));
  }

  // The first kernel over a group decides for all its members.
  void settle(ValueId id, const Layout& layout) {
    groups_.settle(id, layout);
    for (ValueId member : plan_.graph.arguments) {
      const ValueInfo& info = value(member);
      if (buffer(buffer_of(member)).home != BufferHome::store || !groups_.same(id, member)) continue;
      if (!session_.parameters().entry(info.name).home_fixed) session_.parameters().fix_home(info.name, layout);
      Buffer& b = buffer(buffer_of(member));
      b.layout = session_.parameters().entry(info.name).home;
      b.bytes = b.layout.bytes(b.type);
    }
  }

  // What this program reads as plain stays plain: a later program may not move it.
  void fix_homes() {
    for (ValueId id : plan_.graph.arguments) {
      const Buffer& b = buffer(buffer_of(id));
      if (b.home == BufferHome::store && !session_.parameters().entry(b.name).home_fixed) {
        session_.parameters().fix_home(b.name, b.layout);
      }
    }
  }

  // Returned values are read after the updates, so one that lives in the store or with the caller is copied first.
  void return_host_copies() {
    for (Return& r : plan_.graph.returns) {
      const int b = buffer_of(r.value);
      if (buffer(b).home == BufferHome::arena && buffer(b).layout.plain()) continue;
      if (buffer(b).layout.plain())
        buffer_of(r.value) = add_copy(b, buffer(b).device, r.value);
      else
        buffer_of(r.value) = materialize(r.value, &session_.cpu(), {});
    }
  }

  void apply_updates() {
    // Values that are arguments themselves are taken aside first: another update may overwrite them.
    std::vector<std::pair<int, int>> moves;  // from, to
    for (const Update& update : plan_.graph.updates) {
      const int to = buffer_of(update.current);
      int from = buffer_of(update.next);
      if (from == to || writes_in_place(from, to)) continue;
      from = materialize(update.next, buffer(to).device, buffer(to).layout);
      if (buffer(from).home != BufferHome::arena) {
        from = add_copy(from, buffer(from).device, update.next);
      }
      moves.emplace_back(from, to);
    }
    for (const auto& [from, to] : moves) {
      Launch launch;
      launch.kind = LaunchKind::copy;
      launch.device = buffer(to).device;
      launch.inputs = {from};
      launch.outputs = {to};
      plan_.launches.push_back(std::move(launch));
    }
  }

  // Lets the kernel that makes `from` write into the store's buffer `to`, if it can and nobody reads the old value
  // later.
  bool writes_in_place(int from, int to) {
    if (buffer(from).home != BufferHome::arena || buffer(from).device != buffer(to).device ||
        buffer(from).layout != buffer(to).layout) {
      return false;
    }
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      Launch& launch = plan_.launches[i];
      const auto made = std::find(launch.outputs.begin(), launch.outputs.end(), from);
      if (made == launch.outputs.end()) continue;
      if (launch.kind != LaunchKind::kernel) return false;
      const auto result = static_cast<std::size_t>(made - launch.outputs.begin());
      if (result >= launch.kernel->in_place.size()) return false;
      const int operand = launch.kernel->in_place[result];
      if (operand < 0 || launch.inputs[static_cast<std::size_t>(operand)] != to) return false;
      for (std::size_t later = i + 1; later < plan_.launches.size(); ++later) {
        const auto& inputs = plan_.launches[later].inputs;
        if (std::find(inputs.begin(), inputs.end(), to) != inputs.end()) return false;
      }
      replace_buffer(from, to);
      return true;
    }
    return false;
  }

  void replace_buffer(int from, int to) {
    for (Launch& launch : plan_.launches) {
      std::replace(launch.inputs.begin(), launch.inputs.end(), from, to);
      std::replace(launch.outputs.begin(), launch.outputs.end(), from, to);
    }
    std::replace(plan_.buffer_of_value.begin(), plan_.buffer_of_value.end(), from, to);
  }

  Session& session_;
  bool soft_placement_;
  Plan plan_;
  LayoutGroups groups_;
  std::map<ValueId, std::vector<int>> copies_;
  int node_ = -1;
};

}  // namespace

Plan lower(Graph graph, Session& session, bool soft_placement) {
  return Lowering(std::move(graph), session, soft_placement).run();
}

}  // namespace ridgeline
