#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ridgeline/compile/lower/plan_checks.h"
#include "ridgeline/compile/lower/plan_text.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/derived_casts.h"

namespace ridgeline {
namespace {

// The content of bytes: a value of the graph in a type and a layout, as one launch has written it.
struct Content {
  ValueId value = kNoValue;  // none: a workspace, or what is in flight
  int writer = -1;           // launch; -1: what lay there before the run
  DType dtype = DType::u8;
  const Layout* layout = nullptr;
  bool number = false;  // follows from no argument at all, so it is the same in every run
};

// The bytes of one space, with their last writers.
class Bytes {
 public:
  struct Piece {
    std::size_t begin, end;
    int content;
  };

  // The content whose bytes are exactly these; -1: there is none.
  int at(std::size_t begin, std::size_t end) const {
    const auto piece = first_behind(begin);
    return piece != pieces_.end() && piece->begin == begin && piece->end == end ? piece->content : -1;
  }

  // The last written content among these bytes; -1: there is none.
  int any(std::size_t begin, std::size_t end) const {
    int last = -1;
    for (auto piece = first_behind(begin); piece != pieces_.end() && piece->begin < end; ++piece)
      last = std::max(last, piece->content);
    return last;
  }

  // Remainders of others at both ends are incomplete: they keep their content and never match.
  void write(std::size_t begin, std::size_t end, int content) {
    auto from = pieces_.begin() + (first_behind(begin) - pieces_.cbegin());
    if (from != pieces_.end() && from->begin < begin) {
      const Piece left{from->begin, begin, from->content};
      if (from->end > end) {  // in the middle of one
        const Piece right{end, from->end, from->content};
        *from = left;
        from = pieces_.insert(from + 1, {begin, end, content});
        pieces_.insert(from + 1, right);
        return;
      }
      *from++ = left;
    }
    auto to = from;
    while (to != pieces_.end() && to->end <= end) ++to;
    if (to != pieces_.end() && to->begin < end) to->begin = end;
    if (from == to) {
      pieces_.insert(from, {begin, end, content});
      return;
    }
    *from = {begin, end, content};
    pieces_.erase(from + 1, to);
  }

 private:
  std::vector<Piece>::const_iterator first_behind(std::size_t begin) const {
    return std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.end <= begin; });
  }

  std::vector<Piece> pieces_;  // in order, none of them empty
};

// Which runs leave a launch out: those in which its results are up to date.
struct Turn {
  bool constant = false;
  int form = -1;  // space
  bool always() const { return !constant && form < 0; }
  friend bool operator==(const Turn&, const Turn&) = default;
};

const Layout kPlain{};

class Contents {
 public:
  Contents(const Plan& plan, const Places& places)
      : plan_(plan),
        places_(places),
        bytes_(static_cast<std::size_t>(places.spaces())),
        same_(plan.graph.values.size()),
        updated_(plan.graph.values.size(), false),
        flights_(static_cast<std::size_t>(plan.events)) {
    name_values();
    sources_.insert(plan.constant_sources.begin(), plan.constant_sources.end());
    for (ValueId id : plan.graph.arguments) begin_with(id);
  }

  void check() {
    for (launch_ = 0; launch_ < static_cast<int>(plan_.launches.size()); ++launch_) {
      const Launch& launch = plan_.launches[static_cast<std::size_t>(launch_)];
      switch (launch.kind) {
        case LaunchKind::copy: convert(launch); break;
        case LaunchKind::kernel: kernel(launch); break;
        case LaunchKind::start: start(launch); break;
        case LaunchKind::done: done(launch); break;
      }
    }
    returns();
    stored();
  }

 private:
  struct Flight {
    Place block;
    int content = -1;  // of the block
    std::vector<std::pair<Place, int>> read;
  };

  const Buffer& buffer(int b) const { return plan_.buffers[static_cast<std::size_t>(b)]; }
  const Node& node_of(const Launch& launch) const { return plan_.graph.nodes[static_cast<std::size_t>(launch.node)]; }
  Bytes& bytes_of(const Place& place) { return bytes_[static_cast<std::size_t>(place.space)]; }
  ValueId same(ValueId id) const { return same_[static_cast<std::size_t>(id)]; }
  const Content& content(int index) const { return contents_[static_cast<std::size_t>(index)]; }

  [[noreturn]] void fault(const std::string& what) const {
    plan_fault(plan_,
               (launch_ < static_cast<int>(plan_.launches.size()) ? launch_text(plan_, launch_) + " " : "") + what);
  }

