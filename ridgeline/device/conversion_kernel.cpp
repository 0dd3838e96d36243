#include "ridgeline/device/conversion_kernel.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

class ThroughPlain final : public Kernel {
 public:
  ThroughPlain(const ValueType& type, Layout from, Layout to)
      : from_(std::move(from)), to_(std::move(to)), bytes_(from_.bytes(type)) {
    if (!from_.plain() && !to_.plain()) scratch_bytes = type.bytes();
  }

  void run(const KernelArguments& arguments) override {
    const void* in = arguments.inputs[0];
    void* out = arguments.outputs[0];
    if (from_ == to_) {
      std::memcpy(out, in, bytes_);
    } else if (to_.plain()) {
      from_.blocked()->to_plain(in, out);
    } else if (from_.plain()) {
      to_.blocked()->from_plain(in, out);
    } else {
      from_.blocked()->to_plain(in, arguments.scratch);
      to_.blocked()->from_plain(arguments.scratch, out);
    }
  }

 private:
  Layout from_;
  Layout to_;
  std::size_t bytes_;
};

// To plain rows in scratch memory, and from there; both without allocating.
class TwoSteps final : public Kernel {
 public:
  TwoSteps(std::unique_ptr<Kernel> to_plain, std::unique_ptr<Kernel> from_plain, std::size_t plain_bytes)
      : to_plain_(std::move(to_plain)), from_plain_(std::move(from_plain)), own_scratch_((plain_bytes + 63) / 64 * 64) {
    scratch_bytes = own_scratch_ + std::max(to_plain_->scratch_bytes, from_plain_->scratch_bytes);
  }

  void run(const KernelArguments& arguments) override {
    void* const plain = arguments.scratch;
    void* const rest = static_cast<char*>(arguments.scratch) + own_scratch_;
    to_plain_->run({arguments.inputs, &plain, rest});
    from_plain_->run({&plain, arguments.outputs, rest});
  }

 private:
  std::unique_ptr<Kernel> to_plain_;
  std::unique_ptr<Kernel> from_plain_;
  std::size_t own_scratch_;  // the plain rows, rounded up to the alignment
};

std::unique_ptr<Kernel> through_plain(const ValueType& type, const Layout& from, const Layout& to) {
  if (!from.plain() && !to.plain()) {
    auto first = from.blocked()->make_conversion_to_plain();
    auto second = to.blocked()->make_conversion(nullptr);
    if (first && second) return std::make_unique<TwoSteps>(std::move(first), std::move(second), type.bytes());
  }
  return std::make_unique<ThroughPlain>(type, from, to);
}

}  // namespace

void BlockedLayout::to_plain(const void*, void*) const {
  RIDGELINE_CHECK(false, "the values of a one-way layout cannot be had back");
}
std::unique_ptr<Kernel> BlockedLayout::make_conversion(const BlockedLayout*) const { return nullptr; }
std::unique_ptr<Kernel> BlockedLayout::make_conversion_to_plain() const { return nullptr; }
std::unique_ptr<Kernel> BlockedLayout::make_cast(DType, const BlockedLayout*) const { return nullptr; }
std::unique_ptr<Kernel> BlockedLayout::make_cast_to_plain(DType) const { return nullptr; }

std::unique_ptr<Kernel> make_cast_conversion(DType from_type, const Layout& from, DType to_type, const Layout& to) {
  std::unique_ptr<Kernel> kernel;
  if (!to.plain())
    kernel = to.blocked()->make_cast(from_type, from.blocked());
  else if (!from.plain())
    kernel = from.blocked()->make_cast_to_plain(to_type);
  if (!kernel) return nullptr;
  kernel->name = "cast " + std::string(name_of(from_type)) + " " + from.name() + " to " +
                 std::string(name_of(to_type)) + " " + to.name();
  kernel->input_layouts = {from};
  kernel->output_layouts = {to};
  return kernel;
}

std::unique_ptr<Kernel> make_conversion_kernel(const ValueType& type, const Layout& from, const Layout& to) {
  RIDGELINE_CHECK(!from.one_way() || from == to, "there is no way from " + from.name() + " to " + to.name());
  std::unique_ptr<Kernel> kernel;
  if (from != to) {
    kernel = to.plain() ? from.blocked()->make_conversion_to_plain() : to.blocked()->make_conversion(from.blocked());
  }
  if (!kernel) kernel = through_plain(type, from, to);
  kernel->name = "convert " + from.name() + " to " + to.name();
  kernel->input_layouts = {from};
  kernel->output_layouts = {to};
  return kernel;
}

}  // namespace ridgeline
