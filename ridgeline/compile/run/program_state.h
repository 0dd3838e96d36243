// ridgeline/compile/run/program_state.h
//
// A program's state in addition to its plan: addresses, derived forms, inputs, and work in flight. For the program's
// own files.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "ridgeline/compile/lower/places.h"
#include "ridgeline/compile/lower/returned_values.h"
#include "ridgeline/compile/run/device_timeline.h"
#include "ridgeline/compile/run/input_sets.h"
#include "ridgeline/compile/run/program.h"

namespace ridgeline {

struct Program::State {
  explicit State(const Plan& plan) : places(plan), bases(static_cast<std::size_t>(places.spaces()), nullptr) {}

  Places places;
  std::vector<void*> bases;                           // by space; null for inputs, bound anew for runs
  std::vector<std::unique_ptr<DeviceMemory>> memory;  // arenas and kept blocks
  struct Input {
    ValueType type;
    Tensor value;                       // keeps the memory alive that the launches read
    std::shared_ptr<const void> lease;  // of that memory
    std::vector<void**> places;         // in input_addresses, if it is read in place
    std::vector<void**> copied;         // in input_addresses, if its copy on the device is read
    std::size_t number = 0;             // its number among the inputs that are copied
  };
  std::map<std::string, Input> inputs;              // by argument name
  std::vector<std::vector<void*>> input_addresses;  // by launch
  std::vector<std::vector<void*>> output_addresses;
  std::vector<void*> scratch_addresses;
  std::vector<TeamWork> work;  // if a recording was alive
  std::vector<double> milliseconds;
  std::vector<double> started;                            // milliseconds after `begin`
  std::chrono::steady_clock::time_point begin;            // of the last run
  bool bound = false;                                     // every input has been bound
  std::int64_t run = 0;                                   // number of runs begun
  std::vector<std::unique_ptr<Event>> packed, exchanged;  // of each exchange: it may begin, it has ended

  struct Form {
    const ParameterStore::Entry* entry = nullptr;
    std::shared_ptr<DerivedForm> form;
    bool stale = true;     // made in this run
    bool updated = false;  // by the launch that updates the entry
  };
  std::map<int, Form> forms;                            // by buffer
  std::vector<const Form*> form_of_launch;              // by launch: the derived form that it helps to make, or null
  std::vector<ParameterStore::Entry*> written;          // entries that a run changes
  std::vector<std::shared_ptr<const void>> leases;      // of all entries that the program has addresses of
  std::vector<std::shared_ptr<void>> exchanged_blocks;  // of communicators
  struct Source {
    const ParameterStore::Entry* entry;
    std::uint64_t version = 0;  // for which the constant launches were run; 0: never
  };
  std::vector<Source> constant_sources;
  bool constants_made = false;     // in any run
  bool constants_stale = true;     // made in this run
  std::vector<std::int64_t> runs;  // by launch
  std::vector<bool> ran;           // by launch: in the last run
  // For launches side by side: a number for each run of a section, and for each launch the last one that finished it.
  std::uint32_t round = 0;
  std::vector<std::atomic<std::uint32_t>> done;

  // For a device with its own memory; null on the host, or if nothing is copied.
  std::unique_ptr<InputSets> sets;
  std::vector<Input*> copied;  // inputs that are copied, by their number
  int set = 0;                 // the set that the run in progress reads
  std::unique_ptr<DeviceTimeline> timeline;
  std::int64_t timed_run = -1;  // the run whose launches were reported last, and when its first launch began
  std::chrono::steady_clock::time_point timed_begin;
  std::unique_ptr<ReturnedValues> returned;
  bool behind = false;   // Program::runs_behind()
  bool telling = false;  // output() is of the run that `returned` reports
  // A recorded run, identified by its launches and the set that it reads.
  struct Recorded {
    std::vector<bool> ran;
    int set;
    std::unique_ptr<Recording> work;
  };
  std::vector<Recorded> recorded;
  std::vector<bool> given;  // the launches of the last run that was not replayed

  // Cleans up however a run ends: values that it may have written get new versions, and derived forms count as made
  // only if the run was completed.
  struct Ending {
    State& state;
    bool complete = false;
    ~Ending() {
      for (auto& [buffer, form] : state.forms) {
        if (form.stale) form.form->version = complete ? form.entry->version : 0;
      }
      if (state.constants_stale) {
        for (Source& source : state.constant_sources) source.version = complete ? source.entry->version : 0;
      }
      state.constants_made = state.constants_made || complete;
      for (ParameterStore::Entry* entry : state.written) ++entry->version;
      for (auto& [buffer, form] : state.forms) {
        if (form.updated) form.form->version = complete ? form.entry->version : 0;
      }
    }
  };
};

// Leaves nothing in flight if the run was not completed.
struct Program::Attempt {
  Program& program;
  const bool& complete;
  ~Attempt();
};

}  // namespace ridgeline
