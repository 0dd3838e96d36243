#include "ridgeline/data/runtime/bad_samples.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/output_target.h"

namespace ridgeline::data {

BadSamplePolicy parse_bad_sample_policy(const std::string& text) {
  if (text == "raise") return BadSamplePolicy::raise;
  if (text == "skip") return BadSamplePolicy::skip;
  if (text == "replace") return BadSamplePolicy::replace;
  throw Error(fmt::format("unknown bad_samples '{}'{} (allowed: raise, skip, replace)", text,
                          did_you_mean(text, {"raise", "skip", "replace"})),
              ErrorKind::usage);
}

namespace {

void write_down(const BadSample& s, JsonLinesWriter& list) {
  list.write({{"epoch", static_cast<std::int64_t>(s.epoch)},
              {"batch", static_cast<std::int64_t>(s.batch)},
              {"row", static_cast<std::int64_t>(s.row)},
              {"position", static_cast<std::int64_t>(s.position)},
              {"origin", s.origin},
              {"op", s.op},
              {"reason", s.reason}});
}

}  // namespace

BadSampleAccount::BadSampleAccount(BadSampleOptions options, Log* log) : options_(std::move(options)), log_(log) {
  if (options_.policy == BadSamplePolicy::raise || options_.quarantine.empty()) return;
  const OutputTarget target = output_target(options_.quarantine);
  if (target.stream) {  // opened once: a reader takes the end of the writer for the end of the list
    stream_.emplace(options_.quarantine);
    return;
  }
  const std::filesystem::path file(target.path);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (::access((::access(file.c_str(), F_OK) == 0 ? file : folder).c_str(), W_OK) != 0)
    throw Error("cannot write " + options_.quarantine + " (--quarantine)");
}

void BadSampleAccount::add(const std::vector<BadSample>& samples) {
  for (const BadSample& s : samples) {
    if (!options_.quarantine.empty()) {
      if (stream_) {
        write_down(s, *stream_);
      } else {  // opened for each: bad samples are rare, and the file can be read and moved away during the run
        JsonLinesWriter list(options_.quarantine);
        write_down(s, list);
      }
    }
    if (++count_ > options_.budget) {
      throw Error(fmt::format("more than {} bad samples, the last one: {}", options_.budget, s.reason));
    }
    if (log_) log_->warning("bad sample: " + s.reason);
  }
}

}  // namespace ridgeline::data
