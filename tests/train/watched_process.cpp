#include "tests/train/watched_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "ridgeline/core/file.h"

namespace ridgeline::testing {
namespace {

namespace fs = std::filesystem;

bool is_temporary_checkpoint(const std::string& name) {
  return name.starts_with(".") && name.find("model.ckpt") != std::string::npos;
}

// Reads the file changes in a directory one by one.
class Watch {
 public:
  explicit Watch(const std::string& directory) : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    const std::uint32_t changes = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE;
    if (fd_ < 0 || ::inotify_add_watch(fd_, directory.c_str(), changes) < 0)
      throw std::system_error(errno, std::generic_category(), "inotify");
  }
  ~Watch() { ::close(fd_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The file name of the next change; nullopt if none comes for a while.
  std::optional<std::string> next() {
    if (at_ >= size_) {
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) return std::nullopt;
      const ssize_t n = ::read(fd_, buffer_, sizeof buffer_);
      if (n <= 0) return std::nullopt;
      at_ = 0;
      size_ = static_cast<std::size_t>(n);
    }
    const auto* event = reinterpret_cast<const inotify_event*>(buffer_ + at_);
    at_ += sizeof(inotify_event) + event->len;
    return event->len > 0 ? std::string(event->name) : std::string();
  }

 private:
  int fd_;
  alignas(inotify_event) char buffer_[4096];
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

pid_t start(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::system_error(error, std::generic_category(), words[0]);
  return pid;
}

}  // namespace

ProcessEnd run_and_stop(const std::vector<std::string>& words, const std::string& directory, const std::string& log,
                        const Stop& stop) {
  const std::string log_path = directory + "/" + log;
  const std::size_t logged_before = fs::exists(log_path) ? fs::file_size(log_path) : 0;
  const auto began = fs::file_time_type::clock::now();
  Watch watch(directory);
  const pid_t pid = start(words);
  ProcessEnd end;
  bool sent = false;
  int left = stop.changes;
  int status = 0;
  while (::waitpid(pid, &status, sent ? 0 : WNOHANG) != pid) {
    const std::optional<std::string> name = watch.next();
    if (!name || stop.signal == 0) continue;
    if (!end.in_training && *name == log)
      end.in_training = read_file(log_path).find("\nstep:", logged_before) != std::string::npos;
    if (stop.place != Place::anywhere && !end.in_training) continue;
    if (stop.place == Place::saving && !is_temporary_checkpoint(*name)) continue;
    if (left-- > 0) continue;
    if (stop.place == Place::saving && !fs::exists(directory + "/" + *name)) continue;  // ended before we noticed it
    ::kill(pid, stop.signal);
    sent = true;
  }
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  end.stopped = sent && (end.code == 130 || end.code == 128 + stop.signal);
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!is_temporary_checkpoint(entry.path().filename().string())) continue;
    if (entry.last_write_time() >= began) end.in_save = end.stopped;
  }
  return end;
}

}  // namespace ridgeline::testing
