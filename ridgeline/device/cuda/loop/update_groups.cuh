// ridgeline/device/cuda/loop/update_groups.cuh
//
// Of the text of an update of dense weights (update_text.cpp), behind its sizes and Parameters: how threads access the
// tile's states. A group is four neighbouring weights where addresses allow accesses to all of them, else every 32nd of
// a warp's.

namespace ridgeline::cuda {

constexpr int kRows = 32, kSlabs = 3;                           // of a slab of x and dy; slabs in shared memory
constexpr int kGroups = kOutputs * kInputs / kThreads / kEach;  // of a thread
constexpr int kPitch = kInputs + 8;  // of a line of sums: no two lines of a tile begin in the same bank
constexpr int kM = 2, kN = 4;        // of a warp: 16 outputs and 8 inputs each

// The first weight of a block.
struct Tile {
  u32 output, input;
};

template <class T>
struct alignas(sizeof(T) * kEach) Group {
  T at[kEach];
};
template <class To, class From>
RIDGELINE_DEVICE To same_bits(const From& from) {
  return __builtin_bit_cast(To, from);
}

// Where a group is: element e is at + e * step.
struct Place {
  u32 at, step;
  int count;  // of elements that there are, from the first
};

// Of the tile: a warp has one line after the other.
RIDGELINE_DEVICE int line_of(int group, int thread) { return thread / kWarp + group * (kThreads / kWarp); }
RIDGELINE_DEVICE Place place_of(const Parameters& p, const Tile& tile, int group, int thread) {
  const u32 output = tile.output + static_cast<u32>(line_of(group, thread)), lane = static_cast<u32>(thread % kWarp);
  const u32 step = p.wide != 0 ? 1 : kWarp;
  const u32 input = tile.input + (p.wide != 0 ? lane * kEach : lane);
  int count = 0;
  if (output < p.outputs && input < p.inputs) {
    const u32 left = (p.inputs - input + step - 1) / step;
    count = left < kEach ? static_cast<int>(left) : kEach;
  }
  return {output * p.inputs + input, step, count};
}

// States pass through the cache once.
RIDGELINE_DEVICE void load_group(const float* from, const Place& place, bool wide, float (&to)[kEach]) {
  if (wide) {
    Group<float> group{};
    if (place.count > 0) {
#if RIDGELINE_ON_CARD
      group = same_bits<Group<float>>(__ldcs(reinterpret_cast<const float4*>(from + place.at)));
#else
      group = *reinterpret_cast<const Group<float>*>(from + place.at);
#endif
    }
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) to[e] = group.at[e];
  } else {
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) to[e] = e < place.count ? from[place.at + static_cast<u32>(e) * place.step] : 0.0f;
  }
}
template <class T>
RIDGELINE_DEVICE void store_group(const T (&from)[kEach], const Place& place, bool wide, T* to) {
  if (wide) {
    Group<T> group;
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) group.at[e] = from[e];
    if (place.count == 0) return;
#if RIDGELINE_ON_CARD
    if constexpr (sizeof(T) == 4)
      __stcs(reinterpret_cast<uint4*>(to + place.at), same_bits<uint4>(group));
    else if constexpr (sizeof(T) == 2)
      __stcs(reinterpret_cast<uint2*>(to + place.at), same_bits<uint2>(group));
    else
      *reinterpret_cast<Group<T>*>(to + place.at) = group;
#else
    *reinterpret_cast<Group<T>*>(to + place.at) = group;
#endif
  } else {
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) {
      if (e < place.count) to[place.at + static_cast<u32>(e) * place.step] = from[e];
    }
  }
}

}  // namespace ridgeline::cuda