  std::string value_text(ValueId id) const {
    const ValueInfo& info = plan_.graph.value(id);
    if (!info.name.empty()) return info.name;
    for (const Node& node : plan_.graph.nodes) {
      if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
        return "what op " + node.name + " (" + node.op + ") gives";
    }
    return "a value";
  }

  std::string content_text(int index) const {
    if (index < 0) return "nothing yet";
    const Content& there = content(index);
    return there.writer < 0 ? "what lay there before" : "what " + launch_text(plan_, there.writer) + " wrote";
  }

  // Views without a launch count as their operand, and a form of a parameter in another type as the parameter: the
  // content is identified by its type.
  void name_values() {
    std::vector<bool> launched(plan_.graph.nodes.size(), false);
    for (const Launch& launch : plan_.launches) {
      if (launch.kind == LaunchKind::kernel && launch.node >= 0 && !launch.converts)
        launched[static_cast<std::size_t>(launch.node)] = true;
    }
    for (std::size_t v = 0; v < same_.size(); ++v) same_[v] = static_cast<ValueId>(v);
    for (std::size_t n = 0; n < launched.size(); ++n) {
      const Node& node = plan_.graph.nodes[n];
      if (!launched[n] && op_def(node.op).has(kView))
        same_[static_cast<std::size_t>(node.outputs[0])] = same(node.inputs[0]);
    }
    for (const auto& [cast, parameter] : derived_casts(plan_.graph)) same_[static_cast<std::size_t>(cast)] = parameter;
    for (const Update& update : plan_.graph.updates)
      updated_[static_cast<std::size_t>(update.current)] = update.next != update.current;
  }

  void begin_with(ValueId id) {
    const int b = plan_.buffer_of_value[static_cast<std::size_t>(id)];
    if (b < 0) plan_fault(plan_, "argument " + plan_.graph.value(id).name + " has no buffer");
    arguments_.push_back(b);
    named_[plan_.graph.value(id).name] = id;
    put(b, {.value = id, .writer = -1, .dtype = buffer(b).type.dtype, .layout = &buffer(b).layout});
  }

  // ---- access

  Turn turn_of(const Launch& launch) const {
    if (launch.derives >= 0) return {.form = places_.of(launch.derives).space};
    return {.constant = launch.constant};
  }

  // Kept from run to run, for runs that leave its launch out.
  bool persists(int space) const {
    const Space& s = places_.space(space);
    return s.home == BufferHome::derived || (s.home == BufferHome::kept && !s.exchanged);
  }

  // Results of a launch that some runs leave out are read by others only where nothing else is ever written.
  void check_turn(int b, const Content& there) const {
    const Launch& launch = plan_.launches[static_cast<std::size_t>(launch_)];
    const Turn reader = turn_of(launch);
    const int space = places_.of(b).space;
    if (there.writer >= 0) {
      const Launch& maker = plan_.launches[static_cast<std::size_t>(there.writer)];
      const Turn writer = turn_of(maker);
      if (!writer.always() && writer != reader && !persists(space))
        fault("reads " + buffer_text(plan_, b) + ", which " + launch_text(plan_, there.writer) +
              " does not make in every run");
      if (reader.form >= 0 && writer != reader) check_form(b, reader.form);
      if (reader.constant && !writer.constant && writer.form < 0 && !there.number)
        fault("is made once of " + buffer_text(plan_, b) + ", which changes from run to run");
    } else {
      if (reader.form >= 0) check_form(b, reader.form);
      if (reader.constant) check_source(b);
    }
    if (reader.constant && persists(space) && places_.space(space).home == BufferHome::derived) check_source(b);
  }

  // A form depends on its parameter alone, and is remade when that has a new version.
  void check_form(int b, int form) const {
    const Buffer& from = buffer(b);
    const bool of_parameter = from.home == BufferHome::store || from.home == BufferHome::derived;
    if (!of_parameter || from.name != buffer(places_.space(form).buffer).name)
      fault("makes a form of another value than " + buffer_text(plan_, b));
  }

  // A constant is recomputed when one of its sources changes.
  void check_source(int b) const {
    const Buffer& from = buffer(b);
    const bool known =
        (from.home == BufferHome::store || from.home == BufferHome::derived) && sources_.contains(from.name);
    const auto argument = named_.find(from.name);
    if (!known || argument == named_.end() || updated_[static_cast<std::size_t>(argument->second)])
      fault("is made once of " + buffer_text(plan_, b) + ", which changes from run to run");
  }

