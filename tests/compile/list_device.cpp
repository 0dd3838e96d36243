#include "tests/compile/list_device.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/device/reference_kernel.h"

namespace ridgeline::testing {
namespace {

class BodyKernel final : public Kernel {
 public:
  BodyKernel(std::string kernel_name, std::function<void(const KernelArguments&)> body) : body_(std::move(body)) {
    name = std::move(kernel_name);
  }
  void run(const KernelArguments& arguments) override { body_(arguments); }

 private:
  std::function<void(const KernelArguments&)> body_;
};

const float* in(const KernelArguments& a, int i) { return static_cast<const float*>(a.inputs[i]); }
float* out(const KernelArguments& a, int i) { return static_cast<float*>(a.outputs[i]); }

// A permutation of the elements, each times `factor`.
class PermutedLayout final : public BlockedLayout {
 public:
  using Place = std::int64_t (*)(std::int64_t i, std::int64_t rows, std::int64_t columns);
  PermutedLayout(std::string layout_name, const ValueType& type, Place place, float factor)
      : name_(std::move(layout_name)), count_(type.shape.elements()), place_(place), factor_(factor) {
    rows_ = type.shape.rank() == 0 ? 1 : type.shape[0];
  }
  std::size_t bytes() const override { return static_cast<std::size_t>(count_) * sizeof(float); }
  std::string name() const override { return name_; }
  bool equals(const BlockedLayout& other) const override {
    const auto* same = dynamic_cast<const PermutedLayout*>(&other);
    return same != nullptr && same->name_ == name_ && same->count_ == count_ && same->rows_ == rows_;
  }
  bool one_way() const override { return factor_ != 1; }
  void to_plain(const void* blocked, void* plain) const override {
    RIDGELINE_CHECK(!one_way(), "asked for the way back");
    for (std::int64_t i = 0; i < count_; ++i) {
      static_cast<float*>(plain)[i] = static_cast<const float*>(blocked)[place_(i, rows_, count_ / rows_)];
    }
  }
  void from_plain(const void* plain, void* blocked) const override {
    if (one_way()) ++tilted_made();
    for (std::int64_t i = 0; i < count_; ++i) {
      static_cast<float*>(blocked)[place_(i, rows_, count_ / rows_)] = factor_ * static_cast<const float*>(plain)[i];
    }
  }

 private:
  std::string name_;
  std::int64_t count_, rows_;
  Place place_;
  float factor_;
};

std::int64_t by_columns(std::int64_t i, std::int64_t rows, std::int64_t columns) {
  return i % columns * rows + i / columns;
}
std::int64_t from_behind(std::int64_t i, std::int64_t rows, std::int64_t columns) { return rows * columns - 1 - i; }

Layout permuted(const char* name, const ValueType& type, PermutedLayout::Place place, float factor) {
  return Layout(std::make_shared<PermutedLayout>(name, type, place, factor));
}

// y = x * w, weights stored by columns, each `scale` times too large.
std::unique_ptr<Kernel> column_product(const KernelRequest& request, Layout weights, float scale) {
  const std::int64_t n = request.inputs[0].type.shape[0];
  const std::int64_t c = request.inputs[0].type.shape[1];
  const std::int64_t k = request.inputs[1].type.shape[0];
  auto kernel = std::make_unique<BodyKernel>("dense over " + weights.name(), [=](const KernelArguments& a) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        double sum = 0;
        for (std::int64_t m = 0; m < c; ++m) sum += double(in(a, 0)[i * c + m]) * double(in(a, 1)[m * k + j]);
        out(a, 0)[i * k + j] = static_cast<float>(sum / scale);
      }
    }
  });
  kernel->input_layouts = {Layout(), std::move(weights)};
  kernel->output_layouts = {Layout()};
  return kernel;
}

bool plain_dense(const KernelRequest& request) {
  return request.inputs.size() == 2 && request.node.attributes.string("activation") == "none";
}

