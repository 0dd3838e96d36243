#include "ridgeline/compile/lower/emit.h"

#include <algorithm>
#include <map>
#include <set>

#include "ridgeline/compile/lower/constant_values.h"
#include "ridgeline/compile/lower/first_accepting.h"
#include "ridgeline/compile/lower/pack_in_place.h"
#include "ridgeline/compile/lower/plan_builder.h"
#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/derived_casts.h"

namespace ridgeline {
namespace {

class Emitter : PlanBuilder {
 public:
  Emitter(Graph graph, std::vector<Choice> choices, const OpTeams& teams, const Target& target,
          const ParameterStore& store)
      : PlanBuilder(target), store_(store), choices_(std::move(choices)), teams_(teams) {
    plan_.graph = std::move(graph);
    plan_.lane_team = teams.lane;
    plan_.buffer_of_value.assign(plan_.graph.values.size(), -1);
    casts_ = derived_casts(plan_.graph);
    ConstantValues constants = constant_values(plan_.graph);
    constant_ = std::move(constants.values);
    plan_.constant_sources = std::move(constants.sources);
    plan_.devices.push_back(&target.device);
    if (&target.cpu != &target.device) plan_.devices.push_back(&target.cpu);
  }

  Plan run() {
    for (ValueId id : plan_.graph.arguments) add_argument(id);
    set_arguments_aside();
    for (std::size_t i = 0; i < plan_.graph.nodes.size(); ++i) {
      node_ = static_cast<int>(i);
      const ComputeScope team(teams_.of(i));  // of conversions, too
      const std::size_t first = plan_.launches.size();
      emit_node(plan_.graph.nodes[i], choices_[i]);
      for (std::size_t l = first; l < plan_.launches.size(); ++l) plan_.launches[l].beside = teams_.is_beside(i);
    }
    node_ = -1;
    in_constant_ = false;
    place_returns();
    write_updates();
    keep_constants();
    pack_in_place(plan_);
    return std::move(plan_);
  }

 private:
  bool is_argument(ValueId id) {
    const auto& arguments = plan_.graph.arguments;
    return std::find(arguments.begin(), arguments.end(), id) != arguments.end();
  }

  void add_argument(ValueId id) {
    const ValueInfo& info = value(id);
    Buffer b{.name = info.name, .type = info.type};
    if (is_stored(info.kind)) {
      b.home = BufferHome::store;
      b.device = &target_.device;
      b.layout = store_.entry(info.name).home;
    } else {
      b.home = BufferHome::input;
      b.device = &target_.cpu;
    }
    buffer_of(id) = add_buffer(std::move(b));
  }

  // An argument that is returned, or becomes another argument's next version, keeps its value from the step's
  // beginning: it is copied before any op may overwrite it. Updates between arguments thus do not depend on their
  // order.
  void set_arguments_aside() {
    const auto set_aside = [&](ValueId id) {
      auto [it, is_new] = aside_.try_emplace(id, -1);
      const int from = on_device(buffer_of(id), id);
      if (is_new) it->second = add_copy(from, buffer(from).device, id);
    };
    for (const Return& r : plan_.graph.returns) {
      if (is_argument(r.value)) set_aside(r.value);
    }
    for (const Update& update : plan_.graph.updates) {
      if (is_argument(update.next) && update.next != update.current) set_aside(update.next);
    }
  }

  // The buffer of `id` on `device` in `layout`, copied and converted as needed. Copies are made once; those of a stored
  // value are forms that the store keeps while the value stays what it is.
  int materialize(ValueId id, Device* device, const Layout& layout) {
    if (const auto cast = casts_.find(id); cast != casts_.end() && buffer_of(id) < 0) {
      return cast_form(forms_.at({cast->second, value(id).type.dtype}), cast->second, device, layout);
    }
    int current = buffer_of(id);
    if (reachable(current, device) && buffer(current).layout == layout) return current;
    for (int copy : copies_[id]) {
      if (reachable(copy, device) && buffer(copy).layout == layout) return copy;
    }
    const bool stored = buffer(current).home == BufferHome::store;
    const bool passing = stored && in_constant_ && reachable(current, device);  // read once a load: no form of its own
    if (buffer(current).layout != layout) {
      const std::size_t first = plan_.launches.size();
      current = convert(current, layout, id);
      if (passing) {
        mark_constant(first);
        return current;
      }
      keep(id, current, stored, first);
    }
    if (!reachable(current, device)) {
      if (device == &target_.device) {
        if (const int copied = on_device(current, id); copied != current) return copied;
      }
      const std::size_t first = plan_.launches.size();
      current = add_copy(current, device, id);
      keep(id, current, stored, first);
    }
    return current;
  }

