#include "ridgeline/device/cuda/driver/context.h"

#include <fmt/format.h>

#include <array>

#include "ridgeline/device/cuda/driver/real.h"

namespace ridgeline::cuda {
namespace {

constexpr int kLeastCapability = 80;  // of the PTX that the plug-in carries

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

std::shared_ptr<Calls> start_driver(std::unique_ptr<Driver> driver, Calls::Fault fault) {
  auto calls = std::make_shared<Calls>(std::move(driver), std::move(fault));
  const std::string origin(calls->driver().origin());
  calls->make("cuInit", origin, &Driver::initialize);
  int version = 0;
  calls->make("cuDriverGetVersion", origin, &Driver::driver_version, &version);
  if (version < kLeastDriverVersion) {
    throw Error(fmt::format("[cuda] the driver is too old: {} is for CUDA {}, {} or later is needed", origin,
                            version_text(version), version_text(kLeastDriverVersion)));
  }
  return calls;
}

int card_count(Calls& calls) {
  int count = 0;
  const Result code = calls.answer("cuDeviceGetCount", &Driver::device_count, &count);
  if (code == result::kNoDevice) return 0;
  if (code != result::kSuccess) calls.fail("cuDeviceGetCount", "", code);
  return count;
}

CardInfo card_info(Calls& calls, int index) {
  const std::string subject = fmt::format("cuda:{}", index);
  DeviceOrdinal device = 0;
  calls.make("cuDeviceGet", subject, &Driver::device_get, &device, index);
  CardInfo info;
  std::array<char, 256> name{};
  calls.make("cuDeviceGetName", subject, &Driver::device_name, name.data(), static_cast<int>(name.size() - 1), device);
  info.name = name.data();
  unsigned char uuid[16] = {};
  calls.make("cuDeviceGetUuid", subject, &Driver::device_uuid, &uuid, device);
  for (unsigned char byte : uuid) info.uuid += fmt::format("{:02x}", byte);
  calls.make("cuDriverGetVersion", subject, &Driver::driver_version, &info.driver_version);
  calls.make("cuDeviceTotalMem", subject, &Driver::device_memory, &info.memory_bytes, device);
  const auto attribute = [&](Attribute which) {
    int value = 0;
    calls.make("cuDeviceGetAttribute", subject, &Driver::device_attribute, &value, which, device);
    return value;
  };
  info.compute_capability =
      10 * attribute(Attribute::compute_capability_major) + attribute(Attribute::compute_capability_minor);
  info.multiprocessors = attribute(Attribute::multiprocessors);
  info.clock_khz = attribute(Attribute::clock_rate);
  info.memory_clock_khz = attribute(Attribute::memory_clock_rate);
  info.memory_bus_bits = attribute(Attribute::memory_bus_width);
  info.l2_bytes = static_cast<std::size_t>(attribute(Attribute::l2_cache_bytes));
  info.shared_bytes = attribute(Attribute::max_shared_memory_per_block_optin);
  return info;
}

std::string unsupported(const CardInfo& card) {
  if (card.compute_capability >= kLeastCapability) return {};
  return fmt::format("{} has compute capability {}.{}, {}.{} or later is needed", card.name,
                     card.compute_capability / 10, card.compute_capability % 10, kLeastCapability / 10,
                     kLeastCapability % 10);
}

Context::Context(std::shared_ptr<Calls> calls, int index) : calls_(std::move(calls)) {
  const int count = card_count(*calls_);
  if (count == 0) throw Error("[cuda] the driver shows this process no card (CUDA_VISIBLE_DEVICES?)");
  if (index < 0 || index >= count) {
    throw Error(
        fmt::format("[cuda] there is no cuda:{}: the driver shows cards 0 to {} (of several ranks each takes its "
                    "own, unless all are given one by its number, as cuda:0)",
                    index, count - 1));
  }
  info_ = card_info(*calls_, index);
  if (const std::string why = unsupported(info_); !why.empty()) throw Error("[cuda] " + why);
  const std::string subject = fmt::format("cuda:{}", index);
  calls_->make("cuDeviceGet", subject, &Driver::device_get, &device_, index);
  calls_->make("cuDevicePrimaryCtxRetain", subject, &Driver::context_retain, &handle_, device_);
}

Context::~Context() { calls_->answer("cuDevicePrimaryCtxRelease", &Driver::context_release, device_); }

void Context::enter() { calls_->make("cuCtxSetCurrent", info_.name, &Driver::context_set, handle_); }

std::size_t Context::free_bytes() {
  std::size_t free = 0, total = 0;
  make("cuMemGetInfo", "", &Driver::memory_info, &free, &total);
  return free;
}

void Context::synchronize() { make("cuCtxSynchronize", "", &Driver::context_synchronize); }

}  // namespace ridgeline::cuda