  // ---- bytes

  void put(int b, const Content& written) {
    const Place& place = places_.of(b);
    contents_.push_back(written);
    if (place.begin < place.end) bytes_of(place).write(place.begin, place.end, static_cast<int>(contents_.size()) - 1);
  }

  // A launch writes a buffer. What persists is written only by its own launch, and always with the same value.
  void write(int b, Content written) {
    const Launch& launch = plan_.launches[static_cast<std::size_t>(launch_)];
    const Place& place = places_.of(b);
    const Space& space = places_.space(place.space);
    written.writer = launch_;
    const Turn turn = turn_of(launch);
    const bool form = std::count(launch.writes_forms.begin(), launch.writes_forms.end(), b) > 0;
    bool may = true;
    if (space.home == BufferHome::input) may = false;
    if (space.home == BufferHome::store) may = turn.always() && written.value != kNoValue;
    if (space.home == BufferHome::derived) may = form || turn.form == place.space;
    if (space.home == BufferHome::kept && !space.exchanged) may = turn.constant;
    if (!may) fault("writes over " + buffer_text(plan_, b) + ", which is not its own");
    if (persists(place.space) && !form) {
      const int there = bytes_of(place).any(place.begin, place.end);
      if (there >= 0 && content(there).value != written.value)
        fault("writes over " + buffer_text(plan_, b) + ", where later runs read " + content_text(there));
    }
    put(b, written);
  }

  // The bytes must have one complete content, in the buffer's type and layout. An empty buffer has none.
  const Content* read(int b) {
    const Place& place = places_.of(b);
    if (place.begin == place.end) return nullptr;
    const int there = bytes_of(place).at(place.begin, place.end);
    if (there < 0 || content(there).value == kNoValue)
      fault("reads " + buffer_text(plan_, b) + " at " + places_.text(plan_, place) + ", where " +
            content_text(bytes_of(place).any(place.begin, place.end)) + " lies");
    const Content& found = content(there);
    if (found.dtype != buffer(b).type.dtype || *found.layout != buffer(b).layout)
      fault("reads " + buffer_text(plan_, b) + ", where " + content_text(there) + " lies in another type or layout");
    check_turn(b, found);
    return &found;
  }

  // The same, and it must be this value of the graph in the kernel's layout.
  const Content* read(int b, ValueId id, const Layout& layout) {
    const ValueType& type = plan_.graph.value(id).type;
    if (buffer(b).type.dtype != type.dtype || buffer(b).layout != layout || buffer(b).bytes != layout.bytes(type))
      fault("reads " + value_text(id) + " from " + buffer_text(plan_, b) + " in another type or layout");
    const Content* there = read(b);
    if (there != nullptr && same(there->value) != same(id))
      fault("reads " + value_text(id) + " from " + buffer_text(plan_, b) + " at " + places_.text(plan_, places_.of(b)) +
            ", where " + content_text(bytes_of(places_.of(b)).any(places_.of(b).begin, places_.of(b).end)) + " lies");
    return there;
  }

  static const Layout& layout_of(const std::vector<Layout>& layouts, std::size_t i) {
    return i < layouts.size() ? layouts[i] : kPlain;
  }

  // ---- launches

  // Results do not overlap each other, the workspace or operands, except one that the kernel may be written over:
  // whether operand k may lie where result r is written.
  template <class May>
  void check_overlaps(const Launch& launch, May may) const {
    std::vector<Place> written;
    for (std::size_t r = 0; r < launch.outputs.size(); ++r) {
      const Place& to = places_.of(launch.outputs[r]);
      for (std::size_t k = 0; k < launch.inputs.size(); ++k) {
        if (to.meets(places_.of(launch.inputs[k])) && !may(r, k))
          fault("writes " + buffer_text(plan_, launch.outputs[r]) + " over its operand " +
                buffer_text(plan_, launch.inputs[k]) + " at " + places_.text(plan_, to));
      }
      for (const Place& other : written) {
        if (to.meets(other)) fault("writes two results at " + places_.text(plan_, to));
      }
      written.push_back(to);
    }
    if (launch.scratch < 0) return;
    const Place& scratch = places_.of(launch.scratch);
    for (int b : launch.inputs) written.push_back(places_.of(b));
    for (const Place& other : written) {
      if (scratch.meets(other)) fault("has its workspace where its values lie, at " + places_.text(plan_, scratch));
    }
  }

  void use_scratch(const Launch& launch) {
    if (launch.scratch >= 0) write(launch.scratch, {});
  }

