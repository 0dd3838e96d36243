#include "ridgeline/device/cpu/dense/matrix_update.h"

#include <algorithm>

#include "ridgeline/core/threads.h"
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
  update.whole_ = {LineVector<void*>(update.loop_->operands()), LineVector<void*>(update.result_bytes_.size())};
  update.parts_.assign(static_cast<std::size_t>(compute_threads()), update.whole_);
  return update;
}

std::vector<int> MatrixUpdate::in_place() const {
  std::vector<int> in_place(at_.copies() + result_bytes_.size() - at_.states, -1);
  for (std::size_t i = 0; i < at_.states; ++i) {
    if (loop_->in_place[i] == static_cast<int>(i)) in_place[i] = static_cast<int>(i);
  }
  return in_place;
}

void MatrixUpdate::begin(const KernelArguments& a) {
  std::copy_n(a.inputs, at_.states, whole_.inputs.begin());
  // Behind the states is the gradient, then come scalars.
  std::copy_n(a.inputs + at_.scalars(), whole_.inputs.size() - at_.states - 1,
              whole_.inputs.begin() + static_cast<std::ptrdiff_t>(at_.states) + 1);
  for (std::size_t i = 0; i < result_bytes_.size(); ++i) whole_.outputs[i] = a.outputs[at_.result_of(i)];
  std::fill(parts_.begin(), parts_.end(), whole_);
  loop_->begin({whole_.inputs.data(), whole_.outputs.data(), nullptr});
}

void MatrixUpdate::update(int thread, std::int64_t element, float* gradient, std::int64_t n) {
  const auto moved = [](void* base, std::int64_t bytes) -> void* { return static_cast<char*>(base) + bytes; };
  Part& part = parts_[static_cast<std::size_t>(thread)];
  for (std::size_t i = 0; i < at_.states; ++i)
    part.inputs[i] = moved(whole_.inputs[i], element * static_cast<std::int64_t>(sizeof(float)));
  part.inputs[at_.states] = gradient;
  for (std::size_t i = 0; i < part.outputs.size(); ++i)
    part.outputs[i] = moved(whole_.outputs[i], element * result_bytes_[i]);
  loop_->run_part({part.inputs.data(), part.outputs.data(), nullptr}, n);
}

}  // namespace ridgeline::device
