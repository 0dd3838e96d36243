#include "ridgeline/graph/ir/source_lines.h"

#include <filesystem>
#include <fstream>

#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"

namespace ridgeline {
namespace {

constexpr std::uintmax_t kLargestSource = 16 << 20;  // bytes; what is larger was not written by hand
constexpr std::size_t kLongestLine = 300;            // bytes; the rest is left out

std::vector<std::string> lines_of(const std::string& path) {
  std::error_code unknown;
  if (!is_regular_file(path) || std::filesystem::file_size(path, unknown) > kLargestSource) return {};
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, kLongestLine));
  return lines;
}

}  // namespace

std::string SourceLines::line(const Location& at) {
  const auto [file, is_new] = files_.try_emplace(at.file);
  if (is_new) file->second = lines_of(at.file);
  const std::vector<std::string>& lines = file->second;
  if (at.line == 0 || at.line > lines.size()) return "";
  std::string text = lines[at.line - 1];
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return printable(text);
}

}  // namespace ridgeline
