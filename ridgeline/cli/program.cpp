#include "ridgeline/cli/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/version.h"

namespace ridgeline::cli {
namespace {

void print_help(std::FILE* out) {
  std::fprintf(out,
               "ridgeline %s: trains image models\n\nusage: ridgeline COMMAND [FLAGS]   (ridgeline COMMAND --help "
               "lists the flags)\n\n",
               kVersion);
  for (const CommandEntry& c : command_table()) std::fprintf(out, "  %-10s %s\n", c.name.data(), c.summary.data());
}

// Printed output may still be in a buffer, and the disk or pipe may take no more.
void finish_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
    throw Error(std::string("cannot write to standard output") +
                (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

// Data sets of many shards keep all of them open if allowed; the usual soft limit is 1024.
void allow_many_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The first file that is opened would get the number of a standard stream that the caller has closed, and what is
// printed would go into it. The stream stays unusable, so that a command whose output is lost still fails.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A file that reaches the limit of `ulimit -f` is an error of its write, with its path, and not the end of the process.
// A handler, since child programs inherit ignored signals but not handlers.
void survive_file_limit() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

int run(int argc, char** argv) {
  Words words = normalize(argc, argv);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  if (words[0] == "--version") {
    std::printf("ridgeline %s\n", kVersion);
    return 0;
  }
  std::vector<std::string> names;
  for (const CommandEntry& c : command_table()) {
    if (c.name == words[0]) return c.run({words.begin() + 1, words.end()});
    names.emplace_back(c.name);
  }
  const std::string near = nearest_name(words[0], names);
  throw Error("unknown command '" + words[0] + "'" +
                  (near.empty() ? " (ridgeline --help lists them)" : " (did you mean " + near + "?)"),
              ErrorKind::usage);
}

// Errors of a command name it: "train: unknown flag --x".
bool names_command(const std::string& message) {
  for (const CommandEntry& c : command_table()) {
    const std::size_t size = c.name.size();
    if (message.starts_with(c.name) && message.size() > size && (message[size] == ':' || message[size] == ' '))
      return true;
  }
  return false;
}

}  // namespace

namespace {

std::vector<std::string> g_own_command;
std::string g_own_python;

}  // namespace

std::vector<std::string> own_command() {
  if (!g_own_command.empty()) return g_own_command;
  return {std::filesystem::read_symlink("/proc/self/exe").string()};
}

void set_own_command(std::vector<std::string> command) { g_own_command = std::move(command); }

std::string own_python() { return g_own_python; }

void set_own_python(std::string interpreter) { g_own_python = std::move(interpreter); }

int run_program(int argc, char** argv) {
  occupy_closed_streams();
  survive_file_limit();
  allow_many_files();
  try {
    const int code = run(argc, argv);
    finish_output();
    return code;
  } catch (const Error& error) {
    const std::string message = printable(error.what());
    std::fprintf(stderr, "ridgeline%s %s\n", names_command(message) ? "" : ":", message.c_str());
    switch (error.kind()) {
      case ErrorKind::usage: return 2;
      case ErrorKind::failure: return 1;
      case ErrorKind::interrupted: return 130;
    }
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {  // not handled elsewhere
    const std::string path = printable(error.path1().string());
    std::fprintf(stderr, "ridgeline: cannot use %s: %s\n", path.c_str(), error.code().message().c_str());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ridgeline: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ridgeline: internal error: %s\n", printable(error.what()).c_str());
    return 1;
  }
}

}  // namespace ridgeline::cli
