// Dense layers by the library's matrix products with bits that do not depend on the team: products made for one thread,
// each over some outputs (of the gradient by x: some inputs) in plain rows, dealt out to the team. Each result is one
// product's, so nothing is added up; where the parts begin follows from the shapes alone.
#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/onednn/common.h"
#include "ridgeline/device/cpu/onednn/kernels.h"

namespace ridgeline::device {
namespace {

constexpr std::int64_t kMostParts = 16;
constexpr std::int64_t kPartGrain = 64;  // columns: whole blocks of the library's kernels

// A part of a matrix.
Desc part_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_step, std::int64_t column_step) {
  return Desc({rows, columns}, dnnl::memory::data_type::f32, {row_step, column_step});
}

class DenseParts final : public Kernel {
 public:
  using Argument = OnednnKernel::Argument;
  struct Part {
    dnnl::primitive primitive;
    std::vector<Argument> arguments;
    std::vector<std::int64_t> first;  // elements, by argument
    std::vector<dnnl::memory> memories = {};
    std::vector<dnnl_exec_arg_t> execution = {};
  };

  DenseParts() {
    for (int i = 0; i < threads_; ++i) streams_.emplace_back(onednn_engine());
  }

  void add(const dnnl::matmul::primitive_desc& desc, std::vector<Argument> arguments, std::vector<std::int64_t> first) {
    Part part{dnnl::matmul(desc), std::move(arguments), std::move(first)};
    const Desc scratchpad = desc.scratchpad_desc();
    if (scratchpad.get_size() > 0) {
      part.arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, Argument::scratch, 0});
      part.first.push_back(0);
      thread_scratch_ = std::max(thread_scratch_, (scratchpad.get_size() + 63) / 64 * 64);
    }
    for (const Argument& argument : part.arguments) {
      part.memories.emplace_back(argument.desc, onednn_engine(), static_cast<void*>(nullptr));
      part.execution.push_back({argument.id, part.memories.back().get()});
    }
    parts_.push_back(std::move(part));
    scratch_bytes = static_cast<std::size_t>(threads_) * thread_scratch_;
  }

  // result 1 [columns] = the sum of operand 1 [rows, columns] over its rows.
  void add_column_sums(std::int64_t rows, std::int64_t columns) { sum_rows_ = rows, sum_columns_ = columns; }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const auto count = static_cast<std::int64_t>(parts_.size());
    parallel_team([&](int thread, int threads) {
      const ComputeScope alone(1);
      for (std::int64_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i)
        run_part(parts_[static_cast<std::size_t>(i)], a, thread);
    });
    if (sum_rows_ > 0) sum_columns(static_cast<const float*>(a.inputs[1]), static_cast<float*>(a.outputs[1]));
  }

 private:
  void run_part(Part& part, const KernelArguments& a, int thread) {
    for (std::size_t i = 0; i < part.arguments.size(); ++i) {
      const Argument& argument = part.arguments[i];
      const std::int64_t first = part.first[i];
      void* address = nullptr;
      switch (argument.where) {
        case Argument::input: address = static_cast<float*>(a.inputs[argument.at]) + first; break;
        case Argument::output: address = static_cast<float*>(a.outputs[argument.at]) + first; break;
        case Argument::scratch:
          address = static_cast<char*>(a.scratch) + static_cast<std::size_t>(thread) * thread_scratch_;
          break;
      }
      part.memories[i].set_data_handle(address);
    }
    const dnnl_status_t status =
        dnnl_primitive_execute(part.primitive.get(), streams_[static_cast<std::size_t>(thread)].get(),
                               static_cast<int>(part.execution.size()), part.execution.data());
    if (status != dnnl_success) throw Error("[" + name + "] oneDNN failed with status " + std::to_string(status));
  }

  void sum_columns(const float* from, float* sums) const {
    constexpr std::int64_t kColumns = 64;
    parallel_for(sum_columns_, kColumns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += kColumns) {
        const std::int64_t count = std::min(kColumns, end - first);
        double total[kColumns] = {};
        for (std::int64_t row = 0; row < sum_rows_; ++row) {
          const float* const at = from + row * sum_columns_ + first;
          for (std::int64_t i = 0; i < count; ++i) total[i] += static_cast<double>(at[i]);
        }
        for (std::int64_t i = 0; i < count; ++i) sums[first + i] = static_cast<float>(total[i]);
      }
    });
  }

  int threads_ = compute_threads();
  std::vector<dnnl::stream> streams_;  // one a thread
  std::vector<Part> parts_;
  std::size_t thread_scratch_ = 0;
  std::int64_t sum_rows_ = 0, sum_columns_ = 0;
};

