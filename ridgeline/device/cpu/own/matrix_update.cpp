#include "ridgeline/device/cpu/own/matrix_update.h"

#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {

std::variant<MatrixUpdate, Refusal> MatrixUpdate::make(const KernelRequest& request) {
  MatrixUpdate update{DenseUpdate(request.node.attributes)};
  const DenseUpdate& at = update.at_;
  for (std::size_t i = 0; i < at.states; ++i) {
    const KernelOperand& state = request.inputs[i];
    if (!state.free && !state.layout.plain()) return Refusal{"weights lie in " + state.layout.name()};
  }
  for (const KernelOperand& result : request.outputs) {
    if (!result.free && !result.layout.plain()) return Refusal{"a result is to lie in " + result.layout.name()};
  }
  loop::Expression expression = loop::parse(request.node.attributes.string("expression"));
  expression.operands = static_cast<std::int32_t>(request.inputs.size()) - 1;
  std::vector<ValueType> operands(at.states + 1, request.inputs[0].type);
  for (std::size_t i = at.scalars(); i < request.inputs.size(); ++i) operands.push_back(request.inputs[i].type);
  for (std::size_t i = 0; i < expression.results.size(); ++i) {
    const DType type = expression.results[i].type;
    // Between conversions a rounded copy is asked for in f32, which the loop does not give.
    if (request.outputs[at.result_of(i)].type.dtype != type)
      return Refusal{"a result is " + std::string(name_of(type)) + " by its expression"};
    update.result_bytes_.push_back(static_cast<std::int64_t>(size_of(type)));
  }
  auto loop = make_part_loop(expression, operands);
  if (const auto* refusal = std::get_if<Refusal>(&loop)) return *refusal;
  update.loop_ = std::move(std::get<0>(loop));
  return update;
}

std::vector<int> MatrixUpdate::in_place() const {
  std::vector<int> in_place(at_.copies() + result_bytes_.size() - at_.states, -1);
  for (std::size_t i = 0; i < at_.states; ++i) {
    if (loop_->in_place[i] == static_cast<int>(i)) in_place[i] = static_cast<int>(i);
  }
  return in_place;
}

MatrixUpdate::Part MatrixUpdate::begin(const KernelArguments& a) {
  Part part;
  const std::size_t scalars = loop_->operands() - at_.states - 1;
  part.inputs.assign(a.inputs, a.inputs + at_.states);
  part.inputs.push_back(nullptr);  // the gradient
  part.inputs.insert(part.inputs.end(), a.inputs + at_.scalars(), a.inputs + at_.scalars() + scalars);
  for (std::size_t i = 0; i < result_bytes_.size(); ++i) part.outputs.push_back(a.outputs[at_.result_of(i)]);
  loop_->begin({part.inputs.data(), part.outputs.data(), nullptr});
  return part;
}

void MatrixUpdate::update(const Part& whole, Part& part, std::int64_t element, float* gradient, std::int64_t n) const {
  const auto moved = [](void* base, std::int64_t bytes) -> void* { return static_cast<char*>(base) + bytes; };
  for (std::size_t i = 0; i < at_.states; ++i)
    part.inputs[i] = moved(whole.inputs[i], element * static_cast<std::int64_t>(sizeof(float)));
  part.inputs[at_.states] = gradient;
  for (std::size_t i = 0; i < part.outputs.size(); ++i)
    part.outputs[i] = moved(whole.outputs[i], element * result_bytes_[i]);
  loop_->run_part({part.inputs.data(), part.outputs.data(), nullptr}, n);
}

}  // namespace ridgeline::device
