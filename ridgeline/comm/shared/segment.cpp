#include "ridgeline/comm/shared/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "ridgeline/comm/peer_processes.h"
#include "ridgeline/comm/shared/wait.h"
#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

constexpr std::uint32_t kSharedReady = 0x52444731;

[[noreturn]] void fail_with_errno(const std::string& what, const std::string& path) {
  throw Error(fmt::format("[ranks] {} {}: {}", what, path, ::strerror(errno)));
}

std::uint64_t draw_token() {
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != sizeof token) token = static_cast<std::uint64_t>(::getpid());
  return token | 1;  // never 0
}

// False also for a zombie: a rank that has ended but was not waited for yet, as those that mpirun killed.
bool is_alive(std::int32_t process) { return process > 0 && !PeerProcesses({process}).has_ended(0); }

// Why the ranks do not meet, when the process of `rank` has ended. A rank that finds this out ends, too: so that others
// do not name it instead, the first end is recorded.
std::string first_end(SharedHeader& header, int rank, std::int32_t process) {
  const std::string end = fmt::format("rank {} (process {}) has ended before all ranks had come", rank, process);
  report_failure(header, rank, end);
  // Another rank may be writing its reason, or have ended while it did.
  for (int look = 0; look < 100 && header.failed.load(std::memory_order_acquire) < 0; ++look)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return header.failed.load(std::memory_order_acquire) >= 0 ? header.reason : end;
}

}  // namespace

std::size_t SharedSegment::header_bytes() {
  return (sizeof(SharedHeader) + kSharedPage - 1) / kSharedPage * kSharedPage;
}

void SharedSegment::remove(const std::string& name) { ::shm_unlink(("/" + name).c_str()); }

void* SharedSegment::map(int file) const {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// An existing segment of this name is left over from a run that was killed before all had joined, or belongs to a run
// in progress: its ranks keep their mapping, and new ones find this segment.
void SharedSegment::create(const std::string& path, std::uint64_t token) {
  ::shm_unlink(path.c_str());
  const int file = ::shm_open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail_with_errno("cannot make the shared memory", path);
  // posix_fallocate, so that a full /dev/shm is an Error now and no SIGBUS later.
  int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes_));
  void* memory = error == 0 ? map(file) : nullptr;
  if (memory == nullptr) {
    if (error == 0) error = errno;
    ::close(file);
    ::shm_unlink(path.c_str());
    throw Error(
        fmt::format("[ranks] {} bytes of shared memory for {} ranks ({}): {}", bytes_, size_, path, ::strerror(error)));
  }
  ::close(file);
  header_ = new (memory) SharedHeader;
  header_->size = static_cast<std::uint32_t>(size_);
  header_->bytes = bytes_;
  header_->token = token == 0 ? draw_token() : token;
}

// False where it does not exist yet, or is another run's.
bool SharedSegment::open(const std::string& path, std::uint64_t token) {
  const int file = ::shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) {
    if (errno == ENOENT) return false;
    fail_with_errno("cannot open the shared memory", path);
  }
  struct stat status {};
  void* memory = nullptr;
  const bool known = ::fstat(file, &status) == 0, own = known && status.st_uid == ::geteuid();
  if (own && static_cast<std::size_t>(status.st_size) == bytes_) memory = map(file);
  ::close(file);
  // Its contents decide what this rank reads and where it writes: only its own user may have made it.
  if (known && !own)
    throw Error(
        fmt::format("[ranks] the shared memory {} belongs to user {}, and rank 0 of user {} cannot have made it", path,
                    status.st_uid, ::geteuid()));
  if (memory == nullptr) return false;  // not at its size yet
  auto* header = static_cast<SharedHeader*>(memory);
  const bool right = header->ready.load(std::memory_order_acquire) == kSharedReady && header->bytes == bytes_ &&
                     header->size == static_cast<std::uint32_t>(size_) && (token == 0 || header->token == token) &&
                     is_alive(header->ranks[0].process.load());
  if (!right) {
    ::munmap(memory, bytes_);
    return false;
  }
  header_ = header;
  return true;
}

// Whether this segment is the one of that name: it may be the next run's by now.
bool SharedSegment::is_named(const std::string& path) const {
  const int file = header_ == nullptr ? -1 : ::shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return false;
  struct stat status {};
  void* memory = nullptr;
  if (::fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == bytes_) memory = map(file);
  ::close(file);
  if (memory == nullptr) return false;
  const bool own = static_cast<const SharedHeader*>(memory)->token == header_->token;
  ::munmap(memory, bytes_);
  return own;
}

void SharedSegment::meet(int rank, std::chrono::steady_clock::time_point until, const std::function<void()>& watch) {
  SharedRank& own = header_->ranks[rank];
  std::int32_t nobody = 0;
  if (!own.process.compare_exchange_strong(nobody, ::getpid()) && rank != 0)
    throw Error(fmt::format("[ranks] two processes say that they are rank {} (one is process {})", rank, nobody),
                ErrorKind::usage);
  for (;;) {
    if (watch) watch();  // first: who ended first is known there
    std::string missing;
    for (int r = 0; r < size_; ++r) {
      if (header_->ranks[r].process.load() == 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
    }
    if (missing.empty()) return;  // one that has ended since then may have been done; the next call tells
    for (int r = 0; r < size_; ++r) {
      const std::int32_t process = header_->ranks[r].process.load();
      // One that has left has met all others since they were counted above.
      if (process == 0 || is_alive(process) || header_->ranks[r].left.load(std::memory_order_acquire) != 0) continue;
      throw Error("[ranks] " + first_end(*header_, r, process));
    }
    if (std::chrono::steady_clock::now() > until)
      throw Error(
          fmt::format("[ranks] rank {} waited in vain for rank {} of {} (HCCL_CONNECT_TIMEOUT)", rank, missing, size_));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

SharedSegment::SharedSegment(const std::string& name, int rank, int size, std::size_t bytes_behind_header,
                             std::uint64_t token, std::chrono::milliseconds timeout, const std::function<void()>& watch)
    : bytes_(header_bytes() + bytes_behind_header), size_(size) {
  const std::string path = "/" + name;
  const auto until = std::chrono::steady_clock::now() + timeout;
  try {
    if (rank == 0) {
      create(path, token);
      header_->ranks[0].process.store(::getpid());
      header_->ready.store(kSharedReady, std::memory_order_release);
    }
    while (rank != 0 && !open(path, token)) {
      if (std::chrono::steady_clock::now() > until)
        throw Error(fmt::format("[ranks] rank {} waited in vain for rank 0 of {} (HCCL_CONNECT_TIMEOUT)", rank, size));
      if (watch) watch();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    meet(rank, until, watch);
  } catch (...) {
    // Rank 0 may be dead, killed before it could unlink the name.
    if (rank == 0 || token != 0 || is_named(path)) ::shm_unlink(path.c_str());
    if (header_ != nullptr) ::munmap(header_, bytes_);
    throw;
  }
  if (rank == 0 || token != 0) ::shm_unlink(path.c_str());  // all have it: whoever is first
}

SharedSegment::~SharedSegment() { ::munmap(header_, bytes_); }

}  // namespace ridgeline::comm
