#include "ridgeline/device/cuda/make_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/driver/real.h"
#include "ridgeline/device/cuda/driver/recording.h"
#include "ridgeline/device/cuda/kernels/host_kernels.h"
#include "ridgeline/device/cuda/library.h"

namespace ridgeline::cuda {
namespace {

std::unique_ptr<Driver> chosen_driver() {
  const char* named = std::getenv("RIDGELINE_CUDA_DRIVER");
  if (named == nullptr || *named == '\0') return open_driver();
  if (std::string_view(named) == "recording") return RecordingDriver::make({.kernels = host_kernels()});
  throw Error(fmt::format("RIDGELINE_CUDA_DRIVER is '{}' (allowed: recording, or empty)", named), ErrorKind::usage);
}

ExchangeOptions exchange_options() {
  const char* over = std::getenv(kCardsOver);
  return {.over = cards_over_named(over == nullptr ? "" : over, kCardsOver)};
}

}  // namespace

std::unique_ptr<Device> make_device(const DeviceOptions& options, std::span<const KernelImage> images) {
  auto context = std::make_shared<Context>(start_driver(chosen_driver()), options.ordinal);
  CudaDeviceOptions card{
      .promise = options.promise, .images = images, .tune = !options.tune.empty(), .exchanges = exchange_options()};
  if (options.ordinal > 0) card.name += fmt::format(":{}", options.ordinal);
  return std::make_unique<CudaDevice>(std::move(context), std::move(card));
}

std::string describe_cards() {
  const std::shared_ptr<Calls> calls = start_driver(chosen_driver());
  std::string text;
  const int count = card_count(*calls);
  if (count == 0) throw Error("[cuda] the driver shows this process no card (CUDA_VISIBLE_DEVICES?)");
  for (int index = 0; index < count; ++index) {
    const CardInfo card = card_info(*calls, index);
    const std::string why = unsupported(card);
    text +=
        fmt::format("cuda:{}: {}, compute capability {}.{}, {} multiprocessors, {:.1f} GB, driver for CUDA {}.{}{}\n",
                    index, card.name, card.compute_capability / 10, card.compute_capability % 10, card.multiprocessors,
                    static_cast<double>(card.memory_bytes) * 1e-9, card.driver_version / 1000,
                    card.driver_version % 1000 / 10, why.empty() ? "" : "; cannot be used: " + why);
  }
  for (const LibraryInfo& info : libraries()) {
    if (info.name == LibraryName::driver) continue;
    try {
      text += fmt::format("{}: {}\n", info.file, Library::open(info.name).path());
    } catch (const Error& error) {
      text += fmt::format("{}\n", error.what());
    }
  }
  text.pop_back();
  return text;
}

}  // namespace ridgeline::cuda
