#include "ridgeline/cli/bad_sample_flags.h"

#include "ridgeline/core/error.h"

namespace ridgeline::cli {

void add_bad_sample_flags(Command& app, BadSampleFlags& flags, const std::string& group) {
  app.option("--bad_samples", flags.policy,
             "what a damaged record or image does: raise ends the run and names it, skip leaves its row empty and "
             "masked, replace takes another sample (an evaluation leaves it out)")
      .group(group);
  app.option("--bad_sample_budget", flags.options.budget, "bad samples that are endured; one more ends the run")
      .group(group);
  app.option("--quarantine", flags.options.quarantine, "file that gets a JSON line for each bad sample").group(group);
}

data::BadSampleOptions finish_bad_sample_flags(const Command& app, const BadSampleFlags& flags) {
  data::BadSampleOptions options = flags.options;
  options.policy = data::parse_bad_sample_policy(flags.policy);
  if (options.budget < 0)
    throw Error("--bad_sample_budget=" + std::to_string(options.budget) + " is out of range (allowed: 0 or more)",
                ErrorKind::usage);
  for (const char* flag : {"--bad_sample_budget", "--quarantine"}) {
    if (options.policy == data::BadSamplePolicy::raise && app.given(flag))
      throw Error(std::string(flag) + " needs --bad_samples=skip or replace: raise ends at the first bad sample",
                  ErrorKind::usage);
  }
  return options;
}

}  // namespace ridgeline::cli
