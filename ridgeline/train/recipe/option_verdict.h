// ridgeline/train/recipe/option_verdict.h
//
// The verdict of an option: what another value does to a run that is resumed from its checkpoint, and whether all ranks
// of a run must have the same value. Every row of the options' table has one; it determines what checkpoints keep
// (kept_settings.h), when a resume is refused, and what ranks must agree on (shared_settings.h). Plain values.
#pragma once

#include <string_view>

#include "ridgeline/train/checkpoint/run_settings.h"

namespace ridgeline::train {

struct Recipe;

enum class Effect {
  defines,  // makes another run: refused
  changes,  // the run continues and reports it
  none,     // no content of a checkpoint depends on it: paths, hosts, workers, lengths, logs, what a run begins
            // with
};

struct OptionVerdict {
  // Reads a value from train()'s recipe; nullptr: the value of the option's field.
  using Reader = SettingValue (*)(const Recipe&);
  enum class Place {
    nowhere,
    setting,   // the checkpoint's setting of the option's name
    composed,  // contained in `setting`, which defines the effect (kept_settings.h)
    identity,  // the checkpoint's own fields (CheckpointInfo::identity)
  };

  Effect effect;
  Place place;
  bool alike;  // ranks must agree on it
  std::string_view setting = "";
  Reader kept = nullptr, shared = nullptr;  // in the checkpoint; between ranks
  bool kept_later = false;                  // older checkpoints of runs with the option do not have it

  OptionVerdict() = delete;  // so that a row without one does not compile
  OptionVerdict(Effect e, Place p, bool among_ranks) : effect(e), place(p), alike(among_ranks) {}
};

namespace verdict {

struct Readers {
  OptionVerdict::Reader kept = nullptr, shared = nullptr;
  bool kept_later = false;
};

inline OptionVerdict setting(Effect effect, const Readers& readers) {
  OptionVerdict made(effect, OptionVerdict::Place::setting, true);
  made.kept = readers.kept;
  made.shared = readers.shared != nullptr ? readers.shared : readers.kept;
  made.kept_later = readers.kept_later;
  return made;
}
// Another value makes another run.
inline OptionVerdict defines(const Readers& readers = {}) { return setting(Effect::defines, readers); }
// Another value applies from the resume on.
inline OptionVerdict changes(const Readers& readers = {}) { return setting(Effect::changes, readers); }
// Kept within another setting, by which ranks also agree on it.
inline OptionVerdict part_of(std::string_view setting, OptionVerdict::Reader shared = nullptr) {
  OptionVerdict made(Effect::none, OptionVerdict::Place::composed, shared != nullptr);
  made.setting = setting;
  made.shared = shared;
  return made;
}
// Identifies model and data: kept in the checkpoint's own fields.
inline OptionVerdict identity() { return {Effect::defines, OptionVerdict::Place::identity, false}; }
// Not kept, but all ranks must have the same value.
inline OptionVerdict alike(OptionVerdict::Reader shared = nullptr) {
  OptionVerdict made(Effect::none, OptionVerdict::Place::nowhere, true);
  made.shared = shared;
  return made;
}
// Not kept, and each rank may have its own value.
inline OptionVerdict own() { return {Effect::none, OptionVerdict::Place::nowhere, false}; }

}  // namespace verdict
}  // namespace ridgeline::train
