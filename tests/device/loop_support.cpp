#include "tests/device/loop_support.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {

std::vector<Isa> loop_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : machine_isas()) {
    if (isa == Isa::neon || isa == Isa::avx2 || isa == Isa::avx512) isas.push_back(isa);
  }
  return isas;
}

LoopRun run_kernel(const std::string& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                   bool in_place) {
  const OpDef& def = op_def(op);
  Node node;
  node.op = op;
  node.name = op;
  node.attributes = complete_attributes(def, attributes);
  KernelRequest request{def, node, {}, {}};
  std::vector<ValueType> types;
  for (const Tensor& t : inputs) {
    types.push_back({t.dtype(), t.shape()});
    request.inputs.push_back({types.back(), {}, false});
  }
  LoopRun run;
  for (ValueType& type : infer_types(def, types, node.attributes, node.name)) {
    request.outputs.push_back({type, {}, false});
    run.results.emplace_back(type.dtype, type.shape);
  }
  const auto entries = loop_kernels();
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const KernelEntry& e) { return e.op == op; });
  KernelChoice choice = entry->make(request);
  if (const Refusal* refusal = std::get_if<Refusal>(&choice)) {
    run.refusal = refusal->reason;
    return run;
  }
  Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
  std::vector<Tensor> operands;
  for (const Tensor& t : inputs) operands.push_back(t.clone());
  if (in_place) {
    for (std::size_t r = 0; r < run.results.size(); ++r) {
      if (kernel.in_place[r] >= 0)
        run.results[r] = operands[static_cast<std::size_t>(kernel.in_place[r])].reshaped(run.results[r].shape());
    }
  }
  std::vector<void*> in;
  std::vector<void*> out;
  for (Tensor& t : operands) in.push_back(t.raw());
  for (Tensor& t : run.results) out.push_back(t.raw());
  Tensor scratch(DType::u8, Shape{static_cast<std::int64_t>(kernel.scratch_bytes) + 64});
  for (int twice = 0; twice < (in_place ? 1 : 2); ++twice) kernel.run({in.data(), out.data(), scratch.raw()});
  return run;
}

std::vector<Tensor> run_reference_of(const std::string& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes) {
  const OpDef& def = op_def(op);
  return run_reference(def, inputs, complete_attributes(def, attributes), op);
}

std::string first_difference(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) return "types differ";
  const std::size_t size = size_of(got.dtype());
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(static_cast<const char*>(got.raw()) + at, static_cast<const char*>(expected.raw()) + at, size) == 0)
      continue;
    const double a = got.at(i);
    const double b = expected.at(i);
    if (a != a && b != b) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a) + " instead of " + std::to_string(b);
  }
  return "";
}

Tensor mixed_tensor(DType dtype, const Shape& shape, unsigned seed, bool special) {
  std::mt19937 random(seed);
  Tensor t(dtype, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const double u = static_cast<double>(random()) * 0x1p-32 - 0.5;
    switch (dtype) {
      case DType::f32: {
        float value = static_cast<float>(u * 8);
        if (special) {
          const unsigned pick = random() % 64;
          if (pick == 0) value = std::numeric_limits<float>::quiet_NaN();
          if (pick == 1) value = std::numeric_limits<float>::infinity();
          if (pick == 2) value = -std::numeric_limits<float>::infinity();
          if (pick == 3 || pick == 4) value = pick == 3 ? 0.0f : -0.0f;
          if (pick > 48) value = static_cast<float>(static_cast<int>(u * 8));  // so that equal values meet
          if (pick > 60) value *= 1e12f;
        }
        t.data<float>()[i] = value;
        break;
      }
      // Any bits, also NaN, infinity, and subnormal f16 numbers. Subnormal bf16 numbers are also subnormal in f32 and
      // flushed.
      case DType::bf16:
      case DType::f16:
        t.set(i, u * 8);
        if (special && random() % 4 == 0) {
          auto bits = static_cast<std::uint16_t>(random());
          if (dtype == DType::bf16 && (bits & 0x7f80u) == 0) bits &= 0x8000u;
          static_cast<std::uint16_t*>(t.raw())[i] = bits;
        }
        break;
      case DType::boolean: t.data<bool>()[i] = u > 0; break;
      case DType::u8: t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(random() % 3 ? random() : 0); break;
      case DType::i32: t.data<std::int32_t>()[i] = static_cast<std::int32_t>(random()); break;
      default: t.set(i, u * 100); break;
    }
  }
  return t;
}

}  // namespace ridgeline::device
