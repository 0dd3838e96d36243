#include "ridgeline/device/update_group_kernel.h"

#include <algorithm>
#include <utility>

#include "ridgeline/graph/op/update_group.h"

namespace ridgeline {
namespace {

class UpdateGroupKernel final : public Kernel {
 public:
  struct Part {
    std::unique_ptr<Kernel> kernel;
    std::vector<std::size_t> operands, results;
    std::vector<void*> inputs, outputs;  // of the run in progress
  };
  UpdateGroupKernel(std::vector<Part> parts, std::size_t states) : parts_(std::move(parts)), states_(states) {
    for (const Part& part : parts_) {
      scratch_bytes = std::max(scratch_bytes, part.kernel->scratch_bytes);
      for (std::size_t s = 0; s < states_; ++s) {
        const bool over = s < part.kernel->in_place.size() && part.kernel->in_place[s] == static_cast<int>(s);
        in_place.push_back(over ? static_cast<int>(in_place.size()) : -1);
      }
    }
    for (const Part& part : parts_) in_place.insert(in_place.end(), part.results.size() - states_, -1);  // copies
  }

  void run(const KernelArguments& a) override {
    for (Part& part : parts_) {
      for (std::size_t i = 0; i < part.operands.size(); ++i) part.inputs[i] = a.inputs[part.operands[i]];
      for (std::size_t r = 0; r < part.results.size(); ++r) part.outputs[r] = a.outputs[part.results[r]];
      part.kernel->run({part.inputs.data(), part.outputs.data(), a.scratch, a.stream});
    }
  }

 private:
  std::vector<Part> parts_;
  std::size_t states_;
};

}  // namespace

KernelChoice make_update_group_kernel(const KernelRequest& request, KernelChoice (*make_loop)(const KernelRequest&),
                                      std::string name) {
  const UpdateGroup group(request.node.attributes, request.inputs.size());
  Node loop;
  loop.op = "loop";
  loop.name = request.node.name;
  loop.attributes.set("expression", request.node.attributes.string("expression"));
  std::vector<UpdateGroupKernel::Part> parts;
  for (std::size_t p = 0; p < group.parameters; ++p) {
    UpdateGroupKernel::Part part;
    part.operands = group.operands_of(p);
    KernelRequest one{op_def("loop"), loop, {}, {}, request.promise, request.device};
    for (std::size_t i : part.operands) one.inputs.push_back({request.inputs[i].type, {}, false});
    part.results = group.results_of(p);
    for (std::size_t r : part.results) one.outputs.push_back({request.outputs[r].type, {}, false});
    part.inputs.resize(part.operands.size());
    part.outputs.resize(part.results.size());
    KernelChoice choice = make_loop(one);
    if (auto* refusal = std::get_if<Refusal>(&choice)) return std::move(*refusal);
    part.kernel = std::move(std::get<std::unique_ptr<Kernel>>(choice));
    parts.push_back(std::move(part));
  }
  auto kernel = std::make_unique<UpdateGroupKernel>(std::move(parts), group.states);
  kernel->name = std::move(name);
  return kernel;
}

}  // namespace ridgeline
