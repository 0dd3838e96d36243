#include "tests/comm/ranks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "ridgeline/comm/shared/shared_communicator.h"
#include "ridgeline/core/error.h"

namespace ridgeline::comm {

std::string unique_name() {
  static std::atomic<int> number{0};
  return fmt::format("ridgeline-test-{}-{}", ::getpid(), number++);
}

std::vector<std::string> run_ranks(int size, const std::function<void(Communicator&)>& body, int timeout_seconds) {
  const std::string name = unique_name();
  std::vector<std::string> messages(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      try {
        SharedOptions o{.name = name, .rank = r, .size = size};
        o.execute_timeout = std::chrono::seconds(timeout_seconds);
        const auto communicator = shared_communicator(o);
        body(*communicator);
      } catch (const Error& error) {
        messages[static_cast<std::size_t>(r)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

void expect_ranks(int size, const std::function<void(Communicator&)>& body) {
  for (const std::string& message : run_ranks(size, body)) EXPECT_EQ(message, "");
}

std::vector<std::string> run_processes(int size, const std::function<void(Communicator&)>& body) {
  const std::string name = unique_name();
  std::vector<pid_t> children;
  std::vector<int> pipes;
  for (int r = 0; r < size; ++r) {
    int ends[2];
    if (::pipe(ends) != 0) throw Error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      std::string message;
      try {
        const auto communicator = shared_communicator({.name = name, .rank = r, .size = size});
        body(*communicator);
      } catch (const Error& error) {
        message = error.what();
      }
      if (::write(ends[1], message.data(), message.size()) < 0) ::_exit(3);
      ::_exit(0);
    }
    ::close(ends[1]);
    children.push_back(child);
    pipes.push_back(ends[0]);
  }
  std::vector<std::string> messages;
  for (std::size_t r = 0; r < children.size(); ++r) {
    std::string message(4096, '\0');
    const ssize_t size_read = ::read(pipes[r], message.data(), message.size());
    message.resize(size_read > 0 ? static_cast<std::size_t>(size_read) : 0);
    ::close(pipes[r]);
    int status = 0;
    ::waitpid(children[r], &status, 0);
    if (WIFSIGNALED(status)) message = fmt::format("signal {}", WTERMSIG(status));
    messages.push_back(message);
  }
  return messages;
}

}  // namespace ridgeline::comm
