#include "ridgeline/comm/mpi/mpi_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"

namespace ridgeline::comm {
namespace {

// Tags below are those of communicators (mpi_communicator.cpp).
constexpr int kNoticeTag = 0;

// Equal for processes that see each other's numbers: one boot of one machine, one namespace of process numbers.
std::uint64_t process_space() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  const std::string boot{std::istreambuf_iterator<char>(file), {}};
  std::error_code unknown;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
  return boot.empty() || space.empty() ? 0 : hash64(boot + space);
}

}  // namespace

MpiProcess& MpiProcess::get() {
  static MpiProcess process;  // where starting fails, the next call tries again
  return process;
}

MpiProcess::MpiProcess() : mpi_(mpi_library()) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr)
    throw Error("[ranks] MPI is asked for, but mpirun has not started this process (OMPI_COMM_WORLD_SIZE is not set)",
                ErrorKind::usage);
  int started = 0;
  mpi_.check(mpi_.initialized(&started), "MPI_Initialized");
  if (started == 0) {
    int provided = 0;
    mpi_.check(mpi_.init_thread(nullptr, nullptr, kMpiThreadSerialized, &provided), "MPI_Init_thread");
    owns_ = true;
    if (provided < kMpiThreadSerialized)
      throw Error("[ranks] this OpenMPI allows one thread only; ranks exchange on a thread of their own");
  }
  mpi_.check(mpi_.comm_dup(mpi_.world, &comm_), "MPI_Comm_dup");
  mpi_.check(mpi_.comm_set_errhandler(comm_, mpi_.errors_return), "MPI_Comm_set_errhandler");
  mpi_.check(mpi_.comm_rank(comm_, &rank_), "MPI_Comm_rank");
  mpi_.check(mpi_.comm_size(comm_, &size_), "MPI_Comm_size");
  meet();
  mpi_.check(mpi_.irecv(&heard_, sizeof heard_, mpi_.byte, kMpiAnySource, kNoticeTag, comm_, &hearing_), "MPI_Irecv");
}

MpiProcess::~MpiProcess() {
  if (!owns_ || failed_) return;
  mpi_.cancel(&hearing_);
  mpi_.request_free(&hearing_);
  mpi_.finalize();
}

// Every rank learns the process of every other.
void MpiProcess::meet() {
  using Place = std::array<std::uint64_t, 2>;  // the space of its number, its number
  const Place own{process_space(), static_cast<std::uint64_t>(::getpid())};
  std::vector<Place> all(static_cast<std::size_t>(size_));
  mpi_.check(mpi_.allgather(&own, sizeof own, mpi_.byte, all.data(), sizeof own, mpi_.byte, comm_), "MPI_Allgather");
  std::vector<int> numbers;
  for (const Place& place : all) numbers.push_back(own[0] != 0 && place[0] == own[0] ? static_cast<int>(place[1]) : 0);
  const auto local = std::count_if(numbers.begin(), numbers.end(), [](int number) { return number != 0; });
  has_cores_ = ::sysconf(_SC_NPROCESSORS_ONLN) >= local;
  peers_ = std::make_unique<PeerProcesses>(std::move(numbers));
}

MpiLibrary::Handle MpiProcess::start_send(const void* data, std::int64_t bytes, int to, int tag) {
  const std::lock_guard lock(mutex_);
  MpiLibrary::Handle request = nullptr;
  mpi_.check(mpi_.isend(data, static_cast<int>(bytes), mpi_.byte, to, tag, comm_, &request), "MPI_Isend");
  return request;
}

MpiLibrary::Handle MpiProcess::start_receive(void* data, std::int64_t bytes, int from, int tag) {
  const std::lock_guard lock(mutex_);
  MpiLibrary::Handle request = nullptr;
  mpi_.check(mpi_.irecv(data, static_cast<int>(bytes), mpi_.byte, from, tag, comm_, &request), "MPI_Irecv");
  return request;
}

void MpiProcess::collect(std::vector<MpiLibrary::Handle>& requests, std::vector<int>& peers) {
  int done = 0;
  std::vector<int> indices(requests.size());
  {
    const std::lock_guard lock(mutex_);
    mpi_.check(
        mpi_.testsome(static_cast<int>(requests.size()), requests.data(), &done, indices.data(), kMpiIgnoreStatus),
        "MPI_Testsome");
  }
  if (done == 0 || done == kMpiUndefined) return;
  std::size_t left = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == mpi_.request_null) continue;
    requests[left] = requests[i];
    peers[left++] = peers[i];
  }
  requests.resize(left);
  peers.resize(left);
}

void MpiProcess::cancel(std::vector<MpiLibrary::Handle>& requests) {
  const std::lock_guard lock(mutex_);
  for (MpiLibrary::Handle& request : requests) {
    if (request == mpi_.request_null) continue;
    mpi_.cancel(&request);
    mpi_.request_free(&request);
  }
  requests.clear();
}

// Takes in the reports of others. The lock is held.
void MpiProcess::hear() {
  for (int done = 1; done != 0;) {
    mpi_.check(mpi_.test(&hearing_, &done, kMpiIgnoreStatus), "MPI_Test");
    if (done == 0) return;
    heard_.reason[sizeof heard_.reason - 1] = '\0';
    reasons_.emplace(heard_.channel, heard_.reason);
    failed_ = true;
    mpi_.check(mpi_.irecv(&heard_, sizeof heard_, mpi_.byte, kMpiAnySource, kNoticeTag, comm_, &hearing_), "MPI_Irecv");
  }
}

std::optional<std::string> MpiProcess::failure_of(std::uint64_t channel) {
  const std::lock_guard lock(mutex_);
  hear();
  const auto found = reasons_.find(channel);
  return found == reasons_.end() ? std::nullopt : std::optional(found->second);
}

void MpiProcess::fail(std::uint64_t channel, std::span<const int> members, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  hear();
  failed_ = true;
  if (!reasons_.emplace(channel, reason).second) return;
  MpiNotice& notice = said_.emplace_back();
  notice.channel = channel;
  std::copy_n(reason.begin(), std::min(reason.size(), sizeof notice.reason - 1), notice.reason);
  for (const int member : members) {
    if (member == rank_ || peers_->has_ended(member)) continue;
    MpiLibrary::Handle request = nullptr;
    if (mpi_.isend(&notice, sizeof notice, mpi_.byte, member, kNoticeTag, comm_, &request) == 0)
      mpi_.request_free(&request);  // nobody waits for it
  }
}

std::string MpiProcess::told_end(int rank) const {
  return fmt::format("rank {} (process {}) has ended", rank, peers_->number(rank));
}

}  // namespace ridgeline::comm
