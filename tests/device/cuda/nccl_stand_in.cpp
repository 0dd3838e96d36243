#include "tests/device/cuda/nccl_stand_in.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "ridgeline/comm/reduce.h"

namespace ridgeline::cuda::testing {
namespace stand_in {
namespace {

using nccl::DataType, nccl::Handle, nccl::kInProgress, nccl::kSuccess, nccl::Operation, nccl::Result;

constexpr Result kInvalidArgument = 4, kInvalidUsage = 5;
constexpr int kVersion = 22809;

// What all ranks of a communicator say of the same piece of work, and what they gave.
struct Round {
  std::string said;
  std::map<int, std::vector<std::byte>> given;
};

struct World {
  int size = 0, joined = 0, finalized = 0;
  std::map<std::tuple<int, int, int>, std::vector<std::byte>> mail;  // by sender, receiver and which one it is
  std::map<int, Round> rounds;
};

struct Place {
  std::shared_ptr<World> world;
  int rank = 0;
  bool aborted = false, ended = false, finalizes = false;
  int looks = 0;  // that are still answered with "in progress"
  std::map<int, int> sent, taken;
  int rounds = 0;
};

// One stand-in's state, which functions of C have to find.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  NcclStandIn::Fault fault;
  std::map<int, std::shared_ptr<World>> worlds;
  std::map<Handle, std::unique_ptr<Place>> places;
  std::vector<std::string> problems;
  int next_world = 1, aborts = 0;
};
State* state = nullptr;

thread_local int thread_rank = -1;
thread_local int depth = 0;
thread_local bool group_failed = false;  // what comes of its calls is dropped
struct Given {
  StandInStream* stream;
  std::function<void()> sends, receives;
  Place* place;
};
thread_local std::vector<Given> given;

Result fault_of(std::string_view call, int rank) { return state->fault ? state->fault(call, rank) : kSuccess; }

Place* place_of(Handle handle) {
  const auto found = state->places.find(handle);
  return found == state->places.end() || found->second->ended ? nullptr : found->second.get();
}

void problem(const std::string& text) { state->problems.push_back(text); }

std::size_t size_of_type(DataType type) {
  switch (type) {
    case DataType::u8: return 1;
    case DataType::f16:
    case DataType::bf16: return 2;
    case DataType::f32: return 4;
    case DataType::f64: return 8;
  }
  return 0;
}

DType dtype_of(DataType type) {
  switch (type) {
    case DataType::u8: return DType::u8;
    case DataType::f16: return DType::f16;
    case DataType::bf16: return DType::bf16;
    case DataType::f32: return DType::f32;
    case DataType::f64: return DType::f64;
  }
  return DType::u8;
}

// Ends early, with what has been done of it, where the communicator is given up.
template <class There>
bool wait_until(std::unique_lock<std::mutex>& lock, const Place& place, const There& there) {
  state->changed.wait(lock, [&] { return place.aborted || there(); });
  return !place.aborted;
}

// ---- the functions

Result get_version(int* version) {
  *version = kVersion;
  return kSuccess;
}

const char* error_text(Result result) {
  constexpr const char* kTexts[] = {"no error",         "unhandled cuda error", "unhandled system error",
                                    "internal error",   "invalid argument",     "invalid usage",
                                    "a remote process", "in progress",          "timeout"};
  return result >= 0 && result < static_cast<int>(std::size(kTexts)) ? kTexts[result] : "unknown result code";
}

Result unique_id(nccl::UniqueId* id) {
  const std::lock_guard lock(state->mutex);
  if (const Result code = fault_of("ncclGetUniqueId", thread_rank); code != kSuccess) return code;
  const int number = state->next_world++;
  std::memcpy(id->bytes, &number, sizeof number);
  return kSuccess;
}

Result initialize(Handle* handle, int ranks, nccl::UniqueId id, int rank, nccl::Config* config) {
  const std::lock_guard lock(state->mutex);
  if (const Result code = fault_of("ncclCommInitRankConfig", thread_rank); code != kSuccess) return code;
  if (config->size != sizeof *config || config->magic != 0xcafebeef || config->blocking != 0 || rank >= ranks)
    return kInvalidArgument;
  int number = 0;
  std::memcpy(&number, id.bytes, sizeof number);
  std::shared_ptr<World>& world = state->worlds[number];
  if (!world) world = std::make_shared<World>();
  if (world->size != 0 && world->size != ranks) problem("ranks of one id differ in their number");
  world->size = ranks;
  ++world->joined;
  auto place = std::make_unique<Place>();
  place->world = world;
  place->rank = rank;
  *handle = place.get();
  state->places[*handle] = std::move(place);
  return kInProgress;
}

Result get_state(Handle handle, Result* result) {
  const std::lock_guard lock(state->mutex);
  Place* const place = place_of(handle);
  if (place == nullptr) return kInvalidArgument;
  if (const Result code = fault_of("ncclCommGetAsyncError", place->rank); code != kSuccess) {
    *result = code;  // how NCCL tells of what went wrong meanwhile
    return kSuccess;
  }
  const World& world = *place->world;
  const bool waits = place->finalizes ? world.finalized < world.size : world.joined < world.size || place->looks > 0;
  if (place->looks > 0) --place->looks;
  *result = waits ? kInProgress : kSuccess;
  return kSuccess;
}

Result finalize(Handle handle) {
  const std::lock_guard lock(state->mutex);
  Place* const place = place_of(handle);
  if (place == nullptr || place->finalizes) return kInvalidArgument;
  if (const Result code = fault_of("ncclCommFinalize", place->rank); code != kSuccess) return code;
  place->finalizes = true;
  ++place->world->finalized;
  return kInProgress;
}

Result end_place(Handle handle, const char* call, bool aborts) {
  const std::lock_guard lock(state->mutex);
  Place* const place = place_of(handle);
  if (place == nullptr) return kInvalidArgument;
  const Result code = fault_of(call, place->rank);
  if (!aborts && place->world->finalized < place->world->size) problem("destroyed before all ranks came to the end");
  place->ended = true;
  place->aborted = aborts;
  if (aborts && !place->finalizes) ++place->world->finalized;  // nobody has to wait for it
  state->aborts += aborts ? 1 : 0;
  state->changed.notify_all();
  return code;
}
Result destroy(Handle handle) { return end_place(handle, "ncclCommDestroy", false); }
Result abort_it(Handle handle) { return end_place(handle, "ncclCommAbort", true); }

Result group_start() {
  const std::lock_guard lock(state->mutex);
  if (const Result code = fault_of("ncclGroupStart", thread_rank); code != kSuccess) return code;
  ++depth;
  group_failed = false;
  return kSuccess;
}

Result group_end() {
  const std::lock_guard lock(state->mutex);
  if (depth != 1) problem("a group that was not begun, or inside of another one");
  depth = 0;
  std::vector<Given> work;
  std::swap(work, given);
  if (group_failed) return kInvalidUsage;
  if (const Result code = fault_of("ncclGroupEnd", thread_rank); code != kSuccess) return code;
  if (work.empty()) return kSuccess;
  work.front().place->looks = 2;
  work.front().stream->give([work] {
    for (const Given& one : work) {
      if (one.sends) one.sends();
    }
    for (const Given& one : work) {
      if (one.receives) one.receives();
    }
  });
  return kInProgress;
}

// Of a call inside of a group; the lock is held.
Result begin(const char* call, Handle handle, Place*& place) {
  place = place_of(handle);
  if (place == nullptr) return kInvalidArgument;
  const Result code = fault_of(call, place->rank);
  group_failed = group_failed || code != kSuccess;
  if (code != kSuccess) return code;
  return depth == 1 ? kSuccess : kInvalidUsage;
}

Result send(const void* from, std::size_t count, DataType type, int to, Handle handle, nccl::Stream stream) {
  const std::lock_guard lock(state->mutex);
  Place* place = nullptr;
  if (const Result code = begin("ncclSend", handle, place); code != kSuccess) return code;
  const std::size_t bytes = count * size_of_type(type);
  const auto put = [=] {
    const std::lock_guard inside(state->mutex);
    if (place->aborted) return;
    const auto* const first = static_cast<const std::byte*>(from);
    place->world->mail[{place->rank, to, place->sent[to]++}] = {first, first + bytes};
    state->changed.notify_all();
  };
  given.push_back({static_cast<StandInStream*>(stream), put, {}, place});
  return kSuccess;
}

Result receive(void* to, std::size_t count, DataType type, int from, Handle handle, nccl::Stream stream) {
  const std::lock_guard lock(state->mutex);
  Place* place = nullptr;
  if (const Result code = begin("ncclRecv", handle, place); code != kSuccess) return code;
  const std::size_t bytes = count * size_of_type(type);
  const auto take = [=] {
    std::unique_lock inside(state->mutex);
    if (place->aborted) return;
    auto& mail = place->world->mail;
    const std::tuple<int, int, int> key{from, place->rank, place->taken[from]++};
    if (!wait_until(inside, *place, [&] { return mail.contains(key); })) return;
    const std::vector<std::byte> got = std::move(mail.at(key));
    mail.erase(key);
    if (got.size() != bytes)
      return problem(
          fmt::format("rank {} receives {} bytes of rank {}, which sends {}", place->rank, bytes, from, got.size()));
    std::memcpy(to, got.data(), bytes);
  };
  given.push_back({static_cast<StandInStream*>(stream), {}, take, place});
  return kSuccess;
}

// Work of all ranks: each gives bytes and makes its result of those of all.
Result of_all(const char* call, const std::string& said, const void* from, std::size_t bytes, Handle handle,
              nccl::Stream stream, const std::function<void(const std::vector<const void*>&, int rank)>& finish) {
  const std::lock_guard lock(state->mutex);
  Place* place = nullptr;
  if (const Result code = begin(call, handle, place); code != kSuccess) return code;
  const int number = place->rounds++;
  const auto put = [=] {
    const std::lock_guard inside(state->mutex);
    if (place->aborted) return;
    Round& round = place->world->rounds[number];
    if (round.given.empty()) round.said = said;
    if (round.said != said) problem(fmt::format("rank {} is in {}, others in {}", place->rank, said, round.said));
    const auto* const first = static_cast<const std::byte*>(from);
    round.given[place->rank] = {first, first + bytes};
    state->changed.notify_all();
  };
  const auto take = [=] {
    std::unique_lock inside(state->mutex);
    if (place->aborted) return;
    Round& round = place->world->rounds[number];
    const auto all = static_cast<std::size_t>(place->world->size);
    if (!wait_until(inside, *place, [&] { return round.given.size() == all; })) return;
    std::vector<const void*> values;
    for (const auto& [rank, bytes_of_rank] : round.given) values.push_back(bytes_of_rank.data());
    finish(values, place->rank);
  };
  given.push_back({static_cast<StandInStream*>(stream), put, take, place});
  return kSuccess;
}

Result broadcast(const void* from, void* to, std::size_t count, DataType type, int root, Handle handle,
                 nccl::Stream stream) {
  const std::size_t bytes = count * size_of_type(type);
  return of_all("ncclBroadcast", fmt::format("broadcast of {} from {}", bytes, root), from, bytes, handle, stream,
                [=](const std::vector<const void*>& values, int) {
                  std::memcpy(to, values[static_cast<std::size_t>(root)], bytes);
                });
}

Result all_gather(const void* mine, void* all, std::size_t count, DataType type, Handle handle, nccl::Stream stream) {
  const std::size_t bytes = count * size_of_type(type);
  return of_all("ncclAllGather", fmt::format("all_gather of {}", bytes), mine, bytes, handle, stream,
                [=](const std::vector<const void*>& values, int) {
                  for (std::size_t r = 0; r < values.size(); ++r)
                    std::memcpy(static_cast<std::byte*>(all) + r * bytes, values[r], bytes);
                });
}

void combine(const std::vector<const void*>& values, void* to, std::size_t count, DataType type, Operation how) {
  comm::reduce_in_pairs(values, to, static_cast<std::int64_t>(count), dtype_of(type),
                        how == Operation::mean ? comm::Reduction::mean : comm::Reduction::sum);
}

Result reduce_to(const char* call, int root, const void* from, void* to, std::size_t count, DataType type,
                 Operation how, Handle handle, nccl::Stream stream) {
  return of_all(
      call,
      fmt::format("{} of {} of type {}, {}, to {}", call, count, static_cast<int>(type), static_cast<int>(how), root),
      from, count * size_of_type(type), handle, stream, [=](const std::vector<const void*>& values, int rank) {
        if (root < 0 || rank == root) combine(values, to, count, type, how);
      });
}
Result all_reduce(const void* from, void* to, std::size_t count, DataType type, Operation how, Handle handle,
                  nccl::Stream stream) {
  return reduce_to("ncclAllReduce", -1, from, to, count, type, how, handle, stream);
}
Result reduce(const void* from, void* to, std::size_t count, DataType type, Operation how, int root, Handle handle,
              nccl::Stream stream) {
  return reduce_to("ncclReduce", root, from, to, count, type, how, handle, stream);
}

Result reduce_scatter(const void* from, void* to, std::size_t count, DataType type, Operation how, Handle handle,
                      nccl::Stream stream) {
  std::size_t ranks = 0;
  {
    const std::lock_guard lock(state->mutex);
    const Place* const place = place_of(handle);
    if (place == nullptr) return kInvalidArgument;
    ranks = static_cast<std::size_t>(place->world->size);
  }
  const std::size_t bytes = count * size_of_type(type);
  return of_all(
      "ncclReduceScatter",
      fmt::format("reduce_scatter of {} of type {}, {}", count, static_cast<int>(type), static_cast<int>(how)), from,
      bytes * ranks, handle, stream, [=](const std::vector<const void*>& values, int rank) {
        std::vector<const void*> parts;
        for (const void* const value : values)
          parts.push_back(static_cast<const std::byte*>(value) + static_cast<std::size_t>(rank) * bytes);
        combine(parts, to, count, type, how);
      });
}

void* function_named(std::string_view name) {
  const std::pair<std::string_view, void*> all[] = {
      {"ncclGetVersion", reinterpret_cast<void*>(&get_version)},
      {"ncclGetErrorString", reinterpret_cast<void*>(&error_text)},
      {"ncclGetUniqueId", reinterpret_cast<void*>(&unique_id)},
      {"ncclCommInitRankConfig", reinterpret_cast<void*>(&initialize)},
      {"ncclCommFinalize", reinterpret_cast<void*>(&finalize)},
      {"ncclCommDestroy", reinterpret_cast<void*>(&destroy)},
      {"ncclCommAbort", reinterpret_cast<void*>(&abort_it)},
      {"ncclCommGetAsyncError", reinterpret_cast<void*>(&get_state)},
      {"ncclGroupStart", reinterpret_cast<void*>(&group_start)},
      {"ncclGroupEnd", reinterpret_cast<void*>(&group_end)},
      {"ncclSend", reinterpret_cast<void*>(&send)},
      {"ncclRecv", reinterpret_cast<void*>(&receive)},
      {"ncclBroadcast", reinterpret_cast<void*>(&broadcast)},
      {"ncclAllGather", reinterpret_cast<void*>(&all_gather)},
      {"ncclAllReduce", reinterpret_cast<void*>(&all_reduce)},
      {"ncclReduce", reinterpret_cast<void*>(&reduce)},
      {"ncclReduceScatter", reinterpret_cast<void*>(&reduce_scatter)},
  };
  for (const auto& [known, address] : all) {
    if (known == name) return address;
  }
  return nullptr;
}

}  // namespace
}  // namespace stand_in

using stand_in::state;

NcclStandIn::NcclStandIn(Fault fault) : functions_([](const char* name) { return stand_in::function_named(name); }) {
  state = new stand_in::State;
  state->fault = std::move(fault);
}

NcclStandIn::~NcclStandIn() {
  delete state;
  state = nullptr;
}

void NcclStandIn::this_thread_is(int rank) {
  stand_in::thread_rank = rank;
  stand_in::depth = 0;
  stand_in::given.clear();
}

std::vector<std::string> NcclStandIn::problems() const {
  const std::lock_guard lock(state->mutex);
  std::vector<std::string> all = state->problems;
  for (const auto& [number, world] : state->worlds) {
    if (!world->mail.empty()) all.push_back(fmt::format("{} messages that nobody took", world->mail.size()));
  }
  return all;
}

int NcclStandIn::live() const {
  const std::lock_guard lock(state->mutex);
  int count = 0;
  for (const auto& [handle, place] : state->places) count += place->ended ? 0 : 1;
  return count;
}

int NcclStandIn::aborted() const {
  const std::lock_guard lock(state->mutex);
  return state->aborts;
}

void StandInStream::synchronize() {
  while (!work_.empty()) {
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    work();
  }
}

}  // namespace ridgeline::cuda::testing
