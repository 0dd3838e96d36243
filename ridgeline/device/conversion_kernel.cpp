#include "ridgeline/device/conversion_kernel.h"

#include <cstring>

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

}  // namespace

std::unique_ptr<Kernel> BlockedLayout::make_conversion(const BlockedLayout*) const { return nullptr; }
std::unique_ptr<Kernel> BlockedLayout::make_conversion_to_plain() const { return nullptr; }

std::unique_ptr<Kernel> make_conversion_kernel(const ValueType& type, const Layout& from, const Layout& to) {
  std::unique_ptr<Kernel> kernel;
  if (from != to) {
    kernel = to.plain() ? from.blocked()->make_conversion_to_plain() : to.blocked()->make_conversion(from.blocked());
  }
  if (!kernel) kernel = std::make_unique<ThroughPlain>(type, from, to);
  kernel->name = "convert " + from.name() + " to " + to.name();
  kernel->input_layouts = {from};
  kernel->output_layouts = {to};
  return kernel;
}

}  // namespace ridgeline
