#include "ridgeline/data/runtime/bad_samples.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/format/json_lines.h"

namespace ridgeline::data {

BadSamplePolicy parse_bad_sample_policy(const std::string& text) {
  if (text == "raise") return BadSamplePolicy::raise;
  if (text == "skip") return BadSamplePolicy::skip;
  if (text == "replace") return BadSamplePolicy::replace;
  const std::string nearest = nearest_name(text, {"raise", "skip", "replace"});
  throw Error(fmt::format("unknown bad_samples '{}'{} (allowed: raise, skip, replace)", text,
                          nearest.empty() ? "" : ": did you mean '" + nearest + "'?"),
              ErrorKind::usage);
}

void BadSampleAccount::add(const std::vector<BadSample>& samples) {
  for (const BadSample& s : samples) {
    if (!options_.quarantine.empty()) {
      // Opened for each: bad samples are rare, and the file can be read and moved away during the run.
      JsonLinesWriter(options_.quarantine)
          .write({{"epoch", static_cast<std::int64_t>(s.epoch)},
                  {"batch", static_cast<std::int64_t>(s.batch)},
                  {"row", static_cast<std::int64_t>(s.row)},
                  {"record", static_cast<std::int64_t>(s.record)},
                  {"origin", s.origin},
                  {"op", s.op},
                  {"reason", s.reason}});
    }
    if (++count_ > options_.budget) {
      throw Error(fmt::format("more than {} bad samples, the last one: {}", options_.budget, s.reason));
    }
    if (log_) log_->warning("bad sample: " + s.reason);
  }
}

}  // namespace ridgeline::data
