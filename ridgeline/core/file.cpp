#include "ridgeline/core/file.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/core/open_file.h"
#include "ridgeline/core/output_target.h"

namespace ridgeline {
namespace {

// A regular file whose size is not known beforehand (/proc), or that grows while it is read, is read up to here.
constexpr std::size_t kGrowthLimit = 64u << 20;
// Larger files are compared with the available memory.
constexpr std::uint64_t kLarge = 1u << 30;

}  // namespace

std::string read_file(const std::string& path) {
  std::string content;
  read_file_into(path, content);
  return content;
}

void read_file_into(const std::string& path, std::string& content) {
  struct stat info {};
  const Descriptor file = open_regular_file(path, info);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size >= kLarge && size >= static_cast<std::uint64_t>(available_memory()))
    throw Error("cannot read " + path + ": its " + std::to_string(size) + " bytes do not fit into memory");
  const std::size_t most = std::max<std::size_t>(2 * size, kGrowthLimit);
  // One byte more than the size, so that the read that fills it sees the end; files of /proc say 0 and grow.
  content.resize(static_cast<std::size_t>(size) + 1);
  std::size_t done = 0;
  while (true) {
    if (done > most) throw Error("cannot read " + path + ": it goes on behind " + std::to_string(most) + " bytes");
    if (done == content.size()) content.resize(2 * content.size() + 4096);
    const ssize_t n = ::read(file.fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_on_file("read", path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
}

void write_file_atomically(const std::string& path, const std::function<void(const Sink&)>& write) {
  AtomicFile file(path);
  write([&](const void* data, std::size_t size) { file.write(data, size); });
  file.commit();
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_file_atomically(path, [&](const Sink& sink) { sink(content.data(), content.size()); });
}

bool is_regular_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void make_directories(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(behind_links(path), error);
  if (error) fail_on_file("make the directory", path, error.value());
}

std::string glob_escape(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::vector<std::string> glob_files(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(found.gl_pathv[i], ignored)) paths.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  std::sort(paths.begin(), paths.end());  // by byte; glob's own order follows the locale
  return paths;
}

}  // namespace ridgeline
