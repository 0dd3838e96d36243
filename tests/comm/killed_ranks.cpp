#include "tests/comm/killed_ranks.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace ridgeline::comm {

int kills(int otherwise) {
  const char* given = std::getenv("RIDGELINE_KILLS");
  return given == nullptr ? otherwise : std::atoi(given);
}

void kill_this_process_after(std::chrono::microseconds moment) {
  std::thread([moment] {
    std::this_thread::sleep_for(moment);
    ::kill(::getpid(), SIGKILL);
  }).detach();
}

void exchange_for_ever(Communicator& c) {
  std::mt19937 random(5);  // the same on all ranks
  std::vector<float> values(300'000, 1.0f), other(values.size() * static_cast<std::size_t>(c.size()));
  const std::shared_ptr<void> memory = c.allocate(1 << 20);
  for (;;) {
    const auto count = static_cast<std::int64_t>(1 + random() % 300'000);
    switch (random() % 7) {
      case 0: c.all_reduce(values.data(), count, DType::f32, Reduction::max); break;
      case 1: c.all_reduce(memory.get(), count / 2, DType::f32, Reduction::max); break;
      case 2: c.all_gather(values.data(), other.data(), count); break;
      case 3: c.reduce_scatter(other.data(), values.data(), count, DType::f32, Reduction::max); break;
      case 4: c.all_to_all(other.data(), std::vector<float>(other.size()).data(), count); break;
      case 5: c.broadcast(values.data(), count, static_cast<int>(random() % static_cast<unsigned>(c.size()))); break;
      default: c.barrier();
    }
  }
}

}  // namespace ridgeline::comm
