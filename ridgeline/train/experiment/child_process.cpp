#include "ridgeline/train/experiment/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {
namespace {

// In the child: only calls that are safe after fork(). Failures are reported through `errors`.
[[noreturn]] void run_program(char** words, const char* output, pid_t parent, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);  // it ended before it could be watched
  const int none = ::open("/dev/null", O_RDONLY), file = ::open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (none >= 0 && file >= 0 && ::dup2(none, 0) == 0 && ::dup2(file, 1) == 1 && ::dup2(file, 2) == 2)
    ::execve(words[0], words, environ);
  const int error = errno;
  (void)!::write(errors, &error, sizeof error);
  ::_exit(127);
}

// Waits, and forwards signals that only this process got: Ctrl-C in a terminal reaches both.
int wait_for(pid_t child, struct rusage& usage) {
  bool told = false;
  for (int status = 0;;) {
    const pid_t ended = ::wait4(child, &status, WNOHANG, &usage);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) throw Error(std::string("[experiment] cannot wait for a run: ") + strerror(errno));
    if (!told && interrupted() && interrupting_signal() != SIGINT) {
      told = true;
      ::kill(child, SIGTERM);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::string& output) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const auto refuse = [&](int error) {
    throw Error("[experiment] cannot start " + command[0] + " with its output in " + output + ": " +
                std::strerror(error));
  };
  int errors[2];
  if (::pipe2(errors, O_CLOEXEC) != 0) refuse(errno);
  const pid_t own = ::getpid(), child = ::fork();
  if (child == 0) run_program(words.data(), output.c_str(), own, errors[1]);
  const int fork_error = errno;
  ::close(errors[1]);
  int error = 0;
  const bool failed = child > 0 && ::read(errors[0], &error, sizeof error) == sizeof error;
  ::close(errors[0]);
  if (child < 0) refuse(fork_error);
  struct rusage usage {};
  const int status = wait_for(child, usage);
  if (failed) refuse(error);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), std::int64_t{usage.ru_maxrss} * 1024};
}

}  // namespace ridgeline::train
