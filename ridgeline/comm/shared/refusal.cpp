#include "ridgeline/comm/shared/refusal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <new>
#include <thread>
#include <utility>

#include "ridgeline/comm/shared/segment.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/process_time.h"

namespace ridgeline::comm {
namespace {

constexpr std::uint32_t kNoteReady = 0x52444e31;
// The accuracy of a process's start time, in seconds, and how long a restarted rank takes.
constexpr double kStartIsKnownBy = 0.05, kComingAgain = 5;
constexpr int kLooksForAnother = 50;
// How long ranks that are started by hand may come one after the other and still see the note.
constexpr int kSecondsForOthers = 20;
// Where the system shows the names of shared memory.
const std::string kMemoryFiles = "/dev/shm";

static_assert(kMostSharedRanks <= 64, "a signature is a bit");

struct Note {
  std::atomic<std::uint32_t> ready{0};  // kNoteReady when the rest is written
  std::int32_t rank = 0;
  double written = 0;
  std::atomic<std::uint64_t> signatures{0};
  char reason[1024] = {};
};

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string path_of(const std::string& name) { return "/" + name + "-refused"; }
std::uint64_t signature(int rank) { return std::uint64_t{1} << static_cast<unsigned>(rank); }

// A note at that name, mapped as long as this object exists.
class OpenNote {
 public:
  explicit OpenNote(const std::string& name) : OpenNote(::shm_open(path_of(name).c_str(), O_RDWR | O_CLOEXEC, 0)) {}
  explicit OpenNote(int file) {
    struct stat status {};
    // What is read here is printed: only this user may have written it.
    if (file >= 0 && ::fstat(file, &status) == 0 && status.st_uid == ::geteuid() &&
        static_cast<std::size_t>(status.st_size) >= sizeof(Note)) {
      void* memory = ::mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) note_ = static_cast<Note*>(memory);
    }
    if (file >= 0) ::close(file);
  }
  ~OpenNote() {
    if (note_ != nullptr) ::munmap(note_, sizeof(Note));
  }
  OpenNote(const OpenNote&) = delete;
  OpenNote& operator=(const OpenNote&) = delete;

  explicit operator bool() const {
    return note_ != nullptr && note_->ready.load(std::memory_order_acquire) == kNoteReady;
  }
  Note* operator->() const { return note_; }
  Note* memory() const { return note_; }

 private:
  Note* note_ = nullptr;
};

void sign(const OpenNote& note, const std::string& name, int rank, int size) {
  const std::uint64_t all = size == 64 ? ~std::uint64_t{0} : signature(size) - 1;
  if ((note->signatures.fetch_or(signature(rank)) | signature(rank)) == all) remove_refusal(name);
}

double start_of_process() { return now() - process_milliseconds() / 1e3 - kStartIsKnownBy; }

// This rank has joined or refused before: the run was restarted.
bool is_of_another_run(const OpenNote& note, int rank) {
  return (note->signatures.load() & signature(rank)) != 0 && note->written < start_of_process();
}

}  // namespace

namespace {

// Removes the note at `path` when no rank can need it any more. In a grandchild process, as this one is about to end
// and must not wait for it. After fork() it may call little, and it keeps none of this process's files open: a shell
// waits for the end of a pipe.
void remove_later(const std::string& path) {
  struct stat note {};
  if (::stat(path.c_str(), &note) != 0) return;
  const pid_t child = ::fork();
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (child != 0) return;
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  if (::chdir("/") != 0) ::_exit(0);
  ::close_range(0, ~0U, 0);
  const timespec second{1, 0};
  for (int i = 0; i < kSecondsForOthers; ++i) {
    ::nanosleep(&second, nullptr);
    struct stat now {};
    if (::stat(path.c_str(), &now) != 0 || now.st_ino != note.st_ino) ::_exit(0);
  }
  ::unlink(path.c_str());
  ::_exit(0);
}

}  // namespace

void leave_refusal(const std::string& name, int rank, int size, const std::string& reason) {
  const double time = now();
  int file = -1;
  for (int look = 0; file < 0 && look < kLooksForAnother; ++look) {
    const OpenNote there(name);
    const bool old = there && is_of_another_run(there, rank);
    if (there && !old) return sign(there, name, rank, size);
    if (old) remove_refusal(name);
    file = ::shm_open(path_of(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // another one is just writing
  }
  if (file < 0) return;
  if (::posix_fallocate(file, 0, sizeof(Note)) != 0) {
    ::close(file);
    return remove_refusal(name);
  }
  const OpenNote note(file);
  if (note.memory() == nullptr) return remove_refusal(name);
  Note* written = new (note.memory()) Note;
  written->rank = rank;
  written->written = time;
  std::copy_n(reason.begin(), std::min(reason.size(), sizeof written->reason - 1), written->reason);
  written->ready.store(kNoteReady, std::memory_order_release);
  sign(note, name, rank, size);
  remove_later(kMemoryFiles + path_of(name));
}

void remove_refusal(const std::string& name) { ::shm_unlink(path_of(name).c_str()); }

RefusalWatch::RefusalWatch(std::string name, int rank, int size, std::chrono::milliseconds patience)
    : name_(std::move(name)),
      rank_(rank),
      size_(size),
      started_(start_of_process()),
      patience_(std::chrono::duration<double>(patience).count()) {
  const OpenNote note(name_);
  if (note && is_of_another_run(note, rank_)) remove_refusal(name_);
}

void RefusalWatch::look() {
  const OpenNote note(name_);
  if (!note || note->written < started_ - patience_) return;
  if (note->written < started_ && now() < started_ + kComingAgain) return;
  const std::string why = fmt::format("[ranks] rank {} does not come: {}", note->rank, note->reason);
  sign(note, name_, rank_, size_);
  throw Error(why);
}

}  // namespace ridgeline::comm
