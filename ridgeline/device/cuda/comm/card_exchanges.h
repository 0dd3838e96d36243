// ridgeline/device/cuda/comm/card_exchanges.h
//
// The exchanges of a card with those of other ranks: from card to card by NCCL where all ranks of a group can, else by
// way of the host. Ranks agree when the first exchange of a group is compiled, which all of them compile. Owned by the
// device. By the thread that compiles programs.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/comm/agreement.h"
#include "ridgeline/device/cuda/comm/card_exchange.h"
#include "ridgeline/device/cuda/comm/exchange_watch.h"
#include "ridgeline/device/device.h"

namespace ridgeline::cuda {

class CudaDevice;

class CardExchanges {
 public:
  CardExchanges(CudaDevice& device, ExchangeOptions options);

  // For the stream of exchanges.
  std::unique_ptr<Kernel> kernel(const CollectiveRequest& request);

 private:
  // Null: these ranks exchange by way of the host.
  std::shared_ptr<CardGroup> group(comm::Communicator& ranks, const std::vector<int>& members);
  std::shared_ptr<CardGroup> agree(comm::Communicator& ranks, const std::vector<int>& members);
  CardRecord own_record() const;
  std::shared_ptr<DeviceMemory> scratch(std::size_t bytes);
  void say_once(const std::string& line);

  CudaDevice& device_;
  ExchangeOptions options_;
  std::set<std::string> said_;
  std::shared_ptr<DeviceMemory> scratch_;  // exchanges run one after the other
  std::map<std::pair<const comm::Communicator*, std::vector<int>>, std::shared_ptr<CardGroup>> groups_;
  ExchangeWatch watch_;  // last: it looks at groups
};

}  // namespace ridgeline::cuda
