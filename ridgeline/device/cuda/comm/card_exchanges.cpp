#include "ridgeline/device/cuda/comm/card_exchanges.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/log.h"
#include "ridgeline/device/cuda/comm/staged_exchange.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/device_stream.h"

namespace ridgeline::cuda {
namespace {

constexpr std::size_t kLeastScratch = std::size_t{1} << 20;

class StreamSteps final : public ExchangeSteps {
 public:
  StreamSteps(DeviceStream& stream, std::string_view what) : stream_(stream), what_(what) {}
  void call(const LibraryCall& call) override { stream_.driver_stream().library_call(call); }
  void launch(const KernelLaunch& launch) override { stream_.give(what_, launch); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    stream_.driver_stream().copy_on_device(device_address(to), device_address(from), bytes);
  }
  void clear(void* to, std::size_t bytes) override { stream_.driver_stream().fill(device_address(to), 0, bytes); }

 private:
  DeviceStream& stream_;
  std::string_view what_;
};

class CardExchangeKernel final : public Kernel {
 public:
  CardExchangeKernel(CudaDevice& cuda, CardExchange exchange, bool operand, std::shared_ptr<DeviceMemory> scratch)
      : cuda_(cuda), exchange_(std::move(exchange)), operand_(operand), scratch_(std::move(scratch)) {
    name = exchange_.name();
    device = &cuda;
  }

  void run(const KernelArguments& a) override {
    cuda_.host_failure().check_end();
    StreamSteps steps(static_cast<DeviceStream&>(*a.stream), name);
    exchange_.give(steps, operand_ ? a.inputs[0] : nullptr, a.outputs[0], scratch_ ? scratch_->address() : nullptr);
  }

 private:
  CudaDevice& cuda_;
  CardExchange exchange_;
  bool operand_;  // whether the result has memory of its own
  std::shared_ptr<DeviceMemory> scratch_;
};

}  // namespace

CardExchanges::CardExchanges(CudaDevice& device, ExchangeOptions options)
    : device_(device), options_(std::move(options)) {}

std::unique_ptr<Kernel> CardExchanges::kernel(const CollectiveRequest& request) {
  if (request.ranks.size() == 1) return make_staged_exchange(device_, request);
  const CardExchangeOptions options{.exact = device_.promise().bits != Reproducibility::fast,
                                    .scratch_bytes = options_.scratch_bytes};
  const std::shared_ptr<CardGroup> ranks = group(request.ranks, CardExchange::members(request));
  if (!ranks) return make_staged_exchange(device_, request);
  if (const std::string refused = CardExchange::refusal(request, options); !refused.empty()) {
    say_once(refused + " go by way of the host's memory");
    return make_staged_exchange(device_, request);
  }
  CardExchange exchange(request, ranks, options);
  std::shared_ptr<DeviceMemory> memory = exchange.scratch_bytes() > 0 ? scratch(exchange.scratch_bytes()) : nullptr;
  return std::make_unique<CardExchangeKernel>(device_, std::move(exchange), !collective_rule(request.start).packed,
                                              std::move(memory));
}

std::shared_ptr<CardGroup> CardExchanges::group(comm::Communicator& ranks, const std::vector<int>& members) {
  const auto [place, is_new] = groups_.try_emplace({&ranks, members});
  if (!is_new) return place->second;
  try {
    place->second = agree(ranks, members);
  } catch (...) {
    groups_.erase(place);
    throw;
  }
  if (place->second && place->second->uses_nccl()) watch_.add(place->second);
  return place->second;
}

std::shared_ptr<CardGroup> CardExchanges::agree(comm::Communicator& ranks, const std::vector<int>& members) {
  // The stream's exchanges may use the same communicator.
  device_.stream_for(StreamPurpose::exchanges).synchronize();
  const CardRecord own = own_record();
  const std::vector<CardRecord> records = tell_records(ranks, members, own);
  const auto name = [&](int r) { return ranks.name(members[static_cast<std::size_t>(r)]); };
  const std::string reason = reason_against_nccl(records, name);
  if (!reason.empty()) {
    for (std::size_t r = 0; r < records.size(); ++r) {
      if (records[r].over == CardsOver::nccl)
        throw Error(fmt::format("[cuda] {} has {}=nccl, but {}", name(static_cast<int>(r)), kCardsOver, reason),
                    ErrorKind::usage);
    }
    say_once(fmt::format("ranks exchange by way of the host's memory: {}", reason));
    return nullptr;
  }
  std::unique_ptr<nccl::Communicator> made;
  if (own.version != kRecordedVersion) {
    const nccl::Functions& nccl = options_.nccl();
    const auto place = static_cast<int>(std::find(members.begin(), members.end(), ranks.rank()) - members.begin());
    device_.context().enter();
    nccl::UniqueId id{};
    if (place == 0) nccl.check(nccl.unique_id(&id), "ncclGetUniqueId");
    tell_id(ranks, members, id);
    made = std::make_unique<nccl::Communicator>(nccl, static_cast<int>(members.size()), place, id,
                                                [&ranks] { return trouble_of(ranks); });
  }
  say_once("ranks exchange from card to card" +
           (made ? " by NCCL " + nccl::Functions::text_of(own.version) : std::string(", on the recording driver")));
  return std::make_shared<CardGroup>(ranks, members, device_.host_failure(), std::move(made));
}

CardRecord CardExchanges::own_record() const {
  CardRecord record{.over = options_.over};
  const auto keep = [](auto& to, const std::string& text) { text.copy(to, sizeof to - 1); };
  if (device_.context().driver().recording()) {
    record.version = kRecordedVersion;
  } else if (options_.over != CardsOver::host) {
    keep(record.card, device_.context().info().uuid);
    try {
      record.version = options_.nccl().version();
    } catch (const Error& error) {
      keep(record.why, error.what());
    }
  }
  return record;
}

// Sizes are powers of two, so that a larger exchange which comes later seldom leaves memory unused.
std::shared_ptr<DeviceMemory> CardExchanges::scratch(std::size_t bytes) {
  if (!scratch_ || scratch_->bytes() < bytes)
    scratch_ = device_.allocate(std::max(kLeastScratch, std::bit_ceil(bytes)));
  return scratch_;
}

void CardExchanges::say_once(const std::string& line) {
  if (said_.insert(line).second) Log().info(fmt::format("[{}] {}", device_.name(), line));
}

}  // namespace ridgeline::cuda