  // For an input of a device with memory of its own: the buffer there that the program fills before each run. Otherwise
  // the buffer itself.
  int on_device(int index, ValueId id) {
    if (buffer(index).home != BufferHome::input || target_.device.host_memory() ||
        buffer(index).device == &target_.device)
      return index;
    for (const int copy : copies_[id]) {
      if (buffer(copy).home == BufferHome::input) return copy;
    }
    const int copied = add_buffer(
        {.home = BufferHome::input, .name = buffer(index).name, .device = &target_.device, .type = value(id).type});
    copies_[id].push_back(copied);
    return copied;
  }

  // A parameter's copy of another type, in `layout`: made from its home directly where the layouts can, else through
  // plain rows.
  int cast_form(ValueId id, ValueId parameter, Device* device, const Layout& layout) {
    for (int copy : copies_[id]) {
      if (reachable(copy, device) && buffer(copy).layout == layout) return copy;
    }
    const std::size_t first = plan_.launches.size();
    const int home = buffer_of(parameter);
    const DType from = value(parameter).type.dtype;
    const DType to = value(id).type.dtype;
    int made = -1;
    if (auto kernel = buffer(home).device->cast_conversion(from, buffer(home).layout, to, layout)) {
      made = add_form(id, home, layout, std::move(kernel));
    } else {
      const int plain = buffer(home).layout.plain() ? home : convert(home, {}, parameter);
      made =
          add_form(id, plain, {}, plain_cast(plan_.graph.nodes[static_cast<std::size_t>(maker_[id])], parameter, id));
      if (!layout.plain()) made = convert(made, layout, id);
    }
    buffer(made).name = value(parameter).name;
    keep(id, made, true, first);
    return made;
  }

  int add_form(ValueId id, int from, const Layout& layout, std::unique_ptr<Kernel> kernel) {
    const int to = add_buffer({.device = buffer(from).device, .layout = layout, .type = value(id).type});
    Launch launch;
    launch.device = buffer(to).device;
    launch.inputs = {from};
    launch.outputs = {to};
    launch.scratch = add_scratch(*kernel, launch.device);
    launch.kernel = std::move(kernel);
    launch.node = node_;
    launch.converts = true;
    plan_.launches.push_back(std::move(launch));
    return to;
  }

  std::unique_ptr<Kernel> plain_cast(const Node& node, ValueId from, ValueId to) {
    const KernelRequest request{op_def(node.op), node, {{value(from).type, {}, false}}, {{value(to).type, {}, false}}};
    Accepted accepted = first_accepting(request, target_.device, target_.log);
    if (!accepted.kernel) throw no_kernel(plan_.graph, node, target_.device, accepted);
    return std::move(accepted.kernel);
  }

  // Remembers a copy of `id`, which the launches from `first` on make.
  void keep(ValueId id, int copy, bool stored, std::size_t first) {
    copies_[id].push_back(copy);
    if (!stored) {
      if (is_constant(id)) mark_constant(first);
      return;
    }
    buffer(copy).home = BufferHome::derived;
    // Launches that make another form on the way belong to that one.
    for (std::size_t i = first; i < plan_.launches.size(); ++i) {
      if (plan_.launches[i].derives < 0) plan_.launches[i].derives = copy;
    }
  }

  bool is_constant(ValueId id) const { return constant_[static_cast<std::size_t>(id)]; }

  void mark_constant(std::size_t first) {
    for (std::size_t i = first; i < plan_.launches.size(); ++i) plan_.launches[i].constant = true;
  }

