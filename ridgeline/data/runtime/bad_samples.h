// ridgeline/data/runtime/bad_samples.h
//
// What happens with a sample that cannot be made: the policies, and the record of bad samples. Decided per row, so that
// no other sample moves, and recorded in the order of delivery, so that nothing depends on workers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/log.h"
#include "ridgeline/format/text/json_lines.h"

namespace ridgeline::data {

enum class BadSamplePolicy {
  raise,    // the Error ends the run when its batch is due
  skip,     // the row stays empty: zeros, mask 0
  replace,  // another sample of the epoch takes the row
};
// "raise", "skip" or "replace".
BadSamplePolicy parse_bad_sample_policy(const std::string& text);

struct BadSampleOptions {
  BadSamplePolicy policy = BadSamplePolicy::raise;
  std::int64_t budget = 1000;   // bad samples that a run may have; one more ends it
  std::string quarantine = "";  // file that gets a JSON line for each; "": none
};

struct BadSample {
  std::uint64_t epoch = 0, batch = 0, row = 0;
  std::uint64_t position = 0;  // in the order of the epoch; `origin` says which record it is
  std::string origin, op, reason;
};

// The bad samples of one run. Used by the consumer's thread.
class BadSampleAccount {
 public:
  // An Error at once if the quarantine file cannot be written.
  BadSampleAccount(BadSampleOptions options, Log* log);
  // Counts, logs and writes down. An Error when the budget is spent.
  void add(const std::vector<BadSample>& samples);
  std::int64_t count() const { return count_; }

 private:
  BadSampleOptions options_;
  Log* log_;
  std::int64_t count_ = 0;
  std::optional<JsonLinesWriter> stream_;  // if the quarantine is a device or a pipe
};

}  // namespace ridgeline::data
