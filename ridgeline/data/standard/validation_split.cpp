#include "ridgeline/data/standard/validation_split.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "ridgeline/core/error.h"
#include "ridgeline/core/open_file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/runtime/for_each.h"

namespace ridgeline::data {
namespace {

constexpr std::size_t kHead = 16384, kTail = 4096;
constexpr std::size_t kMostNamed = 6;

std::string read_part(const Descriptor& file, const std::string& path, std::size_t at, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(file.fd, bytes.data() + done, size - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_on_file("cannot read", path);
    if (n == 0) break;  // it became shorter meanwhile
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

// "warning: 2 of 12 classes have no image in the validation part: 'a' (3 images), 'b' (2 images)"; "" for none.
std::string classes_without_image(const std::vector<std::string>& classes, const std::vector<std::int64_t>& images,
                                  const std::vector<std::int64_t>& here, const char* part) {
  std::string named;
  std::size_t count = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (here[i] > 0 || ++count > kMostNamed) continue;
    named +=
        fmt::format("{}'{}' ({} image{})", named.empty() ? "" : ", ", classes[i], images[i], images[i] == 1 ? "" : "s");
  }
  if (count == 0) return "";
  return fmt::format("warning: {} of {} classes {} no image in the {} part: {}{}", count, classes.size(),
                     count == 1 ? "has" : "have", part, named, count > kMostNamed ? ", ..." : "");
}

}  // namespace

double content_position(const std::string& path) {
  struct stat info {};
  const Descriptor file = open_regular_file(path, info);
  const auto size = static_cast<std::size_t>(info.st_size);
  const std::size_t head = std::min(size, kHead), tail = std::min(size - head, kTail);
  const std::uint64_t first = hash64(read_part(file, path, 0, head), size);
  const std::uint64_t both = hash64(read_part(file, path, size - tail, tail), first);
  return static_cast<double>(both >> 11) * 0x1p-53;
}

ValidationSplit split_by_content(const std::string& dir, double share, int workers) {
  return split_by_content(dir, list_class_folders(dir, image_extensions()), share, workers);
}

ValidationSplit split_by_content(const std::string& dir, const ClassFolders& folders, double share, int workers) {
  std::vector<double> positions(folders.files.size());
  for_each(static_cast<std::int64_t>(positions.size()), workers, [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    positions[at] = content_position(folders.files[at].path);
  });
  ValidationSplit split;
  const std::size_t classes = folders.classes.size();
  std::vector<std::int64_t> images(classes), train(classes), val(classes);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto label = static_cast<std::size_t>(folders.files[i].label);
    const bool taken = positions[i] < share;
    (taken ? split.val : split.train).push_back(static_cast<std::int64_t>(i));
    ++(taken ? val : train)[label];
    ++images[label];
  }
  if (split.val.empty() || split.train.empty()) {
    throw Error(fmt::format("--validation_split={} takes {} of the {} images of {} for validation: give a {} share",
                            share, split.val.size(), positions.size(), dir, split.val.empty() ? "greater" : "smaller"),
                ErrorKind::usage);
  }
  split.notes.push_back(fmt::format("validation: {} of {} images, chosen by their content (--validation_split={})",
                                    split.val.size(), positions.size(), share));
  for (const std::string& note : {classes_without_image(folders.classes, images, val, "validation"),
                                  classes_without_image(folders.classes, images, train, "training")}) {
    if (!note.empty()) split.notes.push_back(note);
  }
  return split;
}

}  // namespace ridgeline::data