  // What other launches read of constant launches stays in memory of its own.
  void keep_constants() {
    std::set<int> made, read(plan_.buffer_of_return.begin(), plan_.buffer_of_return.end());
    for (const Launch& launch : plan_.launches) {
      if (launch.constant)
        made.insert(launch.outputs.begin(), launch.outputs.end());
      else
        read.insert(launch.inputs.begin(), launch.inputs.end());
    }
    for (int b : made) {
      if (read.contains(b) && buffer(b).home == BufferHome::arena) buffer(b).home = BufferHome::kept;
    }
  }

  void emit_start(const Node& node, Choice& choice) {
    Launch launch;
    launch.kind = LaunchKind::start;
    launch.device = choice.device;
    launch.node = node_;
    launch.event = plan_.events++;
    InFlight flight{plan_.launches.size(), collective_rule(node).packed, {}};
    std::vector<ValueType> types;
    std::vector<std::size_t> bytes;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Layout layout = choice.kernel ? choice.input_layout(i) : Layout{};
      launch.inputs.push_back(materialize(node.inputs[i], choice.device, layout));
      types.push_back(value(node.inputs[i]).type);
      bytes.push_back(buffer(launch.inputs.back()).bytes);
    }
    flight.launch = plan_.launches.size();  // behind the copies that its operands needed
    const int pending = add_buffer({.device = choice.device, .type = value(node.outputs[0]).type});
    if (flight.packed) {
      const std::size_t values = bytes.size() - (node.attributes.boolean("conditional") ? 1 : 0);
      flight.packing = pack(std::span(bytes).first(values));
      buffer(pending).bytes = flight.packing.bytes;
    }
    buffer_of(node.outputs[0]) = pending;
    launch.outputs = {pending};
    launch.ranks = group_of(target_.groups, plan_.graph, node);
    launch.exchange = choice.device->collective(
        {node, *launch.ranks, types, bytes, value(node.outputs[0]).type, buffer(pending).bytes});
    if (choice.kernel) launch.scratch = add_scratch(*choice.kernel, choice.device);
    launch.kernel = std::move(choice.kernel);
    plan_.launches.push_back(std::move(launch));
    in_flight_[node.outputs[0]] = std::move(flight);
  }

  // The exchange's operands stay until it is over; its results are where they were exchanged.
  void emit_done(const Node& node) {
    const InFlight& flight = in_flight_.at(node.inputs[0]);
    const Launch& start = plan_.launches[flight.launch];
    Launch launch;
    launch.kind = LaunchKind::done;
    launch.device = start.device;
    launch.node = node_;
    launch.event = start.event;
    const int pending = buffer_of(node.inputs[0]);
    launch.inputs = start.inputs;
    if (flight.packed) launch.inputs.erase(launch.inputs.begin(), launch.inputs.begin() + values_of(flight));
    launch.inputs.push_back(pending);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (!flight.packed) {
        buffer_of(id) = pending;
        continue;
      }
      const Buffer& given = buffer(start.inputs[i]);
      buffer_of(id) = add_buffer({.device = start.device,
                                  .layout = given.layout,
                                  .type = value(id).type,
                                  .within = pending,
                                  .within_offset = flight.packing.offsets[i]});
      launch.outputs.push_back(buffer_of(id));
    }
    plan_.launches.push_back(std::move(launch));
  }

  static std::ptrdiff_t values_of(const auto& flight) {
    return static_cast<std::ptrdiff_t>(flight.packing.offsets.size());
  }

