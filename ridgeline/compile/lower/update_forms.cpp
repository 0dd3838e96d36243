#include "ridgeline/compile/lower/update_forms.h"

#include <algorithm>

#include "ridgeline/compile/lower/first_accepting.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/update_group.h"

namespace ridgeline {
namespace {

struct Rounded {
  std::size_t result;  // of the update
  int form;            // buffer
};

Layout layout_of(const std::vector<Layout>& layouts, std::size_t i) {
  return i < layouts.size() ? layouts[i] : Layout();
}

bool contains(const std::vector<int>& buffers, int buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

// How many parameters the op updates by one expression.
std::size_t parameters_of(const Node& update) {
  return update.op == "update_group" ? UpdateGroup(update.attributes, update.inputs.size()).parameters : 1;
}

class FormWriter {
 public:
  FormWriter(Plan& plan, const Target& target) : plan_(plan), target_(target) {}

  void run() {
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      if (!is_update(plan_.launches[i])) continue;
      // Only those in plain rows, where the update cannot write the others.
      std::vector<Rounded> rounded = forms_for(i);
      if (rounded.empty() || write(plan_.launches[i], rounded)) continue;
      if (std::erase_if(rounded, [&](const Rounded& r) { return !buffer(r.form).layout.plain(); }) == 0) continue;
      if (!rounded.empty()) write(plan_.launches[i], rounded);
    }
  }

 private:
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<std::size_t>(index)]; }
  const Node& node(const Launch& launch) const { return plan_.graph.nodes[static_cast<std::size_t>(launch.node)]; }

  // An op that may have one more result.
  bool is_update(const Launch& launch) const {
    if (launch.kind != LaunchKind::kernel || launch.node < 0 || launch.converts) return false;
    const OpDef& def = op_def(node(launch).op);
    return (def.expression || def.writes_copies) && launch.outputs.size() == node(launch).outputs.size();
  }

  std::vector<Rounded> forms_for(std::size_t update) const {
    std::vector<Rounded> rounded;
    const Launch& launch = plan_.launches[update];
    for (std::size_t r = 0; r < launch.outputs.size(); ++r) {
      const Buffer& home = buffer(launch.outputs[r]);
      if (home.home != BufferHome::store) continue;
      for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
        const Buffer& form = plan_.buffers[b];
        const bool of_parameter = form.home == BufferHome::derived && form.name == home.name &&
                                  form.type.dtype != home.type.dtype && form.type.shape == home.type.shape;
        const bool reached =
            form.device == launch.device || (form.device->host_memory() && launch.device->host_memory());
        if (of_parameter && reached && made_and_read_before(static_cast<int>(b), update)) {
          rounded.push_back({r, static_cast<int>(b)});
        }
      }
    }
    return rounded;
  }

  bool made_and_read_before(int form, std::size_t update) const {
    bool made = false;
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      const Launch& launch = plan_.launches[i];
      const bool used = contains(launch.inputs, form) || contains(launch.outputs, form);
      if (used && i >= update) return false;
      made = made || (launch.derives == form && contains(launch.outputs, form));
    }
    return made;
  }

  // The update by its own expression, with the rounded values as further results. False where no kernel writes them.
  bool write(Launch& launch, const std::vector<Rounded>& rounded) {
    const Node& update = node(launch);
    const OpDef& def = op_def(update.op);
    Node wider = update;
    loop::Expression expression;
    if (def.expression) {
      wider.op = "loop";
      wider.attributes = {};
      expression = def.expression(update.attributes);
      expression.operands = static_cast<std::int32_t>(update.inputs.size());
    } else {
      expression = loop::parse(update.attributes.string("expression"));
    }
    const std::size_t own = expression.results.size(), parameters = parameters_of(update);
    if (rounded.size() % parameters != 0) return false;
    const std::size_t copies = rounded.size() / parameters;
    KernelRequest request{op_def(wider.op), wider, {}, {}};
    for (std::size_t i = 0; i < update.inputs.size(); ++i)
      request.inputs.push_back({plan_.graph.value(update.inputs[i]).type, layout_of(launch.kernel->input_layouts, i)});
    for (std::size_t i = 0; i < update.outputs.size(); ++i)
      request.outputs.push_back(
          {plan_.graph.value(update.outputs[i]).type, layout_of(launch.kernel->output_layouts, i)});
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      const Rounded &r = rounded[i], &of_first = rounded[i % copies];
      const std::size_t first = i / copies * own;  // of this parameter
      const DType type = buffer(r.form).type.dtype;
      if (r.result < first || r.result >= first + own) return false;  // not the expression's (the gradient of a bias)
      if (r.result - first != of_first.result || type != buffer(of_first.form).type.dtype) return false;
      request.outputs.push_back({buffer(r.form).type, buffer(r.form).layout, false});
      if (i >= copies) continue;
      loop::Result result = expression.results[r.result];
      if (result.ending != loop::Ending::store) return false;
      result.type = type;
      expression.results.push_back(result);
    }
    if (wider.attributes.find("copies") != nullptr) wider.attributes.set("copies", static_cast<std::int64_t>(copies));
    wider.attributes.set("expression", loop::to_string(loop::canonical(expression)));
    Accepted accepted = first_accepting(request, *launch.device, target_.log);
    if (!accepted.kernel || !fits(*accepted.kernel, launch, rounded)) return false;
    launch.kernel = std::move(accepted.kernel);
    for (const Rounded& r : rounded) {
      launch.outputs.push_back(r.form);
      launch.writes_forms.push_back(r.form);
    }
    if (launch.kernel->scratch_bytes == 0) return true;
    if (launch.scratch < 0) {
      launch.scratch = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back({.device = launch.device, .scratch = true});
    }
    Buffer& scratch = plan_.buffers[static_cast<std::size_t>(launch.scratch)];
    scratch.type = {DType::u8, Shape{static_cast<std::int64_t>(launch.kernel->scratch_bytes)}};
    scratch.bytes = launch.kernel->scratch_bytes;
    return true;
  }

  // The wider kernel has the launch's kernel's layouts, and those of the forms after them.
  bool fits(const Kernel& wider, const Launch& launch, const std::vector<Rounded>& rounded) const {
    const Kernel& kernel = *launch.kernel;
    const std::size_t own = launch.outputs.size();
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
      if (layout_of(wider.input_layouts, i) != layout_of(kernel.input_layouts, i)) return false;
    }
    for (std::size_t i = 0; i < own; ++i) {
      if (layout_of(wider.output_layouts, i) != layout_of(kernel.output_layouts, i)) return false;
    }
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      if (layout_of(wider.output_layouts, own + i) != buffer(rounded[i].form).layout) return false;
    }
    for (std::size_t r = 0; r < kernel.in_place.size(); ++r) {
      if (kernel.in_place[r] >= 0 && (r >= wider.in_place.size() || wider.in_place[r] != kernel.in_place[r])) {
        return false;
      }
    }
    return true;
  }

  Plan& plan_;
  const Target& target_;
};

}  // namespace

void let_updates_write_forms(Plan& plan, const Target& target) { FormWriter(plan, target).run(); }

}  // namespace ridgeline
