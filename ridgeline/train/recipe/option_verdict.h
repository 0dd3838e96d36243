// ridgeline/train/recipe/option_verdict.h
//
// What another value of an option does to a run that goes on from its checkpoint, and whether the ranks of a run must
// have it alike. Every row of the options' table says so; what checkpoints keep (kept_settings.h), when a resume is
// refused, and what ranks agree on (shared_settings.h) follow from it. Plain values.
#pragma once

#include <string_view>

#include "ridgeline/train/checkpoint/run_settings.h"

namespace ridgeline::train {

struct Recipe;

enum class Effect {
  defines,  // it is another run: refused
  changes,  // the run goes on and says so
  none,     // nothing that a checkpoint holds follows from it: paths, hosts, workers, lengths, logs, what a run begins
            // with
};

struct OptionVerdict {
  // Of a recipe as train() has it; nullptr: the value of the option's field.
  using Reader = SettingValue (*)(const Recipe&);
  enum class Place {
    nowhere,
    setting,   // the checkpoint's setting of the option's name
    composed,  // a part of `setting`, which says what its effect is (kept_settings.h)
    identity,  // the checkpoint's own fields (CheckpointInfo::identity)
  };

  Effect effect;
  Place place;
  bool alike;  // ranks must agree on it
  std::string_view setting = "";
  Reader kept = nullptr, shared = nullptr;  // in the checkpoint; between ranks
  bool kept_later = false;                  // there are checkpoints of runs that had the option and did not keep it

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
// Another value is another run.
inline OptionVerdict defines(const Readers& readers = {}) { return setting(Effect::defines, readers); }
// Another value holds from there on.
inline OptionVerdict changes(const Readers& readers = {}) { return setting(Effect::changes, readers); }
// Kept as a part of another setting, by which ranks agree on it, too.
inline OptionVerdict part_of(std::string_view setting, OptionVerdict::Reader shared = nullptr) {
  OptionVerdict made(Effect::none, OptionVerdict::Place::composed, shared != nullptr);
  made.setting = setting;
  made.shared = shared;
  return made;
}
// Which model of which data it is: the checkpoint says so itself.
inline OptionVerdict identity() { return {Effect::defines, OptionVerdict::Place::identity, false}; }
// Nothing is kept, but the ranks must do the same.
inline OptionVerdict alike(OptionVerdict::Reader shared = nullptr) {
  OptionVerdict made(Effect::none, OptionVerdict::Place::nowhere, true);
  made.shared = shared;
  return made;
}
// Nothing is kept, and each rank has its own.
inline OptionVerdict own() { return {Effect::none, OptionVerdict::Place::nowhere, false}; }

}  // namespace verdict
}  // namespace ridgeline::train