// Calls make(first, count) for each part of `length` columns, on one thread.
template <class Make>
KernelChoice make_parts(const KernelRequest& request, std::int64_t length, const Make& make) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  if (auto refusal = refuse_huge(request)) return *refusal;
  for (const KernelOperand& operand : request.inputs) {
    if (!operand.free && !operand.layout.plain()) return Refusal{"an operand lies in " + operand.layout.name()};
  }
  auto kernel = std::make_unique<DenseParts>();
  const std::int64_t least = (length + kMostParts - 1) / kMostParts;
  const std::int64_t columns = (least + kPartGrain - 1) / kPartGrain * kPartGrain;
  const ComputeScope alone(1);
  try {
    for (std::int64_t first = 0; first < length; first += columns) {
      const std::string implementation = make(*kernel, first, std::min(columns, length - first));
      if (speed_of(implementation) == Speed::loops) return Refusal{"oneDNN has only plain loops for it"};
      if (first == 0) kernel->name = "onednn " + std::string(request.def.name) + " " + implementation + ", parts";
    }
  } catch (const dnnl::error& error) {
    return Refusal{std::string("oneDNN has no primitive for it (") + error.what() + ")"};
  }
  return kernel;
}

using Argument = OnednnKernel::Argument;

}  // namespace

KernelChoice make_dense_parts(const KernelRequest& request) {
  const Shape &x = request.inputs[0].type.shape, &w = request.inputs[1].type.shape;
  const std::int64_t n = x[0], c = x[1], k = w[0];
  const ForwardEnding ending(request);
  return make_parts(request, k, [&](DenseParts& kernel, std::int64_t first, std::int64_t count) -> std::string {
    const Desc rows = part_matrix(n, c, c, 1), weights = part_matrix(c, count, 1, c), y = part_matrix(n, count, k, 1);
    const Desc bias = part_matrix(1, count, count, 1);
    const dnnl::primitive_attr attributes = ending.attributes(y);
    const dnnl::matmul::primitive_desc desc =
        ending.bias ? dnnl::matmul::primitive_desc(onednn_engine(), rows, weights, bias, y, attributes)
                    : dnnl::matmul::primitive_desc(onednn_engine(), rows, weights, y, attributes);
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, rows, Argument::input, 0},
                                       {DNNL_ARG_WEIGHTS, weights, Argument::input, 1},
                                       {DNNL_ARG_DST, y, Argument::output, 0}};
    std::vector<std::int64_t> at = {0, first * c, first};
    ending.add_arguments(bias, y, arguments);
    at.resize(arguments.size(), first);
    kernel.add(desc, std::move(arguments), std::move(at));
    return desc.impl_info_str();
  });
}

KernelChoice make_dense_bwd_data_parts(const KernelRequest& request) {
  const Shape &dy = request.inputs[0].type.shape, &w = request.inputs[1].type.shape;
  const std::int64_t n = dy[0], k = dy[1], c = w[1];
  return make_parts(request, c, [&](DenseParts& kernel, std::int64_t first, std::int64_t count) -> std::string {
    const Desc rows = part_matrix(n, k, k, 1), weights = part_matrix(k, count, c, 1), dx = part_matrix(n, count, c, 1);
    const dnnl::matmul::primitive_desc desc(onednn_engine(), rows, weights, dx, user_scratchpad());
    kernel.add(desc,
               {{DNNL_ARG_SRC, rows, Argument::input, 0},
                {DNNL_ARG_WEIGHTS, weights, Argument::input, 1},
                {DNNL_ARG_DST, dx, Argument::output, 0}},
               {0, first, first});
    return desc.impl_info_str();
  });
}

KernelChoice make_dense_bwd_weights_parts(const KernelRequest& request) {
  const Shape &x = request.inputs[0].type.shape, &dy = request.inputs[1].type.shape;
  const std::int64_t n = x[0], c = x[1], k = dy[1];
  for (const KernelOperand& result : request.outputs) {
    if (!result.free && !result.layout.plain()) return Refusal{"the gradient is wanted in " + result.layout.name()};
  }
  return make_parts(request, k, [&](DenseParts& kernel, std::int64_t first, std::int64_t count) -> std::string {
    const Desc turned = part_matrix(count, n, 1, k), columns = part_matrix(n, c, c, 1),
               dw = part_matrix(count, c, c, 1);
    const dnnl::matmul::primitive_desc desc(onednn_engine(), turned, columns, dw, user_scratchpad());
    kernel.add(desc,
               {{DNNL_ARG_SRC, turned, Argument::input, 1},
                {DNNL_ARG_WEIGHTS, columns, Argument::input, 0},
                {DNNL_ARG_DST, dw, Argument::output, 0}},
               {first, 0, first * c});
    if (request.outputs.size() == 2) kernel.add_column_sums(n, k);
    return desc.impl_info_str();
  });
}

}  // namespace ridgeline::device
