#include "tests/support/files.h"

#include "ridgeline/core/random.h"

namespace ridgeline {

void expect_cuts_are_errors(const std::string& path, std::string_view content, std::string_view prefix,
                            const std::function<void()>& use, const std::function<bool(std::size_t)>& whole) {
  for (std::size_t n = 0; n < content.size(); ++n) {
    put_file(path, content.substr(0, n));
    const std::string message = error_of(use);
    if (whole(n)) {
      EXPECT_EQ(message, "") << "cut at byte " << n;
    } else {
      EXPECT_TRUE(message.starts_with(prefix)) << "cut at byte " << n << ": '" << message << "'";
    }
  }
}

int expect_flips_are_survived(const std::string& path, std::string_view content, const std::function<void()>& use,
                              int files) {
  int refused = 0;
  for (int sample = 0; sample < files; ++sample) {
    SampleRandom random(philox_key(1, "flips"), 0, static_cast<std::uint64_t>(sample));
    std::string bad(content);
    for (std::int64_t k = random.integer(1, 4); k > 0; --k) {
      bad[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bad.size()) - 1))] =
          static_cast<char>(random.bits());
    }
    put_file(path, bad);
    const std::string message = error_of(use);
    EXPECT_TRUE(message.empty() || message[0] == '[') << message;
    refused += message.empty() ? 0 : 1;
  }
  return refused;
}

}  // namespace ridgeline
