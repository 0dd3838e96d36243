#include "ridgeline/device/cuda/cudnn/plan.h"

namespace ridgeline::cuda::cudnn {

Plan::Plan(Descriptor plan, std::string name, EngineNotes notes)
    : plan_(std::move(plan)),
      name_(std::move(name)),
      notes_(notes),
      workspace_bytes_(static_cast<std::size_t>(plan_.get<std::int64_t>(Attribute::plan_workspace_bytes))) {}

Plan Plan::from_json(const Target& target, const std::string& json, std::string name) {
  Descriptor plan(target.functions(), DescriptorType::execution_plan);
  plan.set_handle(Attribute::plan_handle, target.handle());
  plan.set(Attribute::plan_json, std::span<const char>(json.data(), json.size()));
  plan.finalize();
  return Plan(std::move(plan), std::move(name));
}

std::string Plan::json() const {
  const std::vector<char> text =
      plan_.get_all<char>(Attribute::plan_json, plan_.count(Attribute::plan_json, AttributeType::character));
  return std::string(text.begin(), text.end());
}

void Plan::run(Handle handle, std::span<const std::int64_t> ids, std::span<void* const> addresses,
               void* workspace) const {
  Descriptor pack(plan_.functions(), DescriptorType::variant_pack);
  pack.set(Attribute::pack_ids, ids);
  pack.set(Attribute::pack_addresses, AttributeType::pointer, static_cast<std::int64_t>(addresses.size()),
           addresses.data());
  pack.set(Attribute::pack_workspace, workspace);
  pack.finalize();
  const Functions& functions = plan_.functions();
  functions.check(functions.execute(handle, plan_.raw(), pack.raw()), "cuDNN runs a plan");
}

}  // namespace ridgeline::cuda::cudnn