  // One buffer to one, the same value.
  void convert(const Launch& launch) {
    check_overlaps(launch, [](std::size_t, std::size_t) { return false; });
    const Content* there = read(launch.inputs[0]);
    Content made = there != nullptr ? *there : Content{};
    use_scratch(launch);
    if (there == nullptr) return;
    const Buffer& to = buffer(launch.outputs[0]);
    made.dtype = to.type.dtype;
    made.layout = &to.layout;
    write(launch.outputs[0], made);
  }

  void kernel(const Launch& launch) {
    if (launch.converts || launch.node < 0) return convert(launch);
    const Node& node = node_of(launch);
    const Kernel& kernel = *launch.kernel;
    bool number = true;
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
      const Content* there = read(launch.inputs[i], node.inputs[i], layout_of(kernel.input_layouts, i));
      number = number && (there == nullptr || there->number);
    }
    check_overlaps(launch, [&](std::size_t r, std::size_t k) {
      return r < kernel.in_place.size() && kernel.in_place[r] == static_cast<int>(k) &&
             places_.of(launch.outputs[r]) == places_.of(launch.inputs[k]);
    });
    use_scratch(launch);
    const std::size_t own = node.outputs.size();
    for (std::size_t r = 0; r < launch.outputs.size(); ++r) {
      const int b = launch.outputs[r];
      const ValueId id = r < own ? node.outputs[r] : next_of(launch, buffer(b).name);
      const Layout& layout = layout_of(kernel.output_layouts, r);
      const ValueType type{buffer(b).type.dtype, plan_.graph.value(id).type.shape};
      if ((r < own && type.dtype != plan_.graph.value(id).type.dtype) || buffer(b).layout != layout ||
          buffer(b).bytes != layout.bytes(type))
        fault("writes " + value_text(id) + " into " + buffer_text(plan_, b) + " in another type or layout");
      write(b, {.value = same(id), .dtype = type.dtype, .layout = &buffer(b).layout, .number = number});
    }
  }

  // What a launch that updates the stored value writes there.
  ValueId next_of(const Launch& launch, const std::string& name) const {
    const Node& node = node_of(launch);
    for (std::size_t r = 0; r < node.outputs.size(); ++r) {
      const Buffer& b = buffer(launch.outputs[r]);
      if (b.home == BufferHome::store && b.name == name) return node.outputs[r];
    }
    fault("writes a form of " + name + ", which it does not update");
  }

  void start(const Launch& launch) {
    const Node& node = node_of(launch);
    std::vector<std::size_t> bytes;
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
      const Layout& layout = launch.kernel ? layout_of(launch.kernel->input_layouts, i) : kPlain;
      read(launch.inputs[i], node.inputs[i], layout);
      bytes.push_back(buffer(launch.inputs[i]).bytes);
    }
    const Place& block = places_.of(launch.outputs[0]);
    const bool conditional = node.attributes.boolean("conditional");
    Flight& flight = flights_[static_cast<std::size_t>(launch.event)];
    Packing packing;
    if (launch.kernel) {
      if (conditional) bytes.pop_back();
      packing = pack(bytes);
      if (packing.bytes > block.end - block.begin) fault("packs more than its block holds");
    }
    check_overlaps(launch, [&](std::size_t, std::size_t k) {
      return k < packing.offsets.size() && places_.of(launch.inputs[k]).begin == block.begin + packing.offsets[k] &&
             places_.of(launch.inputs[k]).space == block.space;
    });
    use_scratch(launch);
    // The second stream reads the condition, and operands that are not packed.
    for (std::size_t i = launch.kernel ? packing.offsets.size() : 0; i < launch.inputs.size(); ++i) {
      const Place& place = places_.of(launch.inputs[i]);
      flight.read.emplace_back(place, bytes_of(place).at(place.begin, place.end));
    }
    write(launch.outputs[0], {});
    flight.block = block;
    flight.content = static_cast<int>(contents_.size()) - 1;
  }

  void done(const Launch& launch) {
    const Node& node = node_of(launch);
    const Flight& flight = flights_[static_cast<std::size_t>(launch.event)];
    const auto untouched = [&](const Place& place, int content) {
      if (place.begin == place.end || bytes_of(place).at(place.begin, place.end) == content) return;
      fault("ends an exchange of " + places_.text(plan_, place) + ", where meanwhile " +
            content_text(bytes_of(place).any(place.begin, place.end)) + " lies");
    };
    untouched(flight.block, flight.content);
    for (const auto& [place, content] : flight.read) untouched(place, content);
    if (launch.outputs.empty()) {
      const int b = launch.inputs.back();
      const ValueType& type = plan_.graph.value(node.outputs[0]).type;
      if (!(places_.of(b) == flight.block) || buffer(b).type.dtype != type.dtype || buffer(b).bytes != type.bytes())
        fault("gives " + value_text(node.outputs[0]) + " elsewhere than it was exchanged");
      return write(b, {.value = node.outputs[0], .dtype = type.dtype, .layout = &buffer(b).layout});
    }
    std::vector<std::size_t> bytes;
    for (int b : launch.outputs) bytes.push_back(buffer(b).bytes);
    const Packing packing = pack(bytes);
    for (std::size_t r = 0; r < launch.outputs.size(); ++r) {
      const int b = launch.outputs[r];
      const std::size_t begin = flight.block.begin + packing.offsets[r];
      if (!(places_.of(b) == Place{flight.block.space, begin, begin + buffer(b).bytes}))
        fault("gives " + value_text(node.outputs[r]) + " elsewhere than it was exchanged");
      write(b, {.value = node.outputs[r], .dtype = buffer(b).type.dtype, .layout = &buffer(b).layout});
    }
  }

  // ---- the end

  void returns() {
    for (std::size_t r = 0; r < plan_.graph.returns.size(); ++r) {
      const int b = plan_.buffer_of_return[r];
      const ValueId id = plan_.graph.returns[r].value;
      const BufferHome home = buffer(b).home;
      if (home != BufferHome::arena && home != BufferHome::kept)
        fault("the end returns " + value_text(id) + " from " + buffer_text(plan_, b) + ", which others write");
      const Place& place = places_.of(b);
      const int there = bytes_of(place).at(place.begin, place.end);
      const ValueType& type = plan_.graph.value(id).type;
      const bool whole = place.begin == place.end || (there >= 0 && same(content(there).value) == same(id));
      if (!whole || !buffer(b).layout.plain() || buffer(b).type.dtype != type.dtype || buffer(b).bytes != type.bytes())
        fault("the end returns " + value_text(id) + " from " + buffer_text(plan_, b) + ", where " +
              content_text(bytes_of(place).any(place.begin, place.end)) + " lies");
      if (there < 0 || content(there).writer < 0) continue;
      const Turn turn = turn_of(plan_.launches[static_cast<std::size_t>(content(there).writer)]);
      if (!turn.always() && !persists(place.space))
        fault("the end returns " + value_text(id) + ", which is not made in every run, from " + buffer_text(plan_, b));
    }
  }

  // Every stored value has its next version or its old one, and so has each form that is written with it.
  void stored() {
    std::vector<ValueId> next(plan_.graph.values.size());
    for (std::size_t v = 0; v < next.size(); ++v) next[v] = static_cast<ValueId>(v);
    for (const Update& update : plan_.graph.updates) next[static_cast<std::size_t>(update.current)] = update.next;
    for (std::size_t a = 0; a < arguments_.size(); ++a)
      expect(arguments_[a], next[static_cast<std::size_t>(plan_.graph.arguments[a])]);
    for (const Launch& launch : plan_.launches) {
      for (int b : launch.writes_forms) {
        if (const auto argument = named_.find(buffer(b).name); argument != named_.end())
          expect(b, next[static_cast<std::size_t>(argument->second)]);
      }
    }
  }

  void expect(int b, ValueId id) {
    const Place& place = places_.of(b);
    if (place.begin == place.end) return;
    const int there = bytes_of(place).at(place.begin, place.end);
    if (there >= 0 && content(there).value != kNoValue && same(content(there).value) == same(id)) return;
    fault("the end leaves in " + buffer_text(plan_, b) + " " +
          content_text(bytes_of(place).any(place.begin, place.end)) + " and not " + value_text(id));
  }

  const Plan& plan_;
  const Places& places_;
  std::vector<Content> contents_;
  std::vector<Bytes> bytes_;  // by space
  std::vector<ValueId> same_;
  std::vector<bool> updated_;   // by argument
  std::vector<int> arguments_;  // their buffers
  std::unordered_map<std::string_view, ValueId> named_;
  std::unordered_set<std::string_view> sources_;
  std::vector<Flight> flights_;  // by event
  int launch_ = 0;
};

}  // namespace

void check_contents(const Plan& plan, const Places& places) { Contents(plan, places).check(); }

}  // namespace ridgeline