  void emit_node(const Node& node, Choice& choice) {
    if (op_def(node.op).has(kStart)) return emit_start(node, choice);
    if (op_def(node.op).has(kDone)) return emit_done(node);
    const auto cast = casts_.find(node.outputs[0]);
    const bool rounds_parameter = cast != casts_.end();
    if (rounds_parameter) {
      const auto [form, is_new] =
          forms_.try_emplace({cast->second, value(node.outputs[0]).type.dtype}, node.outputs[0]);
      if (is_new) maker_[node.outputs[0]] = node_;
      if (target_.device.host_memory()) return;  // each reader has it in a layout of its own
      if (!is_new) {
        buffer_of(node.outputs[0]) = buffer_of(form->second);
        return;
      }
    }
    in_constant_ = is_constant(node.outputs[0]) && !rounds_parameter;
    const std::size_t first = plan_.launches.size();
    if (!choice.kernel) {
      buffer_of(node.outputs[0]) = buffer_of(node.inputs[0]);  // a view
      return;
    }
    Launch launch;
    launch.device = choice.device;
    launch.node = node_;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      launch.inputs.push_back(materialize(node.inputs[i], choice.device, choice.input_layout(i)));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      buffer_of(id) = add_buffer({.device = choice.device, .layout = choice.output_layout(i), .type = value(id).type});
      launch.outputs.push_back(buffer_of(id));
    }
    launch.scratch = add_scratch(*choice.kernel, choice.device);
    launch.kernel = std::move(choice.kernel);
    launch.constant = in_constant_;
    plan_.launches.push_back(std::move(launch));
    if (rounds_parameter) {
      const int made = buffer_of(node.outputs[0]);
      buffer(made).name = value(node.inputs[0]).name;
      keep(node.outputs[0], made, true, first);
    }
  }

  // Returned values are read after the step, in plain rows, from memory that no update writes.
  void place_returns() {
    std::set<int> updating;
    for (const Update& update : plan_.graph.updates) updating.insert(buffer_of(update.next));
    for (const Return& r : plan_.graph.returns) {
      const auto aside = aside_.find(r.value);
      int b = aside == aside_.end() ? buffer_of(r.value) : aside->second;
      if (!buffer(b).layout.plain())
        b = convert(b, {}, r.value);
      else if (updating.contains(b))
        b = add_copy(b, buffer(b).device, r.value);
      plan_.buffer_of_return.push_back(b);
    }
  }

  void write_updates() {
    // In place first: that renames buffers, and the copies after it must know the names.
    std::vector<const Update*> others;
    for (const Update& update : plan_.graph.updates) {
      if (update.next == update.current) continue;
      if (!aside_.contains(update.next) && writes_in_place(buffer_of(update.next), buffer_of(update.current))) continue;
      others.push_back(&update);
    }
    for (const Update* update : others) {
      const auto aside = aside_.find(update->next);
      const int from = aside == aside_.end() ? buffer_of(update->next) : aside->second;
      write_into(buffer_of(update->current), from, update->next);
    }
  }

  // The last launch that makes a value for the store writes there directly.
  void write_into(int to, int from, ValueId id) {
    from = on_device(from, id);
    if (buffer(from).layout != buffer(to).layout) {
      Device& device = *buffer(to).device;
      if (buffer(from).device == &device) {
        if (auto kernel = device.conversion(value(id).type, buffer(from).layout, buffer(to).layout)) {
          add_conversion(from, to, std::move(kernel));
          return;
        }
      }
      from = convert(from, buffer(to).layout, id);
    }
    Launch launch;
    launch.kind = LaunchKind::copy;
    launch.device = buffer(to).device;
    launch.inputs = {from};
    launch.outputs = {to};
    plan_.launches.push_back(std::move(launch));
  }

  // Lets the kernel that makes `from` write into the store's buffer `to`, if it can and nothing reads the old value
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
      if (operand < 0 || launch.inputs[static_cast<std::size_t>(operand)] != to ||
          std::count(launch.inputs.begin(), launch.inputs.end(), to) != 1) {
        return false;
      }
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

  // An exchange between its start and its done.
  struct InFlight {
    std::size_t launch = 0;
    bool packed = false;
    Packing packing;
  };

  const ParameterStore& store_;
  std::vector<Choice> choices_;
  const OpTeams& teams_;
  std::map<ValueId, std::vector<int>> copies_;
  std::map<ValueId, ValueId> casts_;  // of parameters, by result
  // The first cast of a parameter to a type represents all of them.
  std::map<std::pair<ValueId, DType>, ValueId> forms_;
  std::map<ValueId, int> maker_;  // of those: the node
  std::map<ValueId, InFlight> in_flight_;
  std::map<ValueId, int> aside_;  // copies of arguments, made before the first op
  std::vector<bool> constant_;    // by value: computed from stored values alone
  bool in_constant_ = false;      // the node in progress gives such a value
};

}  // namespace

Plan emit(Graph graph, std::vector<Choice> choices, const OpTeams& teams, const Target& target,
          const ParameterStore& store) {
  return Emitter(std::move(graph), std::move(choices), teams, target, store).run();
}

}  // namespace ridgeline
