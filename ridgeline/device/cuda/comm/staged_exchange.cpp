#include "ridgeline/device/cuda/comm/staged_exchange.h"

#include <vector>

#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/device_stream.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline::cuda {
namespace {

class StagedExchange final : public Kernel {
 public:
  StagedExchange(CudaDevice& cuda, const CollectiveRequest& request)
      : cuda_(cuda), exchange_(make_collective_kernel(request)) {
    name = exchange_->name + " by way of the host";
    device = &cuda;
    const bool conditional = request.start.attributes.boolean("conditional");
    const bool packed = collective_rule(request.start).packed;
    const std::size_t last = request.bytes.size() - 1;
    inputs_.resize(request.bytes.size(), nullptr);
    // The result of packed values is exchanged in place. If the condition is false it stays unchanged.
    if (!packed) read_.push_back({0, stage(request.bytes[0], inputs_[0]), request.bytes[0]});
    if (conditional) read_.push_back({last, stage(request.bytes[last], inputs_[last]), request.bytes[last]});
    result_ = {0, stage(request.pending_bytes, output_), request.pending_bytes};
    reads_result_ = packed || conditional;
  }

  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream).driver_stream();
    for (const Staged& value : read_)
      stream.copy_to_host(value.host, device_address(a.inputs[value.operand]), value.bytes);
    if (reads_result_) stream.copy_to_host(result_.host, device_address(a.outputs[0]), result_.bytes);
    stream.host_function([](void* exchange) { static_cast<StagedExchange*>(exchange)->exchange_on_host(); }, this);
    stream.copy_to_device(device_address(a.outputs[0]), result_.host, result_.bytes);
  }

 private:
  struct Staged {
    std::size_t operand = 0;
    void* host = nullptr;
    std::size_t bytes = 0;
  };

  void* stage(std::size_t bytes, void*& place) {
    pinned_.push_back(cuda_.allocate_pinned(bytes));
    return place = pinned_.back()->address();
  }

  // Runs on a thread of the driver. After a failure nothing more is exchanged: the communicator is unusable.
  void exchange_on_host() {
    if (cuda_.host_failure().there()) return;
    try {
      exchange_->run({inputs_.data(), &output_, nullptr});
    } catch (...) {
      cuda_.host_failure().keep(std::current_exception());
    }
  }

  CudaDevice& cuda_;
  std::unique_ptr<Kernel> exchange_;
  std::vector<std::unique_ptr<DeviceMemory>> pinned_;
  std::vector<void*> inputs_;
  void* output_ = nullptr;
  std::vector<Staged> read_;
  Staged result_;
  bool reads_result_ = false;
};

}  // namespace

std::unique_ptr<Kernel> make_staged_exchange(CudaDevice& device, const CollectiveRequest& request) {
  return std::make_unique<StagedExchange>(device, request);
}

}  // namespace ridgeline::cuda