bool one_pixel(const KernelRequest& request) {
  const auto is = [&](const char* name, std::int64_t value) {
    const auto& list = request.node.attributes.integers(name);
    return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v == value; });
  };
  return is("kernel", 1) && is("stride", 1) && is("pad", 0);
}

}  // namespace

std::vector<KernelEntry> ListDevice::kernels(std::string_view op) const {
  std::vector<KernelEntry> list;
  for (const KernelEntry& entry : entries_) {
    if (entry.op == op) list.push_back(entry);
  }
  const OpDef* def = find_op(op);
  if (def && def->reference) list.push_back(reference_entry(*def));
  return list;
}

SessionOptions on_list_device(std::vector<KernelEntry> entries, FusionLimits limits) {
  SessionOptions options;
  options.make_device = [entries = std::move(entries), limits = std::move(limits)] {
    return std::make_unique<ListDevice>(entries, limits);
  };
  return options;
}

Layout columns_layout(const ValueType& type) { return permuted("columns", type, by_columns, 1); }
Layout tilted_layout(const ValueType& type) { return permuted("tilted", type, by_columns, 2); }
Layout backwards_layout(const ValueType& type) { return permuted("backwards", type, from_behind, 1); }

int& tilted_made() {
  static int count = 0;
  return count;
}

KernelChoice make_tilted_dense(const KernelRequest& request) {
  if (!plain_dense(request)) return Refusal{"only a plain product"};
  return column_product(request, tilted_layout(request.inputs[1].type), 2);
}

KernelChoice make_columns_dense(const KernelRequest& request) {
  if (!plain_dense(request)) return Refusal{"only a plain product"};
  return column_product(request, columns_layout(request.inputs[1].type), 1);
}

KernelChoice make_tilted_dense_bwd_data(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].type.shape[0];
  const std::int64_t k = request.inputs[1].type.shape[0];
  const std::int64_t c = request.inputs[1].type.shape[1];
  auto kernel = std::make_unique<BodyKernel>("tilted dense_bwd_data", [=](const KernelArguments& a) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t m = 0; m < c; ++m) {
        double sum = 0;
        for (std::int64_t j = 0; j < k; ++j) sum += double(in(a, 0)[i * k + j]) * double(in(a, 1)[m * k + j]);
        out(a, 0)[i * c + m] = static_cast<float>(sum / 2);
      }
    }
  });
  kernel->input_layouts = {Layout(), tilted_layout(request.inputs[1].type)};
  kernel->output_layouts = {Layout()};
  return kernel;
}

KernelChoice make_backwards_max_pool(const KernelRequest& request) {
  if (!one_pixel(request)) return Refusal{"only windows of one pixel"};
  if (!request.outputs[0].free) return Refusal{"only where the result may lie backwards"};
  const std::int64_t count = request.inputs[0].type.shape.elements();
  auto kernel = std::make_unique<BodyKernel>("backwards max_pool", [=](const KernelArguments& a) {
    for (std::int64_t i = 0; i < count; ++i) out(a, 0)[count - 1 - i] = in(a, 0)[i];
    std::fill_n(static_cast<std::uint8_t*>(a.outputs[1]), count, std::uint8_t{0});
  });
  kernel->input_layouts = {Layout()};
  kernel->output_layouts = {backwards_layout(request.outputs[0].type), Layout()};
  return kernel;
}

KernelChoice make_either_avg_pool(const KernelRequest& request) {
  if (!one_pixel(request)) return Refusal{"only windows of one pixel"};
  const std::int64_t count = request.inputs[0].type.shape.elements();
  const bool backwards = !request.inputs[0].layout.plain();
  auto kernel = std::make_unique<BodyKernel>("either avg_pool", [=](const KernelArguments& a) {
    for (std::int64_t i = 0; i < count; ++i) out(a, 0)[i] = in(a, 0)[backwards ? count - 1 - i : i];
  });
  kernel->input_layouts = {request.inputs[0].layout};
  kernel->output_layouts = {Layout()};
  return kernel;
}

KernelChoice make_never(const KernelRequest&) { return Refusal{"it takes nothing"}; }

}  // namespace ridgeline::testing
