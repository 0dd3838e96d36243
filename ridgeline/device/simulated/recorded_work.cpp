#include "ridgeline/device/simulated/recorded_work.h"

#include "ridgeline/core/error.h"
#include "ridgeline/device/simulated/arena.h"

namespace ridgeline {
namespace {

constexpr auto kCompute = static_cast<std::size_t>(StreamPurpose::compute);

}  // namespace

void RecordedWork::add(StreamPurpose stream, SimulatedWork work) {
  const auto s = static_cast<std::size_t>(stream);
  switch (work.kind) {
    case SimulatedWork::Kind::work:
      if (s != kCompute && order_.record(s)[kCompute] == 0) {
        throw Error("[simulated] " + work.what + " is recorded on a stream that does not wait for the compute stream");
      }
      order_.add(s, work.accesses, work.what);
      break;
    case SimulatedWork::Kind::record:
      // Forking off counts as work of the compute stream: who waits for it comes behind the beginning.
      if (s == kCompute) order_.add(s, {}, "");
      events_[work.event] = order_.record(s);
      break;
    case SimulatedWork::Kind::wait: {
      const auto event = events_.find(work.event);
      if (event == events_.end())
        throw Error("[simulated] waiting for an event that was recorded before cannot be recorded");
      order_.wait(s, event->second);
      break;
    }
  }
  items_.push_back({stream, std::move(work)});
}

void RecordedWork::close() {
  const AccessOrder::Clock compute = order_.record(kCompute);
  for (std::size_t s = 0; s < AccessOrder::kStreams; ++s) {
    if (compute[s] < order_.record(s)[s])
      throw Error("[simulated] the recording ends before the compute stream has waited for the others");
  }
}

void RecordedWork::replay() {
  if (device_.recording() != nullptr) throw Error("[simulated] a replay cannot be recorded");
  device_.replayed();
  for (const Item& item : items_) {
    for (const Access& access : item.work.accesses)
      device_.arena().translate(access.begin, access.bytes, "memory of " + item.work.what + ", which is done again,");
    static_cast<SimulatedStream&>(device_.stream_for(item.stream)).give(item.work);
  }
}

}  // namespace ridgeline
